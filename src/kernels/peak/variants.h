/// The programs of peak.h for each instruction set. Internal to peak/ and to the instruction sets
/// (isa/scalar.cc, x86/).
#pragma once

#include "kernels/peak/peak.h"

namespace skald::kernels {

namespace scalar {
PeakKernels Peak();
}  // namespace scalar

namespace avx2 {
PeakKernels Peak();
}  // namespace avx2

namespace avx512 {
PeakKernels Peak();
}  // namespace avx512

namespace amx {
PeakKernels Peak();
}  // namespace amx

}  // namespace skald::kernels
