#include "kernels/rope/rope.h"

#include "kernels/rope/variants.h"

namespace skald::kernels {

RopeFn RopeFor([[maybe_unused]] Isa isa) {
#if defined(__x86_64__)
  if (isa >= Isa::kAvx512) return avx512::Rope;
  if (isa >= Isa::kAvx2) return avx2::Rope;
#endif
  return scalar::Rope;
}

}  // namespace skald::kernels
