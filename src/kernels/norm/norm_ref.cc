#include <cmath>

#include "kernels/isa/strided_sum_ref.h"
#include "kernels/norm/variants.h"

namespace skald::kernels::scalar {

void RmsNorm(const RmsNormArgs& args) {
  constexpr int kWidth = 64;
  for (int64_t row = 0; row < args.rows; ++row) {
    const float* x = args.x + row * args.x_stride;
    float* y = args.y + row * args.y_stride;
    float partial[kWidth] = {};
    for (int64_t i = 0; i < args.n; ++i) {
      partial[i % kWidth] = std::fma(x[i], x[i], partial[i % kWidth]);
    }
    const float mean = FoldRef(partial, kWidth) / static_cast<float>(args.n);
    const float r = 1.0f / std::sqrt(mean + args.eps);
    for (int64_t i = 0; i < args.n; ++i) y[i] = x[i] * r * args.weight[i];
  }
}

void LayerNorm(const LayerNormArgs& args) {
  constexpr int kWidth = 64;
  const auto n = static_cast<float>(args.n);
  for (int64_t row = 0; row < args.rows; ++row) {
    const float* x = args.x + row * args.x_stride;
    float* y = args.y + row * args.y_stride;
    float sums[kWidth] = {};
    for (int64_t i = 0; i < args.n; ++i) sums[i % kWidth] = sums[i % kWidth] + x[i];
    const float mean = FoldRef(sums, kWidth) / n;
    float squares[kWidth] = {};
    for (int64_t i = 0; i < args.n; ++i) {
      const float centered = x[i] - mean;
      squares[i % kWidth] = std::fma(centered, centered, squares[i % kWidth]);
    }
    const float r = 1.0f / std::sqrt(FoldRef(squares, kWidth) / n + args.eps);
    for (int64_t i = 0; i < args.n; ++i) {
      y[i] = (x[i] - mean) * r * args.weight[i];
      if (args.bias != nullptr) y[i] = y[i] + args.bias[i];
    }
  }
}

}  // namespace skald::kernels::scalar
