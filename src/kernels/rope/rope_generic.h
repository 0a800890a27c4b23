/// RoPE over a vector type. Include inside a target region (isa/vec_avx512.h says how).
#pragma once

#include "kernels/rope/rope.h"

namespace skald::kernels {

/// Rotates the pairs (a, b) by the angles given as cosines and sines.
template <typename V>
inline void RotatePairs(V c, V s, V& a, V& b) {
  const V rotated_a = FmaSub(a, c, Mul(b, s));
  b = Fma(a, s, Mul(b, c));
  a = rotated_a;
}

template <typename V>
inline void RopeHalves(float* x, int64_t pairs, const float* cosine, const float* sine) {
  for (int64_t i = 0; i < pairs; i += 16) {
    const int64_t n = pairs - i;
    V a = V::LoadPartial(x + i, n);
    V b = V::LoadPartial(x + pairs + i, n);
    RotatePairs(V::LoadPartial(cosine + i, n), V::LoadPartial(sine + i, n), a, b);
    StorePartial(a, x + i, n);
    StorePartial(b, x + pairs + i, n);
  }
}

template <typename V>
inline void RopeAdjacent(float* x, int64_t pairs, const float* cosine, const float* sine) {
  for (int64_t i = 0; i < pairs; i += 16) {
    const int64_t n = pairs - i;
    float* start = x + 2 * i;
    V a;
    V b;
    Deinterleave(V::LoadPartial(start, 2 * n), V::LoadPartial(start + 16, 2 * n - 16), a, b);
    RotatePairs(V::LoadPartial(cosine + i, n), V::LoadPartial(sine + i, n), a, b);
    V x0;
    V x1;
    Interleave(a, b, x0, x1);
    StorePartial(x0, start, 2 * n);
    StorePartial(x1, start + 16, 2 * n - 16);
  }
}

template <typename V>
inline void RopeGeneric(const RopeArgs& args) {
  const int64_t pairs = args.rotated / 2;
  for (int64_t head = 0; head < args.heads; ++head) {
    float* x = args.x + head * args.head_dim;
    if (args.pairing == RopePairing::kAdjacent) {
      RopeAdjacent<V>(x, pairs, args.cosine, args.sine);
    } else {
      RopeHalves<V>(x, pairs, args.cosine, args.sine);
    }
  }
}

}  // namespace skald::kernels
