/// The variants of the functions in delta.h, one file each. Internal to delta/; scalar is the
/// specification.
#pragma once

#include "kernels/delta/delta.h"

namespace skald::kernels {

namespace scalar {
void Delta(const DeltaArgs& args);
void L2Norm(const L2NormArgs& args);
}  // namespace scalar

namespace avx2 {
void Delta(const DeltaArgs& args);
void L2Norm(const L2NormArgs& args);
}  // namespace avx2

namespace avx512 {
void Delta(const DeltaArgs& args);
void L2Norm(const L2NormArgs& args);
}  // namespace avx512

}  // namespace skald::kernels
