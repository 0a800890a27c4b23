/// The AMX matmuls over tiles that a program computes (tests/emulated_tiles), which run on every
/// CPU with AVX-512.
#pragma once

#include "kernels/matmul/matmul.h"
#include "kernels/pack/panel.h"

namespace skald::kernels::emulated_amx {

/// As those of namespace amx (variants.h).
MatmulFn MatmulFor(PanelType type);
void MatmulBFloat16(const MatmulArgs& args);

}  // namespace skald::kernels::emulated_amx
