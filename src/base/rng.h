/// Random numbers without state: a function from (key, index) to a number.
///
/// Because there is no generator to advance, the order in which numbers are drawn, by which thread,
/// and how many others were drawn before cannot matter. A token sampled in a batch, after a
/// preemption or during speculation sees the same numbers as one sampled alone.
///
/// The function is Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as
/// 1, 2, 3", SC'11), which passes BigCrush and has published known answers (rng_test.cc).
#pragma once

#include <array>
#include <cstdint>

namespace skald {

/// Constants of Random123's philox.h: two multipliers chosen by search for avalanche, and the Weyl
/// increments golden ratio and sqrt(3) - 1, in 32 bits.
inline constexpr std::array<uint32_t, 2> kPhiloxMultipliers = {0xD2511F53, 0xCD9E8D57};
inline constexpr std::array<uint32_t, 2> kPhiloxWeyls = {0x9E3779B9, 0xBB67AE85};
inline constexpr int kPhiloxRounds = 10;

/// The bijection of Philox: 128 bits in, 128 bits out, chosen by a 64-bit key; 10 rounds.
std::array<uint32_t, 4> Philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

/// Names the random numbers of one decision: which token comes at `position` (counted from the
/// start of the prompt) of sequence number `sequence` (0 unless a request forks) of a request with
/// this seed.
struct RandomKey {
  uint64_t seed = 0;
  uint32_t sequence = 0;
  uint64_t position = 0;
};

/// The numbers of draws 2 * pair and 2 * pair + 1, uniform in [0, 1) on the multiples of 2^-53.
/// One evaluation of Philox; any two (key, pair) differ in its key or counter.
std::array<double, 2> UniformPair(const RandomKey& key, uint32_t pair);

/// The number of one draw of this key, uniform in [0, 1) on the multiples of 2^-53.
double UniformDouble(const RandomKey& key, uint32_t draw);

}  // namespace skald
