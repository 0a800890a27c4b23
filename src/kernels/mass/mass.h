/// Mass: the share of probability of a logit as an integer (numerics 3.9).
///
///     round(2^42 * e^((logit - max) * inverse_temperature))
///
/// Integer sums are exact, so what is decided on masses is the same in every order. Everything is
/// double precision and base/exact_math.h, a fixed sequence of + - *, which every variant performs.
#pragma once

#include <cstdint>

namespace skald::kernels {

/// Mass of the largest logit.
inline constexpr uint64_t kFullMass = uint64_t{1} << 42;

/// (logit - max) * inverse_temperature, the exponent of a mass: 0 for the largest logit, also if
/// that is +infinity, negative for all others. Monotonic in the logit.
inline double MassExponent(float logit, float max, double inverse_temperature) {
  const double difference = static_cast<double>(logit) - static_cast<double>(max);
  const double exponent = difference * inverse_temperature;  // before the choice: no branch
  return logit == max ? 0.0 : exponent;
}

/// `n` logits, none NaN, with their largest or that of the row they are from (above -infinity), and
/// where their masses go.
struct MassArgs {
  const float* logits = nullptr;
  int64_t n = 0;
  float max = 0;
  double inverse_temperature = 1;
  uint64_t* masses = nullptr;
};

/// Computes the masses. Cost: with AVX-512 a nanosecond per token, one core.
using MassFn = void (*)(const MassArgs& args);

}  // namespace skald::kernels
