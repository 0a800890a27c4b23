#include "kernels/conv/conv.h"

#include "kernels/conv/variants.h"

namespace skald::kernels {

ConvFn ConvFor([[maybe_unused]] Isa isa) {
#if defined(__x86_64__)
  if (isa >= Isa::kAvx512) return avx512::Conv;
  if (isa >= Isa::kAvx2) return avx2::Conv;
#endif
  return scalar::Conv;
}

}  // namespace skald::kernels
