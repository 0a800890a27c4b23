/// The variants of the functions in norm.h, one file each. Internal to norm/; scalar is the
/// specification.
#pragma once

#include "kernels/norm/norm.h"

namespace skald::kernels {

namespace scalar {
void RmsNorm(const RmsNormArgs& args);
void LayerNorm(const LayerNormArgs& args);
}  // namespace scalar

namespace avx2 {
void RmsNorm(const RmsNormArgs& args);
void LayerNorm(const LayerNormArgs& args);
}  // namespace avx2

namespace avx512 {
void RmsNorm(const RmsNormArgs& args);
void LayerNorm(const LayerNormArgs& args);
}  // namespace avx512

}  // namespace skald::kernels
