/// RMSNorm and LayerNorm over a vector type. Include inside a target region (isa/vec_avx512.h says
/// how).
#pragma once

#include "kernels/norm/norm.h"

namespace skald::kernels {

/// The strided sum (64) of x_i^2: partial sum j is lane j % 16 of vector j / 16.
template <typename V>
inline float SumOfSquares(const float* x, int64_t n) {
  V p0 = V::Zero();
  V p1 = V::Zero();
  V p2 = V::Zero();
  V p3 = V::Zero();
  int64_t i = 0;
  for (; i + 64 <= n; i += 64) {
    const V x0 = V::Load(x + i);
    const V x1 = V::Load(x + i + 16);
    const V x2 = V::Load(x + i + 32);
    const V x3 = V::Load(x + i + 48);
    p0 = Fma(x0, x0, p0);
    p1 = Fma(x1, x1, p1);
    p2 = Fma(x2, x2, p2);
    p3 = Fma(x3, x3, p3);
  }
  if (i < n) {
    // Lanes past n are zero and leave their sums as they are: p + 0 = p, for a p >= +0 or NaN.
    const V x0 = V::LoadPartial(x + i, n - i);
    const V x1 = V::LoadPartial(x + i + 16, n - i - 16);
    const V x2 = V::LoadPartial(x + i + 32, n - i - 32);
    const V x3 = V::LoadPartial(x + i + 48, n - i - 48);
    p0 = Fma(x0, x0, p0);
    p1 = Fma(x1, x1, p1);
    p2 = Fma(x2, x2, p2);
    p3 = Fma(x3, x3, p3);
  }
  return FoldSum(Add(Add(p0, p2), Add(p1, p3)));
}

template <typename V>
inline void RmsNormGeneric(const RmsNormArgs& args) {
  const V n = V::Broadcast(static_cast<float>(args.n));
  for (int64_t row = 0; row < args.rows; ++row) {
    const float* x = args.x + row * args.x_stride;
    float* y = args.y + row * args.y_stride;
    const V mean = Div(V::Broadcast(SumOfSquares<V>(x, args.n)), n);
    const V r = Div(V::Broadcast(1.0f), Sqrt(Add(mean, V::Broadcast(args.eps))));
    int64_t i = 0;
    for (; i + 16 <= args.n; i += 16) {
      Store(Mul(Mul(V::Load(x + i), r), V::Load(args.weight + i)), y + i);
    }
    if (i < args.n) {
      const V last = V::LoadPartial(x + i, args.n - i);
      const V weight = V::LoadPartial(args.weight + i, args.n - i);
      StorePartial(Mul(Mul(last, r), weight), y + i, args.n - i);
    }
  }
}

/// The strided sum (64) of x_i.
template <typename V>
inline float SumOf(const float* x, int64_t n) {
  V p[4] = {V::Zero(), V::Zero(), V::Zero(), V::Zero()};
  int64_t i = 0;
  for (; i + 64 <= n; i += 64) {
    for (int j = 0; j < 4; ++j) p[j] = Add(p[j], V::Load(x + i + 16 * j));
  }
  // Lanes past n are zero and leave their sums as they are: no sum that started at +0 is -0.
  for (int j = 0; i + 16 * j < n; ++j) {
    p[j] = Add(p[j], V::LoadPartial(x + i + 16 * j, n - i - 16 * j));
  }
  return FoldSum(Add(Add(p[0], p[2]), Add(p[1], p[3])));
}

/// The strided sum (64) of (x_i - mean)^2.
template <typename V>
inline float SumOfCenteredSquares(const float* x, int64_t n, V mean) {
  V p[4] = {V::Zero(), V::Zero(), V::Zero(), V::Zero()};
  int64_t i = 0;
  for (; i + 64 <= n; i += 64) {
    for (int j = 0; j < 4; ++j) {
      const V centered = Sub(V::Load(x + i + 16 * j), mean);
      p[j] = Fma(centered, centered, p[j]);
    }
  }
  for (int j = 0; i + 16 * j < n; ++j) {
    const int64_t left = n - i - 16 * j;
    // 0 - mean is not 0: lanes past n are cut behind the difference.
    const V all = Sub(V::LoadPartial(x + i + 16 * j, left), mean);
    const V centered = Select(V::Lanes(0, left), all, V::Zero());
    p[j] = Fma(centered, centered, p[j]);
  }
  return FoldSum(Add(Add(p[0], p[2]), Add(p[1], p[3])));
}

template <typename V>
inline void LayerNormGeneric(const LayerNormArgs& args) {
  const V n = V::Broadcast(static_cast<float>(args.n));
  for (int64_t row = 0; row < args.rows; ++row) {
    const float* x = args.x + row * args.x_stride;
    float* y = args.y + row * args.y_stride;
    const V mean = Div(V::Broadcast(SumOf<V>(x, args.n)), n);
    const V variance = Div(V::Broadcast(SumOfCenteredSquares<V>(x, args.n, mean)), n);
    const V r = Div(V::Broadcast(1.0f), Sqrt(Add(variance, V::Broadcast(args.eps))));
    for (int64_t i = 0; i < args.n; i += 16) {
      const int64_t left = args.n - i;
      const V centered = Sub(V::LoadPartial(x + i, left), mean);
      V out = Mul(Mul(centered, r), V::LoadPartial(args.weight + i, left));
      if (args.bias != nullptr) out = Add(out, V::LoadPartial(args.bias + i, left));
      StorePartial(out, y + i, left);
    }
  }
}

}  // namespace skald::kernels
