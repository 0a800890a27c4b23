/// RopeTable: cosine and sine of every position's angles (numerics 3.2), computed once.
#pragma once

#include <cstdint>
#include <vector>

#include "model/config.h"

namespace skald::model {

/// A table of [positions][rotated / 2] cosines and as many sines, computed in double precision by
/// functions that are the same on every machine, and rounded to float once.
class RopeTable {
 public:
  RopeTable() = default;
  /// Computes the table. Cost: about 50 ns per entry.
  RopeTable(const RopeConfig& config, int64_t positions);

  int64_t positions() const { return positions_; }
  /// rotated / 2 floats. Requires 0 <= position < positions().
  const float* Cosine(int64_t position) const { return cosine_.data() + position * half_; }
  const float* Sine(int64_t position) const { return sine_.data() + position * half_; }

 private:
  int64_t half_ = 0;
  int64_t positions_ = 0;
  std::vector<float> cosine_;
  std::vector<float> sine_;
};

/// Angle per position of each of the rotated / 2 pairs, scaling included; and the factor that
/// multiplies cos and sin.
struct RopeFrequencies {
  std::vector<double> angle;
  double magnitude = 1;
};
RopeFrequencies ComputeRopeFrequencies(const RopeConfig& config);

}  // namespace skald::model
