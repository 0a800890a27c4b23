#include <cmath>

#include "kernels/activation/activation_constants.h"
#include "kernels/activation/variants.h"
#include "kernels/isa/exp_ref.h"
#include "kernels/isa/soft_cap_ref.h"

namespace skald::kernels::scalar {
namespace {

// x / (1 + e^-2u) is x / 2 (1 + tanh u).
float GeluOf(float x) {
  using C = GeluConstants;
  const float exponent = x * std::fma(C::kCubic, x * x, C::kLinear);
  return x / (1.0f + ExpRef(exponent));
}

float GeluErfOf(float x) {
  using C = GeluErfConstants;
  const float magnitude = x > -x ? x : -x;
  const float t = 1.0f / std::fma(C::kRate, magnitude, 1.0f);
  float p = C::kPolynomial[0];
  for (int i = 1; i < 5; ++i) p = std::fma(p, t, C::kPolynomial[i]);
  const float tail = p * t * ExpRef(x * x * -0.5f);
  return x * (x < 0 ? tail : 1.0f - tail);
}

}  // namespace

void Swiglu(const float* gate, const float* up, float* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const float g = gate[i];
    const float silu = g / (1.0f + ExpRef(-g));
    y[i] = silu * up[i];
  }
}

void Geglu(const float* gate, const float* up, float* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = GeluOf(gate[i]) * up[i];
}

void GegluErf(const float* gate, const float* up, float* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = GeluErfOf(gate[i]) * up[i];
}

void SwigluClamped(const float* gate, const float* up, float* y, int64_t n) {
  using C = ClampedSwigluConstants;
  for (int64_t i = 0; i < n; ++i) {
    const float a = gate[i] > C::kLimit ? C::kLimit : gate[i];
    const float low = up[i] < -C::kLimit ? -C::kLimit : up[i];
    const float b = low > C::kLimit ? C::kLimit : low;
    const float gated = a / (1.0f + ExpRef(C::kMinusSlope * a));
    y[i] = gated * (b + 1.0f);
  }
}

void SwigluLimited(float limit, const float* gate, const float* up, float* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const float silu = gate[i] / (1.0f + ExpRef(-gate[i]));
    const float a = silu > limit ? limit : silu;
    const float low = up[i] < -limit ? -limit : up[i];
    const float b = low > limit ? limit : low;
    y[i] = a * b;
  }
}

void Gelu(const float* x, float* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = GeluOf(x[i]);
}

void GeluErf(const float* x, float* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = GeluErfOf(x[i]);
}

void ReluSquared(const float* x, float* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const float above = x[i] < 0 ? 0.0f : x[i];
    y[i] = above * above;
  }
}

void SoftCap(float cap, float* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) x[i] = SoftCapRef(cap, x[i]);
}

void Glu(const float* gate, const float* up, float* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const float sigmoid = 1.0f / (1.0f + ExpRef(-gate[i]));
    y[i] = sigmoid * up[i];
  }
}

void Add(const float* x, float* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] + y[i];
}

void AddScaled(float a, const float* x, float* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = std::fma(a, x[i], y[i]);
}

}  // namespace skald::kernels::scalar
