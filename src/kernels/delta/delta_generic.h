/// The delta rule over a vector type: lanes are elements of the values. Include inside a target
/// region (isa/vec_avx512.h says how).
#pragma once

#include "kernels/delta/delta.h"
#include "kernels/norm/norm_generic.h"

namespace skald::kernels {

/// Elements j .. of the values, in kVectors vectors that are full, or one that has n lanes. All
/// rows pass over one strip of the state before the next: it stays in L1.
template <typename V, int kVectors>
inline void DeltaStrip(const DeltaArgs& args, int64_t j, int64_t n) {
  const auto load = [n](const float* p) {
    return kVectors > 1 ? V::Load(p) : V::LoadPartial(p, n);
  };
  const auto store = [n](V x, float* p) {
    if (kVectors > 1) {
      Store(x, p);
    } else {
      StorePartial(x, p, n);
    }
  };
  float* strip = args.state + j;
  for (int64_t i = 0; i < args.key_dim && args.begins; ++i) {
    for (int v = 0; v < kVectors; ++v) store(V::Zero(), strip + i * args.value_dim + 16 * v);
  }
  for (int64_t t = 0; t < args.rows; ++t) {
    const float* query = args.query + t * args.query_stride;
    const float* key = args.key + t * args.key_stride;
    const float* decays = args.decay + t * args.decay_stride;
    V decay = V::Broadcast(decays[0]);
    V sums[kVectors];
    for (int v = 0; v < kVectors; ++v) sums[v] = V::Zero();
    for (int64_t i = 0; i < args.key_dim; ++i) {
      const V k = V::Broadcast(key[i]);
      if (args.decay_of == DecayOf::kKeyElement) decay = V::Broadcast(decays[i]);
      float* state = strip + i * args.value_dim;
      for (int v = 0; v < kVectors; ++v) {
        const V kept = Mul(load(state + 16 * v), decay);
        store(kept, state + 16 * v);
        sums[v] = Fma(kept, k, sums[v]);
      }
    }
    const V beta = V::Broadcast(args.beta[t * args.beta_stride]);
    V deltas[kVectors];
    for (int v = 0; v < kVectors; ++v) {
      const V value = load(args.value + t * args.value_stride + j + 16 * v);
      deltas[v] = Mul(beta, Sub(value, sums[v]));
      sums[v] = V::Zero();
    }
    for (int64_t i = 0; i < args.key_dim; ++i) {
      const V k = V::Broadcast(key[i]);
      const V q = V::Broadcast(query[i]);
      float* state = strip + i * args.value_dim;
      for (int v = 0; v < kVectors; ++v) {
        const V next = Fma(k, deltas[v], load(state + 16 * v));
        store(next, state + 16 * v);
        sums[v] = Fma(next, q, sums[v]);
      }
    }
    for (int v = 0; v < kVectors; ++v) store(sums[v], args.out + t * args.out_stride + j + 16 * v);
  }
}

template <typename V>
inline void DeltaGeneric(const DeltaArgs& args) {
  // Four vectors are as many chains as hide the latency of one.
  constexpr int kVectors = 4;
  int64_t j = 0;
  for (; j + 16 * kVectors <= args.value_dim; j += 16 * kVectors) {
    DeltaStrip<V, kVectors>(args, j, 16);
  }
  for (; j < args.value_dim; j += 16) {
    const int64_t left = args.value_dim - j;
    DeltaStrip<V, 1>(args, j, left < 16 ? left : 16);
  }
}

template <typename V>
inline void L2NormGeneric(const L2NormArgs& args) {
  const V scale = V::Broadcast(args.scale);
  for (int64_t head = 0; head < args.heads; ++head) {
    float* x = args.x + head * args.n;
    const V sum = V::Broadcast(SumOfSquares<V>(x, args.n));
    const V r = Div(V::Broadcast(1.0f), Sqrt(Add(sum, V::Broadcast(kL2NormEpsilon))));
    for (int64_t i = 0; i < args.n; i += 16) {
      StorePartial(Mul(Mul(V::LoadPartial(x + i, args.n - i), r), scale), x + i, args.n - i);
    }
  }
}

}  // namespace skald::kernels
