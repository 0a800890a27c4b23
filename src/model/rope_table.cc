#include "model/rope_table.h"

#include <algorithm>
#include <cmath>

#include "base/exact_math.h"

namespace skald::model {
namespace {

constexpr double kTwoPi = 6.283185307179586;

// The pair whose frequency makes `rotations` turns within the trained context: the inverse of
// angle(i) * original_context = 2 pi rotations (Peng et al. 2023, section 3.2).
double PairOfRotations(const RopeConfig& config, double rotations) {
  const double ratio = static_cast<double>(config.original_context) / (rotations * kTwoPi);
  return static_cast<double>(config.rotated) * ExactLog(ratio) / (2 * ExactLog(config.base));
}

// 1 for pairs that keep their frequency, 0 for those that are interpolated, linear between.
double YarnKeep(const RopeConfig& config, int64_t pair) {
  const double last = static_cast<double>(config.rotated - 1);
  const double low = std::max(0.0, std::floor(PairOfRotations(config, config.beta_fast)));
  const double high = std::min(last, std::ceil(PairOfRotations(config, config.beta_slow)));
  // The divisor's floor is ggml's guard against low == high.
  const double ramp = (static_cast<double>(pair) - low) / std::max(0.001, high - low);
  return 1 - std::clamp(ramp, 0.0, 1.0);
}

}  // namespace

RopeFrequencies ComputeRopeFrequencies(const RopeConfig& config) {
  RopeFrequencies result;
  for (int64_t pair = 0; pair < config.rotated / 2; ++pair) {
    const double exponent = -2.0 * static_cast<double>(pair) / static_cast<double>(config.rotated);
    double angle = ExactPow(config.base, exponent);
    if (!config.factors.empty()) angle /= config.factors[static_cast<size_t>(pair)];
    if (config.scaling == RopeScaling::kLinear) angle /= config.factor;
    if (config.scaling == RopeScaling::kYarn) {
      const double keep = YarnKeep(config, pair) * config.extrapolation;
      angle = angle / config.factor * (1 - keep) + angle * keep;
    }
    result.angle.push_back(angle);
  }
  if (config.scaling == RopeScaling::kYarn) {
    result.magnitude = config.attention_factor;
    if (config.extrapolation != 0) result.magnitude *= 1 + 0.1 * ExactLog(config.factor);
  }
  return result;
}

RopeTable::RopeTable(const RopeConfig& config, int64_t positions)
    : half_(config.rotated / 2), positions_(positions) {
  const RopeFrequencies frequencies = ComputeRopeFrequencies(config);
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

}  // namespace skald::model
