#include <cmath>

#include "kernels/activation/variants.h"
#include "kernels/isa/exp_ref.h"

namespace skald::kernels::scalar {

void Swiglu(const float* gate, const float* up, float* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const float g = gate[i];
    const float silu = g / (1.0f + ExpRef(-g));
    y[i] = silu * up[i];
  }
}

void Add(const float* x, float* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] + y[i];
}

void AddScaled(float a, const float* x, float* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = std::fma(a, x[i], y[i]);
}

}  // namespace skald::kernels::scalar
