#include "kernels/activation/activation.h"

#include "kernels/activation/variants.h"

namespace skald::kernels {

SwigluFn SwigluFor([[maybe_unused]] Isa isa) {
#if defined(__x86_64__)
  if (isa >= Isa::kAvx512) return avx512::Swiglu;
  if (isa >= Isa::kAvx2) return avx2::Swiglu;
#endif
  return scalar::Swiglu;
}

AddFn AddFor([[maybe_unused]] Isa isa) {
#if defined(__x86_64__)
  if (isa >= Isa::kAvx512) return avx512::Add;
  if (isa >= Isa::kAvx2) return avx2::Add;
#endif
  return scalar::Add;
}

AddScaledFn AddScaledFor([[maybe_unused]] Isa isa) {
#if defined(__x86_64__)
  if (isa >= Isa::kAvx512) return avx512::AddScaled;
  if (isa >= Isa::kAvx2) return avx2::AddScaled;
#endif
  return scalar::AddScaled;
}

}  // namespace skald::kernels
