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

}  // namespace skald::kernels::scalar
