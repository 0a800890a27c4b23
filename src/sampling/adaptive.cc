#include "sampling/adaptive.h"

#include <algorithm>

#include "base/exact_math.h"

namespace skald::sampling {
namespace {

constexpr double kLeastTemperature = 1e-6;
constexpr double kLargestTemperature = 1e6;
constexpr double kLn2 = 0x1.62e42fefa39efp-1;

// Natural logarithm of a sum of masses over the full mass.
double LogOf(uint64_t total) {
  return ExactLog(static_cast<double>(total) / static_cast<double>(kFullMass));
}

// 0 where one token has all, 1 where all are equally likely.
double ShareOfEntropy(std::span<Candidate> candidates, kernels::MassFn masses) {
  if (candidates.size() < 2) return 0;
  const uint64_t total = Weigh(candidates, {.temperature = 1, .masses = masses});
  const double entropy = LogOf(total) - MeanExponent(candidates, total, 1);
  return std::clamp(entropy / ExactLog(static_cast<double>(candidates.size())), 0.0, 1.0);
}

// ExactPow is for normal numbers.
double Power(double share, double exponent) {
  if (exponent == 0) return 1;
  return share < 1e-300 ? 0 : ExactPow(share, exponent);
}

}  // namespace

double TemperatureFor(std::span<Candidate> candidates, const SamplingParams& params,
                      kernels::MassFn masses) {
  const DynamicTemperature& dynamic = params.dynamic_temperature;
  const double low = std::max(params.temperature - dynamic.range, 0.0);
  const double high = params.temperature + dynamic.range;
  const double share = Power(ShareOfEntropy(candidates, masses), dynamic.exponent);
  return std::clamp(low + (high - low) * share, kLeastTemperature, kLargestTemperature);
}

Surprise::Surprise(std::span<Candidate> candidates, const Weighing& weighing)
    : max_(MaxLogit(candidates)),
      inverse_temperature_(1.0 / weighing.temperature),
      log_total_(LogOf(Weigh(candidates, weighing))) {}

double Surprise::Of(float logit) const {
  return (log_total_ - kernels::MassExponent(logit, max_, inverse_temperature_)) / kLn2;
}

std::span<Candidate> KeepUnsurprising(std::span<Candidate> candidates, double mu,
                                      const Weighing& weighing) {
  const Surprise surprise(candidates, weighing);
  const auto end = std::partition(candidates.begin(), candidates.end(), [&](const Candidate& each) {
    return surprise.Of(each.logit) <= mu;
  });
  const std::span<Candidate> kept(candidates.begin(), end);
  return kept.empty() ? KeepTopK(candidates, 1) : kept;
}

double FirstMu(const Mirostat& mirostat) { return 2 * mirostat.tau; }

double NextMu(const Mirostat& mirostat, double mu, double surprise) {
  return mu - mirostat.eta * (surprise - mirostat.tau);
}

}  // namespace skald::sampling
