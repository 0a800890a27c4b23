/// The variants of the function in mass.h, one file each. Internal to mass/ and to
/// the instruction sets (isa/scalar.cc, x86/); scalar is the specification.
#pragma once

#include "kernels/mass/mass.h"

namespace skald::kernels {

namespace scalar {
void Mass(const MassArgs& args);
}  // namespace scalar

namespace avx2 {
void Mass(const MassArgs& args);
}  // namespace avx2

namespace avx512 {
void Mass(const MassArgs& args);
}  // namespace avx512

}  // namespace skald::kernels
