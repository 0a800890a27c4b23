/// The variants of the function in conv.h, one file each. Internal to conv/; scalar is the
/// specification.
#pragma once

#include "kernels/conv/conv.h"

namespace skald::kernels {

namespace scalar {
void Conv(const ConvArgs& args);
}  // namespace scalar

namespace avx2 {
void Conv(const ConvArgs& args);
}  // namespace avx2

namespace avx512 {
void Conv(const ConvArgs& args);
}  // namespace avx512

}  // namespace skald::kernels
