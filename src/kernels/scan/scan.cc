#include "kernels/scan/scan.h"

#include "kernels/scan/variants.h"

namespace skald::kernels {

ScanFn ScanFor([[maybe_unused]] Isa isa) {
#if defined(__x86_64__)
  if (isa >= Isa::kAvx512) return avx512::Scan;
  if (isa >= Isa::kAvx2) return avx2::Scan;
#endif
  return scalar::Scan;
}

}  // namespace skald::kernels
