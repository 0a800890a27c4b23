/// What AVX-VNNI has of its own (avxvnni.cc).
#pragma once

#include <cstdint>

#include "kernels/matmul/matmul.h"

namespace skald::kernels::avxvnni {

/// The float types are those of AVX2.
MatmulFn MatmulFor(PanelType type);
/// As PeakKernels::dot.
int64_t PeakDot(int64_t steps);

}  // namespace skald::kernels::avxvnni
