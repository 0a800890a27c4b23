#include "kernels/norm/norm.h"

#include "kernels/norm/variants.h"

namespace skald::kernels {

RmsNormFn RmsNormFor([[maybe_unused]] Isa isa) {
#if defined(__x86_64__)
  if (isa >= Isa::kAvx512) return avx512::RmsNorm;
  if (isa >= Isa::kAvx2) return avx2::RmsNorm;
#endif
  return scalar::RmsNorm;
}

LayerNormFn LayerNormFor([[maybe_unused]] Isa isa) {
#if defined(__x86_64__)
  if (isa >= Isa::kAvx512) return avx512::LayerNorm;
  if (isa >= Isa::kAvx2) return avx2::LayerNorm;
#endif
  return scalar::LayerNorm;
}

}  // namespace skald::kernels
