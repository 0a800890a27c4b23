/// Philox over lanes of 64 bits, one pair a lane. Include inside a target region
/// (isa/vec_avx512.h says how).
///
/// A lane holds one of the four words of a counter in its lower half. What stands in the upper half
/// is of no meaning: the product of lower halves, which most rounds begin with, does not see it.
#pragma once

#include "kernels/uniform/uniform.h"

namespace skald::kernels {

/// The pairs first_pair + 0 .. kLanes - 1, to numbers[2 * kLanes].
template <typename V>
inline void UniformLanes(const UniformArgs& args, uint32_t first_pair, double* numbers) {
  V counter0 = V::Count(first_pair);
  V counter1 = V::Broadcast(args.key.sequence);
  V counter2 = V::Broadcast(args.key.position & 0xffffffff);
  V counter3 = V::Broadcast(args.key.position >> 32);
  auto key0 = static_cast<uint32_t>(args.key.seed);
  auto key1 = static_cast<uint32_t>(args.key.seed >> 32);
  const V multiplier0 = V::Broadcast(kPhiloxMultipliers[0]);
  const V multiplier1 = V::Broadcast(kPhiloxMultipliers[1]);
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const V product0 = MultiplyLower(multiplier0, counter0);
    const V product1 = MultiplyLower(multiplier1, counter2);
    counter0 = Xor(Xor(UpperHalf(product1), counter1), V::Broadcast(key0));
    counter1 = product1;
    counter2 = Xor(Xor(UpperHalf(product0), counter3), V::Broadcast(key1));
    counter3 = product0;
    key0 += kPhiloxWeyls[0];
    key1 += kPhiloxWeyls[1];
  }
  StoreFractions(counter0, counter1, counter2, counter3, numbers);
}

template <typename V>
inline void UniformGeneric(const UniformArgs& args) {
  int64_t i = 0;
  for (; i + V::kLanes <= args.pairs; i += V::kLanes) {
    UniformLanes<V>(args, args.first_pair + static_cast<uint32_t>(i), args.numbers + 2 * i);
  }
  if (i == args.pairs) return;
  double numbers[2 * V::kLanes];
  UniformLanes<V>(args, args.first_pair + static_cast<uint32_t>(i), numbers);
  for (int64_t rest = 2 * i; rest < 2 * args.pairs; ++rest) {
    args.numbers[rest] = numbers[rest - 2 * i];
  }
}

}  // namespace skald::kernels
