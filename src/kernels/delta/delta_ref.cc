#include <algorithm>
#include <cmath>

#include "kernels/delta/variants.h"
#include "kernels/isa/strided_sum_ref.h"

namespace skald::kernels::scalar {
namespace {

// One element of the values and its column of the state.
void DeltaColumn(const DeltaArgs& args, int64_t j) {
  float* column = args.state + j;
  const auto state = [&](int64_t i) -> float& { return column[i * args.value_dim]; };
  for (int64_t i = 0; i < args.key_dim && args.begins; ++i) state(i) = 0;
  for (int64_t t = 0; t < args.rows; ++t) {
    const float* query = args.query + t * args.query_stride;
    const float* key = args.key + t * args.key_stride;
    const float* decay = args.decay + t * args.decay_stride;
    float read = 0;
    for (int64_t i = 0; i < args.key_dim; ++i) {
      state(i) = state(i) * decay[args.decay_of == DecayOf::kHead ? 0 : i];
      read = std::fma(state(i), key[i], read);
    }
    const float value = args.value[t * args.value_stride + j];
    const float delta = args.beta[t * args.beta_stride] * (value - read);
    float out = 0;
    for (int64_t i = 0; i < args.key_dim; ++i) {
      state(i) = std::fma(key[i], delta, state(i));
      out = std::fma(state(i), query[i], out);
    }
    args.out[t * args.out_stride + j] = out;
  }
}

}  // namespace

void Delta(const DeltaArgs& args) {
  for (int64_t j = 0; j < args.value_dim; ++j) DeltaColumn(args, j);
}

void L2Norm(const L2NormArgs& args) {
  constexpr int kWidth = 64;
  for (int64_t head = 0; head < args.heads; ++head) {
    float* x = args.x + head * args.n;
    float partial[kWidth] = {};
    for (int64_t i = 0; i < args.n; ++i) {
      partial[i % kWidth] = std::fma(x[i], x[i], partial[i % kWidth]);
    }
    const float r = 1.0f / std::sqrt(FoldRef(partial, kWidth) + kL2NormEpsilon);
    for (int64_t i = 0; i < args.n; ++i) x[i] = x[i] * r * args.scale;
  }
}

}  // namespace skald::kernels::scalar
