/// A head rotated and turned into integers, over a vector type (numerics 3.20). Include inside a
/// target region (isa/vec_avx512.h says how).
#pragma once

#include "kernels/attention/attention.h"
#include "kernels/attention/kv_scale.h"
#include "kernels/attention/rotate_ref.h"

namespace skald::kernels {

/// RotateBlockRef for n >= 32. Pairs stand side by side in every round: sums go to the first half,
/// differences to the second, which turns the bits of an element's index right by one. After the
/// last round each element is back in its place.
template <typename V>
inline void RotateBlock(float* x, int64_t n) {
  alignas(64) float room[kMaxQuantizedDim];
  float* from = x;
  float* to = room;
  for (int64_t h = 1; h < n; h *= 2) {
    for (int64_t i = 0; i < n; i += 32) {
      V even;
      V odd;
      Deinterleave(V::Load(from + i), V::Load(from + i + 16), even, odd);
      Store(Add(even, odd), to + i / 2);
      Store(Sub(even, odd), to + n / 2 + i / 2);
    }
    float* const last = from;
    from = to;
    to = last;
  }
  const V factor = V::Broadcast(RotationFactor(static_cast<int>(n)));
  for (int64_t i = 0; i < n; i += 16) Store(Mul(V::Load(from + i), factor), x + i);
}

/// RotateRef.
template <typename V>
inline void Rotate(float* x, int64_t n) {
  constexpr int64_t kVector = 32;
  for (int64_t block = kMaxQuantizedDim; block >= kVector; block /= 2) {
    if ((n & block) == 0) continue;
    RotateBlock<V>(x, block);
    x += block;
  }
  RotateRef(x, static_cast<int>(n % kVector));
}

/// The range of n floats, zeros behind them to whole vectors.
template <typename V>
inline HeadRange RangeOf(const float* x, int64_t n) {
  V least = V::Zero();
  V largest = V::Zero();
  V zeros = V::Zero();
  for (int64_t d = 0; d < n; d += 16) {
    const V v = V::Load(x + d);
    least = Min(v, least);
    largest = Max(v, largest);
    zeros = Fma(v, V::Zero(), zeros);  // NaN where something is not finite
  }
  HeadRange range;
  range.finite = FoldSum(zeros) == 0;
  range.least = -ReduceMax(Sub(V::Zero(), least));
  range.largest = ReduceMax(largest);
  return range;
}

/// rne(min(x * inverse, largest)), bytes; zeros where inverse is 0.
template <typename V>
inline void RoundToBytes(const float* x, int64_t n, float inverse, float largest, int8_t* q) {
  const V factor = V::Broadcast(inverse);
  const V bound = V::Broadcast(largest);
  for (int64_t d = 0; d < n; d += 16) {
    StoreBytes(inverse == 0 ? V::Zero() : Min(Mul(V::Load(x + d), factor), bound), q + d);
  }
}

/// Room for a head: whole vectors, zeros behind its last element.
struct QuantizedHead {
  alignas(64) float x[kMaxQuantizedDim];
  alignas(64) int8_t q[kMaxQuantizedDim];
};

/// The head in `head.x`, rotated; its integers go to `head.q`.
template <typename V>
inline BFloat16 QuantizeHead(KvType type, const float* x, int64_t n, QuantizedHead& head) {
  for (int64_t d = 0; d < n; d += 16) Store(V::LoadPartial(x + d, n - d), head.x + d);
  Rotate<V>(head.x, n);
  const KvScale scale = ScaleOf(type, RangeOf<V>(head.x, n));
  RoundToBytes<V>(head.x, n, scale.inverse, LargestInteger(type), head.q);
  return scale.scale;
}

}  // namespace skald::kernels
