/// The specification of the functions in delta.h, for isa/scalar.cc. The vector variants are the
/// templates of delta_generic.h.
#pragma once

#include "kernels/delta/delta.h"

namespace skald::kernels {

namespace scalar {
void Delta(const DeltaArgs& args);
void L2Norm(const L2NormArgs& args);
}  // namespace scalar

}  // namespace skald::kernels
