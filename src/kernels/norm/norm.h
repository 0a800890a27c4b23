/// RMSNorm (Zhang & Sennrich 2019; numerics 3.1): y = x / sqrt(mean(x^2) + eps) * weight.
#pragma once

#include <cstdint>

#include "kernels/isa/isa.h"

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

/// The variant for `isa`: all give the same bits. Requires isa <= DetectIsa().
RmsNormFn RmsNormFor(Isa isa);

}  // namespace skald::kernels
