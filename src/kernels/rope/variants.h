/// The specification of the functions in rope.h, for isa/scalar.cc. The vector variants are the
/// templates of rope_generic.h.
#pragma once

#include "kernels/rope/rope.h"

namespace skald::kernels {

namespace scalar {
void Rope(const RopeArgs& args);
}  // namespace scalar

}  // namespace skald::kernels
