/// The variants of the function in scan.h, one file each. Internal to scan/; scalar is the
/// specification.
#pragma once

#include "kernels/scan/scan.h"

namespace skald::kernels {

namespace scalar {
void Scan(const ScanArgs& args);
}  // namespace scalar

namespace avx2 {
void Scan(const ScanArgs& args);
}  // namespace avx2

namespace avx512 {
void Scan(const ScanArgs& args);
}  // namespace avx512

}  // namespace skald::kernels
