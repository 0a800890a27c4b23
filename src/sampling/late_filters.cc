#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "sampling/filters.h"

namespace skald::sampling {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Sums over a row in eight chains, token t in chain t % 8: an order that is written down, and that
// a compiler can keep in registers side by side.
constexpr size_t kChains = 8;
using Chains = std::array<double, kChains>;

double SumOf(const Chains& c) {
  return ((c[0] + c[1]) + (c[2] + c[3])) + ((c[4] + c[5]) + (c[6] + c[7]));
}

// Calls `add(chain, logit)` for the finite logits of the row that may be chosen, ascending.
template <typename Add>
void ForEachFinite(const ScannedRow& scanned, Add add) {
  BlockScratch scratch;
  for (size_t block = 0; block < scanned.block_max.size(); ++block) {
    const auto logits = BlockOf(scanned.row, block, &scratch);
    for (size_t i = 0; i < logits.size(); ++i) {
      // A block has a multiple of kChains tokens: i is as good as the token.
      if (logits[i] > -kInfinity && logits[i] < kInfinity) add(i % kChains, double{logits[i]});
    }
  }
}

// Of no finite logit: 0.
double StandardDeviation(const ScannedRow& scanned) {
  Chains sums = {};
  int64_t count = 0;
  ForEachFinite(scanned, [&](size_t chain, double logit) {
    sums[chain] += logit;
    ++count;
  });
  if (count == 0) return 0;
  const double mean = SumOf(sums) / static_cast<double>(count);
  Chains squares = {};
  ForEachFinite(scanned, [&](size_t chain, double logit) {
    squares[chain] += (logit - mean) * (logit - mean);
  });
  return std::sqrt(SumOf(squares) / static_cast<double>(count));
}

template <typename Keep>
std::span<Candidate> KeepIf(std::span<Candidate> candidates, Keep keep) {
  return {candidates.begin(), std::partition(candidates.begin(), candidates.end(), keep)};
}

}  // namespace

std::span<Candidate> KeepTopNSigma(std::span<Candidate> candidates, double n,
                                   const ScannedRow& scanned) {
  if (n <= 0) return candidates;
  const double least = double{scanned.max} - n * StandardDeviation(scanned);
  return KeepIf(candidates, [=](const Candidate& each) { return double{each.logit} >= least; });
}

std::span<Candidate> KeepXtc(std::span<Candidate> candidates, const Truncation& truncation,
                             const Weighing& weighing, RandomKey key) {
  key.sequence += kXtcStream;
  if (!(UniformDouble(key, 0) < truncation.xtc_probability)) return candidates;
  const uint64_t likely = MassOfFraction(truncation.xtc_threshold, Weigh(candidates, weighing));
  const Candidate* last = nullptr;
  for (const Candidate& each : candidates) {
    if (each.mass >= likely && (last == nullptr || Precedes(*last, each))) last = &each;
  }
  if (last == nullptr) return candidates;
  const TokenId kept = last->token;
  return KeepIf(candidates,
                [=](const Candidate& each) { return each.mass < likely || each.token == kept; });
}

}  // namespace skald::sampling
