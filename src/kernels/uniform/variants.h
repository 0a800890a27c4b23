/// The variants of the function in uniform.h, one file each. Internal to uniform/ and to
/// the instruction sets (isa/scalar.cc, x86/); scalar is the specification.
#pragma once

#include "kernels/uniform/uniform.h"

namespace skald::kernels {

namespace scalar {
void Uniform(const UniformArgs& args);
}  // namespace scalar

namespace avx2 {
void Uniform(const UniformArgs& args);
}  // namespace avx2

namespace avx512 {
void Uniform(const UniformArgs& args);
}  // namespace avx512

}  // namespace skald::kernels
