/// The variants of the functions in rope.h, one file each. Internal to rope/; scalar is the
/// specification.
#pragma once

#include "kernels/rope/rope.h"

namespace skald::kernels {

namespace scalar {
void Rope(const RopeArgs& args);
}  // namespace scalar

namespace avx2 {
void Rope(const RopeArgs& args);
}  // namespace avx2

namespace avx512 {
void Rope(const RopeArgs& args);
}  // namespace avx512

}  // namespace skald::kernels
