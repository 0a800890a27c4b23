#include "model/means.h"

#include <cmath>

#include "kernels/isa/strided_sum_ref.h"

namespace skald::model {
namespace {

constexpr int kWidth = 64;

// The strided sum of a(i) * b(i).
template <typename Factor>
float StridedSum(int64_t n, Factor a, Factor b) {
  float partial[kWidth] = {};
  for (int64_t i = 0; i < n; ++i) partial[i % kWidth] = std::fma(a(i), b(i), partial[i % kWidth]);
  return kernels::FoldRef(partial, kWidth);
}

}  // namespace

float MeanOfSquares(const float* x, int64_t n) {
  const auto value = [x](int64_t i) { return x[i]; };
  return StridedSum(n, value, value) / static_cast<float>(n);
}

float Mean(const float* x, int64_t n) {
  float partial[kWidth] = {};
  for (int64_t i = 0; i < n; ++i) partial[i % kWidth] = partial[i % kWidth] + x[i];
  return kernels::FoldRef(partial, kWidth) / static_cast<float>(n);
}

float SumOfSquaresAround(float mean, const float* x, int64_t n) {
  const auto value = [mean, x](int64_t i) { return x[i] - mean; };
  return StridedSum(n, value, value);
}

}  // namespace skald::model
