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

GegluFn GegluFor([[maybe_unused]] Isa isa) {
#if defined(__x86_64__)
  if (isa >= Isa::kAvx512) return avx512::Geglu;
  if (isa >= Isa::kAvx2) return avx2::Geglu;
#endif
  return scalar::Geglu;
}

GegluFn GegluErfFor([[maybe_unused]] Isa isa) {
#if defined(__x86_64__)
  if (isa >= Isa::kAvx512) return avx512::GegluErf;
  if (isa >= Isa::kAvx2) return avx2::GegluErf;
#endif
  return scalar::GegluErf;
}

SwigluClampedFn SwigluClampedFor([[maybe_unused]] Isa isa) {
#if defined(__x86_64__)
  if (isa >= Isa::kAvx512) return avx512::SwigluClamped;
  if (isa >= Isa::kAvx2) return avx2::SwigluClamped;
#endif
  return scalar::SwigluClamped;
}

SwigluLimitedFn SwigluLimitedFor([[maybe_unused]] Isa isa) {
#if defined(__x86_64__)
  if (isa >= Isa::kAvx512) return avx512::SwigluLimited;
  if (isa >= Isa::kAvx2) return avx2::SwigluLimited;
#endif
  return scalar::SwigluLimited;
}

GeluFn GeluFor([[maybe_unused]] Isa isa) {
#if defined(__x86_64__)
  if (isa >= Isa::kAvx512) return avx512::Gelu;
  if (isa >= Isa::kAvx2) return avx2::Gelu;
#endif
  return scalar::Gelu;
}

GeluFn GeluErfFor([[maybe_unused]] Isa isa) {
#if defined(__x86_64__)
  if (isa >= Isa::kAvx512) return avx512::GeluErf;
  if (isa >= Isa::kAvx2) return avx2::GeluErf;
#endif
  return scalar::GeluErf;
}

ReluSquaredFn ReluSquaredFor([[maybe_unused]] Isa isa) {
#if defined(__x86_64__)
  if (isa >= Isa::kAvx512) return avx512::ReluSquared;
  if (isa >= Isa::kAvx2) return avx2::ReluSquared;
#endif
  return scalar::ReluSquared;
}

SoftCapFn SoftCapFor([[maybe_unused]] Isa isa) {
#if defined(__x86_64__)
  if (isa >= Isa::kAvx512) return avx512::SoftCap;
  if (isa >= Isa::kAvx2) return avx2::SoftCap;
#endif
  return scalar::SoftCap;
}

GluFn GluFor([[maybe_unused]] Isa isa) {
#if defined(__x86_64__)
  if (isa >= Isa::kAvx512) return avx512::Glu;
  if (isa >= Isa::kAvx2) return avx2::Glu;
#endif
  return scalar::Glu;
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
