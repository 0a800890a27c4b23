/// RMSNorm (Zhang & Sennrich 2019; numerics 3.1): y = x / sqrt(mean(x^2) + eps) * weight, and
/// LayerNorm (Ba et al. 2016; numerics 3.11): the same of x - mean(x), plus a bias.
#pragma once

#include <cstdint>

namespace skald::kernels {

/// Normalizes `rows` rows of `n` floats.
///   x, y      row r starts at x + r * x_stride and y + r * y_stride;
///             y may equal x (same stride), else no overlap
///   weight    n floats, shared by all rows
/// Any thread; two passes over a row; allocates nothing.
struct RmsNormArgs {
  const float* x = nullptr;
  int64_t x_stride = 0;
  const float* weight = nullptr;
  float* y = nullptr;
  int64_t y_stride = 0;
  int64_t rows = 0;
  int64_t n = 0;
  float eps = 0;
};
using RmsNormFn = void (*)(const RmsNormArgs& args);

/// As RmsNormArgs.
///   bias      n floats, shared by all rows, or nullptr for none
/// Any thread; three passes over a row; allocates nothing.
struct LayerNormArgs {
  const float* x = nullptr;
  int64_t x_stride = 0;
  const float* weight = nullptr;
  const float* bias = nullptr;
  float* y = nullptr;
  int64_t y_stride = 0;
  int64_t rows = 0;
  int64_t n = 0;
  float eps = 0;
};
using LayerNormFn = void (*)(const LayerNormArgs& args);

}  // namespace skald::kernels
