/// Dynamic temperature and Mirostat: samplers that follow how sure the model is.
#pragma once

#include <span>

#include "kernels/mass/mass.h"
#include "sampling/filters.h"
#include "skald/sampling_params.h"

namespace skald::sampling {

/// The temperature for candidates: temperature - range to temperature + range (1e-6 to 1e6), by
/// their entropy at temperature 1 as a share of the largest that so many can have. `params` has a
/// range above 0 and a temperature above 0. Masses are recomputed.
double TemperatureFor(std::span<Candidate> candidates, const SamplingParams& params,
                      kernels::MassFn masses);

/// The surprise -log2 p, in bits, of tokens of a weighed distribution.
class Surprise {
 public:
  /// Weighs the candidates.
  Surprise(std::span<Candidate> candidates, const Weighing& weighing);
  double Of(float logit) const;

 private:
  float max_;
  double inverse_temperature_;
  double log_total_;  // natural, of the sum of masses over the full mass
};

/// Mirostat 2: the candidates whose surprise is at most `mu`, and at least the first in the total
/// order.
std::span<Candidate> KeepUnsurprising(std::span<Candidate> candidates, double mu,
                                      const Weighing& weighing);

/// Mirostat's mu before the first token.
double FirstMu(const Mirostat& mirostat);
/// That behind a token of this surprise.
double NextMu(const Mirostat& mirostat, double mu, double surprise);

}  // namespace skald::sampling
