/// The convolution over a vector type: sixteen channels side by side. Include inside a target
/// region (isa/vec_avx512.h says how).
#pragma once

#include "kernels/activation/activation_generic.h"
#include "kernels/conv/conv.h"

namespace skald::kernels {

/// Channels c .. c + 15, of which the first n are there.
template <typename V>
inline void ConvStrip(const ConvArgs& args, int64_t c, int64_t n) {
  const int64_t last = args.taps - 1;
  V weights[kMaxConvTaps];
  V z[kMaxConvTaps];  // the inputs of all taps; the last is the row at hand
  for (int64_t j = 0; j <= last; ++j) {
    // Once for all rows of the call.
    float tap[16] = {};
    for (int64_t i = 0; i < n; ++i) tap[i] = args.weights[(c + i) * args.taps + j];
    weights[j] = V::Load(tap);
    const bool known = j < last && !args.begins;
    z[j] = known ? V::LoadPartial(args.state + j * args.state_stride + c, n) : V::Zero();
  }
  const V bias = args.bias == nullptr ? V::Zero() : V::LoadPartial(args.bias + c, n);
  for (int64_t t = 0; t < args.rows; ++t) {
    z[last] = V::LoadPartial(args.x + t * args.x_stride + c, n);
    if (args.x_gate != nullptr) {
      z[last] = Mul(z[last], V::LoadPartial(args.x_gate + t * args.x_gate_stride + c, n));
    }
    V s = bias;
    for (int64_t j = 0; j <= last; ++j) s = Fma(weights[j], z[j], s);
    if (args.activation == ConvActivation::kSilu) s = Silu(s);
    if (args.y_gate != nullptr) {
      s = Mul(s, V::LoadPartial(args.y_gate + t * args.y_gate_stride + c, n));
    }
    StorePartial(s, args.y + t * args.y_stride + c, n);
    for (int64_t j = 0; j < last; ++j) z[j] = z[j + 1];
  }
  for (int64_t j = 0; j < last; ++j) {
    StorePartial(z[j], args.state + j * args.state_stride + c, n);
  }
}

template <typename V>
inline void ConvGeneric(const ConvArgs& args) {
  for (int64_t c = 0; c < args.channels; c += 16) {
    const int64_t left = args.channels - c;
    ConvStrip<V>(args, c, left < 16 ? left : 16);
  }
}

}  // namespace skald::kernels
