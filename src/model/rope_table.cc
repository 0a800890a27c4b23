#include "model/rope_table.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/exact_math.h"
#include "base/status_macros.h"
#include "model/checks.h"

namespace skald::model {
namespace {

constexpr double kTwoPi = 6.283185307179586;

// The pair whose frequency makes `rotations` turns within the trained context: the inverse of
// angle(i) * original_context = 2 pi rotations (Peng et al. 2023, section 3.2).
double PairOfRotations(const Rope& rope, double rotations) {
  const double ratio = static_cast<double>(rope.original_context) / (rotations * kTwoPi);
  return static_cast<double>(rope.rotated) * ExactLog(ratio) / (2 * ExactLog(rope.base));
}

// 1 for pairs that keep their frequency, 0 for those that are interpolated, linear between.
double YarnKeep(const Rope& rope, int64_t pair) {
  const double last = static_cast<double>(rope.rotated - 1);
  double low = PairOfRotations(rope, rope.beta_fast);
  double high = PairOfRotations(rope, rope.beta_slow);
  if (rope.ramp == YarnRamp::kWholePairs) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(0.0, low);
  high = std::min(last, high);
  // The divisor's floor is ggml's guard against low == high.
  const double ramp = (static_cast<double>(pair) - low) / std::max(0.001, high - low);
  return 1 - std::clamp(ramp, 0.0, 1.0);
}

Status ValidateFactors(const std::vector<float>& factors, int64_t count) {
  if (!factors.empty() && static_cast<int64_t>(factors.size()) != count) {
    return Status(ErrorCode::kBadModel, "rope frequency factors are " +
                                            std::to_string(factors.size()) + ", expected " +
                                            std::to_string(count));
  }
  for (const float factor : factors) RETURN_IF_ERROR(Positive("rope frequency factor", factor));
  return Ok();
}

// The rope whose factors are those of a table of so many positions.
Rope ForPositions(Rope rope, int64_t positions) {
  if (!rope.long_factors.empty() && positions > rope.original_context) {
    rope.factors = rope.long_factors;
  }
  return rope;
}

}  // namespace

double YarnMagnitude(double factor, double multiplier) {
  return 1 + 0.1 * multiplier * ExactLog(factor);
}

Status Validate(const Rope& rope) {
  RETURN_IF_ERROR(InRange("rope dimension", rope.rotated, 2, kMaxHeadDim));
  if (rope.rotated % 2 != 0) {
    return Status(ErrorCode::kBadModel, "rope dimension is " + std::to_string(rope.rotated) +
                                            ", expected an even number");
  }
  RETURN_IF_ERROR(Positive("rope frequency base", rope.base));
  RETURN_IF_ERROR(Positive("rope scaling factor", rope.factor));
  RETURN_IF_ERROR(Positive("rope attention factor", rope.attention_factor));
  if (rope.magnitude) RETURN_IF_ERROR(Positive("rope magnitude", *rope.magnitude));
  if (rope.scaling == RopeScaling::kYarn) {
    RETURN_IF_ERROR(InRange("rope original context", rope.original_context, 1, kMaxContext));
    RETURN_IF_ERROR(Positive("rope beta fast", rope.beta_fast));
    RETURN_IF_ERROR(Positive("rope beta slow", rope.beta_slow));
  }
  RETURN_IF_ERROR(ValidateFactors(rope.factors, rope.factor_count()));
  return ValidateFactors(rope.long_factors, rope.factor_count());
}

RopeFrequencies ComputeRopeFrequencies(const Rope& rope) {
  RopeFrequencies result;
  for (int64_t pair = 0; pair < rope.rotated / 2; ++pair) {
    const double exponent = -2.0 * static_cast<double>(pair) / static_cast<double>(rope.rotated);
    double angle = ExactPow(rope.base, exponent);
    if (!rope.factors.empty()) angle /= rope.factors[static_cast<size_t>(pair)];
    if (rope.scaling == RopeScaling::kLinear) angle /= rope.factor;
    if (rope.scaling == RopeScaling::kYarn) {
      const double keep = YarnKeep(rope, pair) * rope.extrapolation;
      angle = angle / rope.factor * (1 - keep) + angle * keep;
    }
    result.angle.push_back(angle);
  }
  if (rope.magnitude) {
    result.magnitude = *rope.magnitude;
  } else if (rope.scaling == RopeScaling::kYarn && rope.extrapolation != 0) {
    result.magnitude = YarnMagnitude(rope.factor);
  }
  result.magnitude *= rope.attention_factor;
  return result;
}

RopeTable::RopeTable(const Rope& rope, int64_t positions)
    : pairing_(rope.pairing), half_(rope.rotated / 2), positions_(positions) {
  const RopeFrequencies frequencies = ComputeRopeFrequencies(ForPositions(rope, positions));
  const auto entries = static_cast<size_t>(half_ * positions);
  cosine_.reserve(entries);
  sine_.reserve(entries);
  for (int64_t position = 0; position < positions; ++position) {
    for (const double angle : frequencies.angle) {
      const SinCos turned = ExactSinCos(static_cast<double>(position) * angle);
      cosine_.push_back(static_cast<float>(turned.cos * frequencies.magnitude));
      sine_.push_back(static_cast<float>(turned.sin * frequencies.magnitude));
    }
  }
}

RopeTable RopeTable::WithRows(std::span<const int64_t> rows) const {
  RopeTable table;
  table.pairing_ = pairing_;
  table.half_ = half_;
  table.positions_ = std::ssize(rows);
  for (const int64_t row : rows) {
    table.cosine_.insert(table.cosine_.end(), Cosine(row), Cosine(row) + half_);
    table.sine_.insert(table.sine_.end(), Sine(row), Sine(row) + half_);
  }
  return table;
}

}  // namespace skald::model
