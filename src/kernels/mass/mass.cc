#include "kernels/mass/mass.h"

#include "kernels/mass/variants.h"

namespace skald::kernels {

MassFn MassFor([[maybe_unused]] Isa isa) {
#if defined(__x86_64__)
  if (isa >= Isa::kAvx512) return avx512::Mass;
  if (isa >= Isa::kAvx2) return avx2::Mass;
#endif
  return scalar::Mass;
}

}  // namespace skald::kernels
