#include "sampling/rejection.h"

#include <algorithm>
#include <numeric>

namespace skald::sampling {
namespace {

// Masses of what is left of a distribution: shares of this, so that a share of 2^-53 counts.
constexpr double kWhole = 0x1p62;

bool ByToken(const Candidate& a, const Candidate& b) { return a.token < b.token; }

uint64_t SumOf(std::span<const Candidate> candidates) {
  return std::accumulate(candidates.begin(), candidates.end(), uint64_t{0},
                         [](uint64_t sum, const Candidate& each) { return sum + each.mass; });
}

// Probability of a token among candidates in any order.
double ShareOf(TokenId token, std::span<const Candidate> candidates, uint64_t total) {
  const auto found = std::find_if(candidates.begin(), candidates.end(),
                                  [token](const Candidate& each) { return each.token == token; });
  if (found == candidates.end()) return 0;
  return static_cast<double>(found->mass) / static_cast<double>(total);
}

// Makes the masses those of max(0, p - q); returns the candidates that have one.
std::span<Candidate> Subtract(std::span<Candidate> candidates, uint64_t total, const Guess& guess) {
  const Candidate certain = {.token = guess.token, .mass = 1};
  const auto chances =
      guess.chances.empty() ? std::span<const Candidate>(&certain, 1) : guess.chances;
  const uint64_t chances_total = SumOf(chances);
  std::sort(candidates.begin(), candidates.end(), ByToken);
  auto chance = chances.begin();
  for (Candidate& candidate : candidates) {
    chance = std::lower_bound(chance, chances.end(), candidate, ByToken);
    double share = static_cast<double>(candidate.mass) / static_cast<double>(total);
    if (chance != chances.end() && chance->token == candidate.token) {
      share -= static_cast<double>(chance->mass) / static_cast<double>(chances_total);
    }
    candidate.mass = share > 0 ? static_cast<uint64_t>(share * kWhole) : 0;
  }
  const auto end = std::partition(candidates.begin(), candidates.end(),
                                  [](const Candidate& each) { return each.mass > 0; });
  return {candidates.begin(), end};
}

RandomKey KeyOf(RandomKey key, uint32_t stream) {
  key.sequence += stream;
  return key;
}

}  // namespace

TokenId KeepOrRedraw(std::span<Candidate> candidates, const Weighing& weighing, const Guess& guess,
                     const RandomKey& key) {
  const uint64_t total = Weigh(candidates, weighing);
  const double p = ShareOf(guess.token, candidates, total);
  const double q =
      guess.chances.empty() ? 1.0 : ShareOf(guess.token, guess.chances, SumOf(guess.chances));
  if (p >= q || UniformDouble(KeyOf(key, kKeepStream), 0) * q < p) return guess.token;
  const std::span<Candidate> left = Subtract(candidates, total, guess);
  // Nothing left: the two differ by no more than the rounding of their shares.
  return left.empty() ? guess.token : Race(left, weighing, KeyOf(key, kRedrawStream));
}

}  // namespace skald::sampling
