/// The operations of activation.h over a vector type. Include inside a target region
/// (isa/vec_avx512.h says how).
#pragma once

#include "kernels/activation/activation.h"
#include "kernels/activation/activation_constants.h"
#include "kernels/isa/exp_generic.h"
#include "kernels/isa/soft_cap_generic.h"

namespace skald::kernels {

template <typename V>
inline V Silu(V g) {
  return Div(g, Add(V::Broadcast(1.0f), Exp(Sub(V::Zero(), g))));
}

template <typename V>
inline void SwigluGeneric(const float* gate, const float* up, float* y, int64_t n) {
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    Store(Mul(Silu(V::Load(gate + i)), V::Load(up + i)), y + i);
  }
  if (i < n) {
    const V silu = Silu(V::LoadPartial(gate + i, n - i));
    StorePartial(Mul(silu, V::LoadPartial(up + i, n - i)), y + i, n - i);
  }
}

template <typename V>
inline void GluGeneric(const float* gate, const float* up, float* y, int64_t n) {
  const V one = V::Broadcast(1.0f);
  for (int64_t i = 0; i < n; i += 16) {
    const V g = V::LoadPartial(gate + i, n - i);
    const V sigmoid = Div(one, Add(one, Exp(Sub(V::Zero(), g))));
    StorePartial(Mul(sigmoid, V::LoadPartial(up + i, n - i)), y + i, n - i);
  }
}

template <typename V>
inline V Gelu(V x) {
  using C = GeluConstants;
  const V factor = Fma(V::Broadcast(C::kCubic), Mul(x, x), V::Broadcast(C::kLinear));
  return Div(x, Add(V::Broadcast(1.0f), Exp(Mul(x, factor))));
}

template <typename V>
inline V GeluErf(V x) {
  using C = GeluErfConstants;
  const V one = V::Broadcast(1.0f);
  const V magnitude = Max(x, Sub(V::Zero(), x));  // NaN stays
  const V t = Div(one, Fma(V::Broadcast(C::kRate), magnitude, one));
  V p = V::Broadcast(C::kPolynomial[0]);
  for (int i = 1; i < 5; ++i) p = Fma(p, t, V::Broadcast(C::kPolynomial[i]));
  const V tail = Mul(Mul(p, t), Exp(Mul(Mul(x, x), V::Broadcast(-0.5f))));
  return Mul(x, Select(LessThan(x, V::Zero()), tail, Sub(one, tail)));
}

template <typename V>
inline void GegluErfGeneric(const float* gate, const float* up, float* y, int64_t n) {
  for (int64_t i = 0; i < n; i += 16) {
    const V gelu = GeluErf(V::LoadPartial(gate + i, n - i));
    StorePartial(Mul(gelu, V::LoadPartial(up + i, n - i)), y + i, n - i);
  }
}

template <typename V>
inline void GeluErfGeneric(const float* x, float* y, int64_t n) {
  for (int64_t i = 0; i < n; i += 16) {
    StorePartial(GeluErf(V::LoadPartial(x + i, n - i)), y + i, n - i);
  }
}

template <typename V>
inline void GegluGeneric(const float* gate, const float* up, float* y, int64_t n) {
  for (int64_t i = 0; i < n; i += 16) {
    const V gelu = Gelu(V::LoadPartial(gate + i, n - i));
    StorePartial(Mul(gelu, V::LoadPartial(up + i, n - i)), y + i, n - i);
  }
}

template <typename V>
inline void SwigluClampedGeneric(const float* gate, const float* up, float* y, int64_t n) {
  using C = ClampedSwigluConstants;
  const V one = V::Broadcast(1.0f);
  const V limit = V::Broadcast(C::kLimit);
  for (int64_t i = 0; i < n; i += 16) {
    const V a = Min(limit, V::LoadPartial(gate + i, n - i));  // NaN stays
    const V b = Min(limit, Max(V::Broadcast(-C::kLimit), V::LoadPartial(up + i, n - i)));
    const V gated = Div(a, Add(one, Exp(Mul(V::Broadcast(C::kMinusSlope), a))));
    StorePartial(Mul(gated, Add(b, one)), y + i, n - i);
  }
}

template <typename V>
inline void SwigluLimitedGeneric(float limit, const float* gate, const float* up, float* y,
                                 int64_t n) {
  const V high = V::Broadcast(limit);
  const V low = V::Broadcast(-limit);
  for (int64_t i = 0; i < n; i += 16) {
    const V a = Min(high, Silu(V::LoadPartial(gate + i, n - i)));  // NaN stays
    const V b = Min(high, Max(low, V::LoadPartial(up + i, n - i)));
    StorePartial(Mul(a, b), y + i, n - i);
  }
}

template <typename V>
inline void GeluGeneric(const float* x, float* y, int64_t n) {
  for (int64_t i = 0; i < n; i += 16) {
    StorePartial(Gelu(V::LoadPartial(x + i, n - i)), y + i, n - i);
  }
}

template <typename V>
inline void ReluSquaredGeneric(const float* x, float* y, int64_t n) {
  for (int64_t i = 0; i < n; i += 16) {
    const V above = Max(V::Zero(), V::LoadPartial(x + i, n - i));  // NaN stays
    StorePartial(Mul(above, above), y + i, n - i);
  }
}

template <typename V>
inline void SoftCapGeneric(float cap, float* x, int64_t n) {
  const V limit = V::Broadcast(cap);
  for (int64_t i = 0; i < n; i += 16) {
    StorePartial(SoftCap(limit, V::LoadPartial(x + i, n - i)), x + i, n - i);
  }
}

template <typename V>
inline void AddGeneric(const float* x, float* y, int64_t n) {
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) Store(Add(V::Load(x + i), V::Load(y + i)), y + i);
  if (i < n) {
    const V sum = Add(V::LoadPartial(x + i, n - i), V::LoadPartial(y + i, n - i));
    StorePartial(sum, y + i, n - i);
  }
}

template <typename V>
inline void AddScaledGeneric(float a, const float* x, float* y, int64_t n) {
  const V scale = V::Broadcast(a);
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) Store(Fma(scale, V::Load(x + i), V::Load(y + i)), y + i);
  if (i < n) {
    const V sum = Fma(scale, V::LoadPartial(x + i, n - i), V::LoadPartial(y + i, n - i));
    StorePartial(sum, y + i, n - i);
  }
}

}  // namespace skald::kernels
