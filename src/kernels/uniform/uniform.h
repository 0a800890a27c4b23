/// Uniform: random numbers of many tokens at once (numerics 3.9), those of UniformPair
/// (base/rng.h). Integers, and one exact conversion: every variant has the same bits.
#pragma once

#include <cstdint>

#include "base/rng.h"

namespace skald::kernels {

/// Writes the numbers of draws 2 * first_pair to 2 * (first_pair + pairs) - 1 of `key`.
struct UniformArgs {
  RandomKey key = {};
  uint32_t first_pair = 0;
  int64_t pairs = 0;
  double* numbers = nullptr;  ///< [2 * pairs]
};

/// Cost: with AVX-512 some 2 ns a pair, one core; an evaluation of Philox by itself some 20.
using UniformFn = void (*)(const UniformArgs& args);

}  // namespace skald::kernels
