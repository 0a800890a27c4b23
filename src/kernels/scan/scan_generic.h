/// The scan over a vector type: lanes are elements of the head. Include inside a target region
/// (isa/vec_avx512.h says how).
#pragma once

#include "kernels/scan/scan.h"

namespace skald::kernels {

/// Elements p .. of the head, in kVectors vectors that are full, or one that has n lanes. All rows
/// pass over one strip of the state before the next: it stays in L1.
template <typename V, int kVectors>
inline void ScanStrip(const ScanArgs& args, int64_t p, int64_t n) {
  const auto load = [n](const float* from) {
    return kVectors > 1 ? V::Load(from) : V::LoadPartial(from, n);
  };
  const auto store = [n](V x, float* to) {
    if (kVectors > 1) {
      Store(x, to);
    } else {
      StorePartial(x, to, n);
    }
  };
  float* strip = args.state + p;
  for (int64_t i = 0; i < args.state_dim && args.begins; ++i) {
    for (int v = 0; v < kVectors; ++v) store(V::Zero(), strip + i * args.head_dim + 16 * v);
  }
  const V skip = V::Broadcast(args.skip);
  for (int64_t t = 0; t < args.rows; ++t) {
    const float* b = args.b + t * args.row_stride;
    const float* c = args.c + t * args.row_stride;
    const V decay = V::Broadcast(args.decay[t * args.gate_stride]);
    const V step = V::Broadcast(args.step[t * args.gate_stride]);
    V x[kVectors];
    V taken[kVectors];
    V sums[kVectors];
    for (int v = 0; v < kVectors; ++v) {
      x[v] = load(args.x + t * args.row_stride + p + 16 * v);
      taken[v] = Mul(step, x[v]);
      sums[v] = V::Zero();
    }
    for (int64_t i = 0; i < args.state_dim; ++i) {
      const V key = V::Broadcast(b[i]);
      const V query = V::Broadcast(c[i]);
      float* state = strip + i * args.head_dim;
      for (int v = 0; v < kVectors; ++v) {
        const V next = Fma(key, taken[v], Mul(load(state + 16 * v), decay));
        store(next, state + 16 * v);
        sums[v] = Fma(next, query, sums[v]);
      }
    }
    for (int v = 0; v < kVectors; ++v) {
      store(Fma(skip, x[v], sums[v]), args.y + t * args.y_stride + p + 16 * v);
    }
  }
}

template <typename V>
inline void ScanGeneric(const ScanArgs& args) {
  // Four vectors are as many chains as hide the latency of one; published heads have 64 elements.
  constexpr int kVectors = 4;
  int64_t p = 0;
  for (; p + 16 * kVectors <= args.head_dim; p += 16 * kVectors) {
    ScanStrip<V, kVectors>(args, p, 16);
  }
  for (; p < args.head_dim; p += 16) {
    const int64_t left = args.head_dim - p;
    ScanStrip<V, 1>(args, p, left < 16 ? left : 16);
  }
}

}  // namespace skald::kernels
