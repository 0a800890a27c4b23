/// Rope and RopeTable: rotary position embedding, and the cosine and sine of every position's
/// angles (numerics 3.2), computed once.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/rope/rope.h"
#include "skald/status.h"

namespace skald::model {

/// How RoPE frequencies are stretched beyond the trained context.
enum class RopeScaling : uint8_t { kNone, kLinear, kYarn };

/// Where the ramp of YaRN, from frequencies that are kept to those that are interpolated, begins
/// and ends: at the whole pairs around the computed ones, or at these themselves.
enum class YarnRamp : uint8_t { kWholePairs, kExact };

/// Rotary position embedding. Source: Su et al. 2021; linear: Chen et al. 2023; YaRN: Peng et al.
/// 2023, in the form of ggml's rope_yarn; per-frequency factors: the rope_freqs.weight tensor of
/// Llama 3.1 files.
struct Rope {
  kernels::RopePairing pairing = kernels::RopePairing::kAdjacent;
  int64_t rotated = 0;  ///< elements of a head that are rotated; even
  double base = 10000;  ///< frequency base, theta
  RopeScaling scaling = RopeScaling::kNone;
  double factor = 1;             ///< context stretched by this
  int64_t original_context = 0;  ///< trained context, for YaRN
  double extrapolation = 1;      ///< YaRN's mix, 1 = as published
  /// Of cosine and sine; nothing: 1, with YaRN 1 + 0.1 ln(factor).
  std::optional<double> magnitude = {};
  double attention_factor = 1;  ///< multiplies the magnitude
  double beta_fast = 32;        ///< YaRN: rotations at which a frequency is kept
  double beta_slow = 1;         ///< YaRN: rotations at which it is fully interpolated
  YarnRamp ramp = YarnRamp::kWholePairs;
  std::vector<float> factors = {};  ///< divides frequency i; empty, or factor_count() numbers
  /// In place of `factors` in tables of more positions than original_context; or empty.
  std::vector<float> long_factors = {};
  std::string_view factors_name = "rope_freqs.weight";  ///< of the tensor of `factors`, or empty
  std::string_view long_factors_name = {};              ///< or empty: there is none
  int64_t unused_factors = 0;  ///< behind those of its pairs, where other layers turn more

  int64_t factor_count() const { return rotated / 2 + unused_factors; }
};

/// YaRN's magnitude for a context stretched by `factor`: 1 + 0.1 ln(factor), as published, or with
/// a multiplier of the logarithm.
double YarnMagnitude(double factor, double multiplier = 1);

/// Checks every field. Errors: kBadModel with the field, what was found, what was expected.
Status Validate(const Rope& rope);

/// A table of [positions][rotated / 2] cosines and as many sines, computed in double precision by
/// functions that are the same on every machine, and rounded to float once.
class RopeTable {
 public:
  RopeTable() = default;
  /// Computes the table. Cost: about 50 ns per entry.
  RopeTable(const Rope& rope, int64_t positions);
  /// A table whose position i turns as position rows[i] of this one. Requires 0 <= each <
  /// positions().
  RopeTable WithRows(std::span<const int64_t> rows) const;
  /// The bytes of such a table.
  static int64_t BytesFor(const Rope& rope, int64_t positions) {
    return rope.rotated / 2 * positions * 2 * int64_t{sizeof(float)};
  }

  kernels::RopePairing pairing() const { return pairing_; }
  int64_t rotated() const { return 2 * half_; }
  int64_t positions() const { return positions_; }
  int64_t bytes() const {
    return static_cast<int64_t>((cosine_.size() + sine_.size()) * sizeof(float));
  }
  /// rotated / 2 floats. Requires 0 <= position < positions().
  const float* Cosine(int64_t position) const { return cosine_.data() + position * half_; }
  const float* Sine(int64_t position) const { return sine_.data() + position * half_; }

 private:
  kernels::RopePairing pairing_ = kernels::RopePairing::kAdjacent;
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
RopeFrequencies ComputeRopeFrequencies(const Rope& rope);

}  // namespace skald::model
