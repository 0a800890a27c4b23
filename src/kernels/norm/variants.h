/// The specification of the functions in norm.h, for isa/scalar.cc. The vector variants are the
/// templates of norm_generic.h.
#pragma once

#include "kernels/norm/norm.h"

namespace skald::kernels {

namespace scalar {
void RmsNorm(const RmsNormArgs& args);
void LayerNorm(const LayerNormArgs& args);
}  // namespace scalar

}  // namespace skald::kernels
