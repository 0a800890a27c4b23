/// The variants behind PeakFor. Internal to peak/.
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
