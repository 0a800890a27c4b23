/// The specification of the functions in scan.h, for isa/scalar.cc. The vector variants are the
/// templates of scan_generic.h.
#pragma once

#include "kernels/scan/scan.h"

namespace skald::kernels {

namespace scalar {
void Scan(const ScanArgs& args);
}  // namespace scalar

}  // namespace skald::kernels
