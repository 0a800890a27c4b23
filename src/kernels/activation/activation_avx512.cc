#include "kernels/activation/variants.h"
#include "kernels/isa/exp_ref.h"
#include "kernels/isa/vec_avx512.h"

// The region opens after everything else and before the templates, so their order is fixed.
// clang-format off
#include "kernels/isa/target_avx512_begin.h"
#include "kernels/activation/activation_generic.h"
// clang-format on

namespace skald::kernels::avx512 {

void Swiglu(const float* gate, const float* up, float* y, int64_t n) {
  SwigluGeneric<F32x16>(gate, up, y, n);
}

void Glu(const float* gate, const float* up, float* y, int64_t n) {
  GluGeneric<F32x16>(gate, up, y, n);
}

void Geglu(const float* gate, const float* up, float* y, int64_t n) {
  GegluGeneric<F32x16>(gate, up, y, n);
}

void GegluErf(const float* gate, const float* up, float* y, int64_t n) {
  GegluErfGeneric<F32x16>(gate, up, y, n);
}

void SwigluClamped(const float* gate, const float* up, float* y, int64_t n) {
  SwigluClampedGeneric<F32x16>(gate, up, y, n);
}

void SwigluLimited(float limit, const float* gate, const float* up, float* y, int64_t n) {
  SwigluLimitedGeneric<F32x16>(limit, gate, up, y, n);
}

void Gelu(const float* x, float* y, int64_t n) { GeluGeneric<F32x16>(x, y, n); }

void GeluErf(const float* x, float* y, int64_t n) { GeluErfGeneric<F32x16>(x, y, n); }

void ReluSquared(const float* x, float* y, int64_t n) { ReluSquaredGeneric<F32x16>(x, y, n); }

void SoftCap(float cap, float* x, int64_t n) { SoftCapGeneric<F32x16>(cap, x, n); }

void Add(const float* x, float* y, int64_t n) { AddGeneric<F32x16>(x, y, n); }

void AddScaled(float a, const float* x, float* y, int64_t n) {
  AddScaledGeneric<F32x16>(a, x, y, n);
}

}  // namespace skald::kernels::avx512

#include "kernels/isa/target_end.h"
