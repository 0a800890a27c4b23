#include "sampling/filters.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>

#include "base/check.h"
#include "base/exact_math.h"

namespace skald::sampling {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kLowest = std::numeric_limits<float>::lowest();

/// Rows and candidates are weighed in chunks that stay in L1.
constexpr size_t kChunk = 256;

/// (logit - max) / temperature, by the same operations as the mass.
double Exponent(float logit, float max, double inverse_temperature) {
  return kernels::MassExponent(logit, max, inverse_temperature);
}

/// The random numbers of candidates, a chunk of them at a time.
class RaceNumbers {
 public:
  RaceNumbers(const RandomKey& key, kernels::UniformFn uniforms) : key_(key), uniforms_(uniforms) {}

  /// The next to be asked for are those of `chunk`, up to kChunk candidates.
  void Prepare(std::span<const Candidate> chunk) {
    const auto [least, most] = std::minmax_element(
        chunk.begin(), chunk.end(),
        [](const Candidate& a, const Candidate& b) { return a.token < b.token; });
    first_pair_ = PairOf(least->token);
    pairs_ = PairOf(most->token) - first_pair_ + 1;
    // Far from each other, as top-k leaves them, each asks for its own. Up to four tokens a
    // candidate a kernel is faster: what nobody asks for costs it a tenth of a pair by itself.
    if (pairs_ > 2 * chunk.size()) {
      pairs_ = 0;
      return;
    }
    uniforms_({.key = key_,
               .first_pair = first_pair_,
               .pairs = static_cast<int64_t>(pairs_),
               .numbers = numbers_.data()});
  }

  double Of(TokenId token) {
    const uint32_t pair = PairOf(token);
    if (pair - first_pair_ >= pairs_) {
      const std::array<double, 2> alone = UniformPair(key_, pair);
      std::copy(alone.begin(), alone.end(), numbers_.begin());
      first_pair_ = pair;
      pairs_ = 1;
    }
    return numbers_[2 * size_t{pair - first_pair_} + static_cast<uint32_t>(token) % 2];
  }

 private:
  static uint32_t PairOf(TokenId token) { return static_cast<uint32_t>(token) / 2; }

  const RandomKey key_;
  const kernels::UniformFn uniforms_;
  uint32_t first_pair_ = 0;
  size_t pairs_ = 0;  // in numbers_
  std::array<double, 4 * kChunk> numbers_;
};

/// Appends to `out` the tokens of the row with at least `threshold`, above -infinity, and returns
/// how many. `scratch` has room for all.
size_t CollectFrom(float threshold, const LogitRow& row, std::span<const float> block_max,
                   std::span<Candidate> scratch) {
  BlockScratch block_scratch;
  size_t count = 0;
  for (size_t block = 0; block < block_max.size(); ++block) {
    if (block_max[block] < threshold) continue;
    const size_t start = block * static_cast<size_t>(kLogitBlock);
    const auto logits = BlockOf(row, block, &block_scratch);
    for (size_t i = 0; i < logits.size(); ++i) {
      // count <= start + i: the write is inside the scratch also when the token is not taken.
      scratch[count] = {.logit = logits[i], .token = static_cast<TokenId>(start + i)};
      count += logits[i] >= threshold ? 1 : 0;
    }
  }
  return count;
}

/// Keeps the fewest candidates, in the order of `before`, whose masses sum to at least `target`,
/// which the sum of all masses reaches. A quickselect by mass: O(n) expected.
template <typename Before>
std::span<Candidate> KeepHeadWithMass(std::span<Candidate> candidates, uint64_t target,
                                      Before before) {
  constexpr ptrdiff_t kSortedAtOnce = 64;
  // All of [begin, low) belong to the head and their mass, `taken`, is short of the target;
  // [begin, high) reaches it; [low, high) is still in any order.
  const auto begin = candidates.begin();
  auto low = begin;
  auto high = candidates.end();
  uint64_t taken = 0;
  while (high - low > kSortedAtOnce) {
    const auto middle = low + (high - low) / 4;
    std::nth_element(low, middle, high, before);
    uint64_t mass = 0;
    for (auto it = low; it != middle; ++it) mass += it->mass;
    if (taken + mass >= target) {
      high = middle;
    } else {
      low = middle;
      taken += mass;
    }
  }
  std::sort(low, high, before);
  while (taken < target) taken += (low++)->mass;
  return {begin, low};
}

/// As KeepHeadWithMass, in the order of `distance` (candidate -> number >= 0) and then the total
/// order. Large spans are first split into buckets of similar distance, so that only the one in
/// which the target is reached needs comparisons. Buckets never split equal distances.
template <typename Distance>
std::span<Candidate> KeepNearestWithMass(std::span<Candidate> candidates, uint64_t target,
                                         Distance distance) {
  constexpr size_t kWorthBuckets = 1024;
  constexpr size_t kBuckets = 512;
  constexpr double kBucketsPerNat = 8;  // up to 64, where masses have long become 0
  const auto before = [=](const Candidate& a, const Candidate& b) {
    const double a_distance = distance(a);
    const double b_distance = distance(b);
    return a_distance < b_distance || (a_distance == b_distance && Precedes(a, b));
  };
  if (candidates.size() < kWorthBuckets) return KeepHeadWithMass(candidates, target, before);
  const auto bucket_of = [=](const Candidate& candidate) {
    return static_cast<size_t>(
        std::min(distance(candidate) * kBucketsPerNat, static_cast<double>(kBuckets - 1)));
  };
  std::array<uint64_t, kBuckets> mass{};
  for (const Candidate& candidate : candidates) mass[bucket_of(candidate)] += candidate.mass;
  size_t last = 0;
  uint64_t taken = 0;
  while (taken + mass[last] < target) taken += mass[last++];
  const auto begin = candidates.begin();
  const auto end = std::partition(begin, candidates.end(), [=](const Candidate& candidate) {
    return bucket_of(candidate) <= last;
  });
  const auto middle = std::partition(
      begin, end, [=](const Candidate& candidate) { return bucket_of(candidate) < last; });
  const auto rest = KeepHeadWithMass(std::span<Candidate>(middle, end), target - taken, before);
  return candidates.first(static_cast<size_t>(middle - begin) + rest.size());
}

/// KeepNearestWithMass in the total order, which is that of the distance to the largest logit.
std::span<Candidate> KeepLikeliestWithMass(std::span<Candidate> candidates, uint64_t target,
                                           const Weighing& weighing) {
  const float max = MaxLogit(candidates);
  const double inverse_temperature = 1.0 / weighing.temperature;
  return KeepNearestWithMass(candidates, target, [=](const Candidate& candidate) {
    return -Exponent(candidate.logit, max, inverse_temperature);
  });
}

/// The masses of a row, added up by their number of bits (1 to 43): by which power of two each
/// reaches.
using MassByWidth = std::array<uint64_t, 64>;

MassByWidth AddUpByWidth(const ScannedRow& scanned, const Weighing& weighing) {
  // Two sums in turn: an addition to memory waits for the one before to the same place.
  std::array<MassByWidth, 2> sums{};
  std::array<uint64_t, kLogitBlock> masses;
  BlockScratch scratch;
  for (size_t block = 0; block < scanned.block_max.size(); ++block) {
    const auto part = BlockOf(scanned.row, block, &scratch);
    if (part.empty()) continue;
    masses[part.size() - 1 + part.size() % 2] = 0;  // the pair of an odd last one
    weighing.masses({.logits = part.data(),
                     .n = std::ssize(part),
                     .max = scanned.max,
                     .inverse_temperature = 1.0 / weighing.temperature,
                     .masses = masses.data()});
    // Whether a mass is 0 cannot be foreseen: with | 1 it needs no branch, and adds nothing.
    for (size_t i = 0; i < part.size(); i += 2) {
      sums[0][std::bit_width(masses[i] | 1)] += masses[i];
      sums[1][std::bit_width(masses[i + 1] | 1)] += masses[i + 1];
    }
  }
  for (size_t width = 0; width < sums[0].size(); ++width) sums[0][width] += sums[1][width];
  return sums[0];
}

/// A logit such that all tokens below it together have at most `surplus` of the mass of the row,
/// which is more: close to the highest such power of two of the mass.
float LogitNotNeededBelow(const MassByWidth& sums, uint64_t surplus, float max,
                          double temperature) {
  int width = 0;
  for (uint64_t below = sums[0]; below <= surplus; below += sums[width]) ++width;
  // A token that has this mass had at least half a mass less before it was rounded; the rounding
  // errors of both exponentials are far below the margin.
  constexpr double kMargin = 1e-9;
  const double mass = static_cast<double>(uint64_t{1} << (width - 1)) - 0.5;
  const double exponent = ExactLog(mass / static_cast<double>(kFullMass)) - kMargin;
  const double logit = static_cast<double>(max) + exponent * temperature;
  // Rounding to float may go up by half a unit: one further down is safe.
  return std::nextafter(static_cast<float>(std::max<double>(logit, kLowest)), kLowest);
}

/// `value` in float32; beyond its range the largest finite number, so that penalties and biases
/// neither create nor remove an infinity.
float RoundToLogit(double value) {
  constexpr double kMax = std::numeric_limits<float>::max();
  if (value - value != 0) return static_cast<float>(value);  // was infinite before
  return static_cast<float>(std::clamp(value, -kMax, kMax));
}

/// The logit of a token that is in the window and was output `occurrences` times there.
float Penalized(float logit, const Penalties& penalties, int32_t occurrences) {
  double value = logit;
  value = value > 0 ? value / penalties.repetition : value * penalties.repetition;
  if (occurrences > 0) {
    value -= penalties.frequency * occurrences;
    value -= penalties.presence;
  }
  return RoundToLogit(value);
}

}  // namespace

float MaxLogit(std::span<const Candidate> candidates) {
  float max = -kInfinity;
  for (const Candidate& candidate : candidates) max = std::max(max, candidate.logit);
  return max;
}

uint64_t MassOfFraction(double p, uint64_t total) {
  const double exact = p * static_cast<double>(total);
  uint64_t mass = static_cast<uint64_t>(exact);
  if (static_cast<double>(mass) < exact) ++mass;
  return std::clamp<uint64_t>(mass, 1, total);
}

double MeanExponent(std::span<const Candidate> candidates, uint64_t total, double temperature) {
  const float max = MaxLogit(candidates);
  const double inverse_temperature = 1.0 / temperature;
  // As integers: |x e^x| <= 1/e, each term fits 2^41 and the sum 2^61.
  int64_t weighted_sum = 0;
  for (const Candidate& candidate : candidates) {
    if (candidate.mass == 0) continue;  // also avoids 0 * infinity
    const double term =
        static_cast<double>(candidate.mass) * Exponent(candidate.logit, max, inverse_temperature);
    weighted_sum += static_cast<int64_t>(term);
  }
  return static_cast<double>(weighted_sum) / static_cast<double>(total);
}

bool AreOff(const Penalties& penalties) {
  return penalties.last_n == 0 ||
         (penalties.repetition == 1 && penalties.presence == 0 && penalties.frequency == 0);
}

void ApplyPenalties(const Penalties& penalties, const PenaltyHistory& history,
                    std::span<float> logits) {
  const size_t history_size = history.prompt.size() + history.output.size();
  const size_t window_size =
      penalties.last_n < 0 ? history_size : std::min<size_t>(penalties.last_n, history_size);
  const auto output = history.output.last(std::min(window_size, history.output.size()));
  const auto prompt = history.prompt.last(window_size - output.size());
  // Bit 0 of a count: in the window and not yet penalized. The rest: occurrences in the output.
  for (const TokenId token : prompt) {
    CHECK(token >= 0 && static_cast<size_t>(token) < logits.size());
    history.counts[token] |= 1;
  }
  for (const TokenId token : output) {
    CHECK(token >= 0 && static_cast<size_t>(token) < logits.size());
    history.counts[token] = (history.counts[token] | 1) + 2;
  }
  for (const auto part : {prompt, output}) {
    for (const TokenId token : part) {
      int32_t& count = history.counts[token];
      if (count != 0) logits[token] = Penalized(logits[token], penalties, count >> 1);
      count = 0;
    }
  }
}

void ApplyLogitBias(std::span<const LogitBias> biases, std::span<float> logits) {
  for (const LogitBias& entry : biases) {
    CHECK(entry.token >= 0 && static_cast<size_t>(entry.token) < logits.size());
    float& logit = logits[entry.token];
    const double sum = static_cast<double>(logit) + static_cast<double>(entry.bias);
    logit = entry.bias == -kInfinity ? -kInfinity : RoundToLogit(sum);
  }
}

std::span<Candidate> CollectTopK(const LogitRow& row, int64_t k, std::span<const float> block_max,
                                 std::span<Candidate> scratch) {
  const auto block_count = static_cast<int64_t>(block_max.size());
  float threshold = kLowest;  // everything but -infinity
  if (k > 0 && k < block_count) {
    for (int64_t block = 0; block < block_count; ++block) scratch[block] = {block_max[block]};
    const auto kth = scratch.begin() + (k - 1);
    std::nth_element(scratch.begin(), kth, scratch.begin() + block_count,
                     [](const Candidate& a, const Candidate& b) { return a.logit > b.logit; });
    threshold = std::max(threshold, kth->logit);
  }
  const auto collected = scratch.first(CollectFrom(threshold, row, block_max, scratch));
  return k > 0 ? KeepTopK(collected, k) : collected;
}

uint64_t Weigh(std::span<Candidate> candidates, const Weighing& weighing) {
  CHECK(!candidates.empty() && candidates.size() <= static_cast<size_t>(kMaxCandidates));
  const float max = MaxLogit(candidates);
  std::array<float, kChunk> logits;
  std::array<uint64_t, kChunk> masses;
  uint64_t total = 0;
  for (size_t start = 0; start < candidates.size(); start += kChunk) {
    const auto part = candidates.subspan(start, std::min(kChunk, candidates.size() - start));
    for (size_t i = 0; i < part.size(); ++i) logits[i] = part[i].logit;
    weighing.masses({.logits = logits.data(),
                     .n = static_cast<int64_t>(part.size()),
                     .max = max,
                     .inverse_temperature = 1.0 / weighing.temperature,
                     .masses = masses.data()});
    for (size_t i = 0; i < part.size(); ++i) {
      part[i].mass = masses[i];
      total += masses[i];
    }
  }
  return total;
}

RowMass MassOfRow(std::span<const float> logits, float max, kernels::MassFn masses) {
  std::array<uint64_t, kChunk> chunk;
  RowMass row = {.max = max};
  for (size_t start = 0; start < logits.size(); start += kChunk) {
    const auto part = logits.subspan(start, std::min(kChunk, logits.size() - start));
    masses({.logits = part.data(),
            .n = static_cast<int64_t>(part.size()),
            .max = max,
            .inverse_temperature = 1.0,
            .masses = chunk.data()});
    row.mass = std::accumulate(chunk.begin(), chunk.begin() + std::ssize(part), row.mass);
  }
  return row;
}

double Logprob(float logit, const RowMass& row) {
  const double share = static_cast<double>(row.mass) / static_cast<double>(kFullMass);
  return Exponent(logit, row.max, 1.0) - ExactLog(share);
}

std::span<Candidate> KeepTopK(std::span<Candidate> candidates, int64_t k) {
  if (k >= static_cast<int64_t>(candidates.size())) return candidates;
  std::nth_element(candidates.begin(), candidates.begin() + k, candidates.end(), Precedes);
  return candidates.first(static_cast<size_t>(k));
}

std::span<Candidate> KeepTypical(std::span<Candidate> candidates, double p,
                                 const Weighing& weighing) {
  if (p >= 1) return candidates;
  const uint64_t total = Weigh(candidates, weighing);
  const float max = MaxLogit(candidates);
  const double inverse_temperature = 1.0 / weighing.temperature;
  const double mean = MeanExponent(candidates, total, weighing.temperature);
  return KeepNearestWithMass(candidates, MassOfFraction(p, total), [=](const Candidate& candidate) {
    const double x = Exponent(candidate.logit, max, inverse_temperature);
    return x > mean ? x - mean : mean - x;
  });
}

std::span<Candidate> KeepTopP(std::span<Candidate> candidates, double p, const Weighing& weighing) {
  if (p >= 1) return candidates;
  const uint64_t total = Weigh(candidates, weighing);
  return KeepLikeliestWithMass(candidates, MassOfFraction(p, total), weighing);
}

std::span<Candidate> CollectTopP(const ScannedRow& scanned, double p, const Weighing& weighing,
                                 std::span<Candidate> scratch) {
  const MassByWidth sums = AddUpByWidth(scanned, weighing);
  const uint64_t total = std::accumulate(sums.begin(), sums.end(), uint64_t{0});
  const uint64_t target = MassOfFraction(p, total);
  const float threshold =
      LogitNotNeededBelow(sums, total - target, scanned.max, weighing.temperature);
  const auto collected =
      scratch.first(CollectFrom(threshold, scanned.row, scanned.block_max, scratch));
  Weigh(collected, weighing);
  return KeepLikeliestWithMass(collected, target, weighing);
}

std::span<Candidate> KeepMinP(std::span<Candidate> candidates, double p, double temperature) {
  if (p <= 0) return candidates;
  const float max = MaxLogit(candidates);
  const double inverse_temperature = 1.0 / temperature;
  const double least = ExactLog(p);
  const auto end = std::partition(candidates.begin(), candidates.end(), [=](const Candidate& c) {
    return Exponent(c.logit, max, inverse_temperature) >= least;
  });
  return {candidates.begin(), end};
}

TokenId Draw(std::span<Candidate> candidates, const Weighing& weighing, const RandomKey& key) {
  Weigh(candidates, weighing);
  return Race(candidates, weighing, key);
}

TokenId Race(std::span<const Candidate> candidates, const Weighing& weighing,
             const RandomKey& key) {
  return WinnerOf(candidates, weighing, key).token;
}

const Candidate& WinnerOf(std::span<const Candidate> candidates, const Weighing& weighing,
                          const RandomKey& key) {
  // -log(1 - u) >= u, so a token with u / mass clearly above the smallest time so far has lost. The
  // margin is far above the rounding errors of both sides: skipping never changes the winner.
  constexpr double kMargin = 1.0 + 0x1p-40;
  const Candidate* winner = nullptr;
  double winner_time = std::numeric_limits<double>::infinity();
  RaceNumbers numbers(key, weighing.uniforms);
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (i % kChunk == 0) {
      numbers.Prepare(candidates.subspan(i, std::min(kChunk, candidates.size() - i)));
    }
    const Candidate& candidate = candidates[i];
    if (candidate.mass == 0) continue;
    const double u = numbers.Of(candidate.token);
    const double mass = static_cast<double>(candidate.mass);
    if (u > winner_time * mass * kMargin) continue;
    const double time = -ExactLog(1.0 - u) / mass;
    const bool wins = winner == nullptr || time < winner_time ||
                      (time == winner_time && Precedes(candidate, *winner));
    if (!wins) continue;
    winner = &candidate;
    winner_time = time;
  }
  CHECK(winner != nullptr);
  return *winner;
}

}  // namespace skald::sampling
