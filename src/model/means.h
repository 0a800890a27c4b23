/// Means of rows that no kernel takes, in the order of numerics 2.1: for what is done once a row.
#pragma once

#include <cstdint>

namespace skald::model {

/// The mean of x_i * x_i over n elements.
float MeanOfSquares(const float* x, int64_t n);

/// The mean of x_i.
float Mean(const float* x, int64_t n);

/// The sum of (x_i - mean)^2.
float SumOfSquaresAround(float mean, const float* x, int64_t n);

}  // namespace skald::model
