#include "sampling/filters.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "base/exact_math.h"
#include "base/rng.h"
#include "kernels/kernels.h"

// Every filter runs beside a plain reference: sort everything, long double probabilities from the
// C library, sums in sorted order. Where a sum lies within kTolerance of the threshold both answers
// are right.
namespace skald::sampling {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr long double kTolerance = 1e-9L;  // 3000 masses, each rounded by 2^-43: 4e-10

std::vector<Candidate> FromLogits(const std::vector<float>& logits) {
  std::vector<Candidate> candidates;
  for (size_t i = 0; i < logits.size(); ++i) {
    candidates.push_back({.logit = logits[i], .token = static_cast<TokenId>(i)});
  }
  return candidates;
}

std::vector<TokenId> SortedTokens(std::span<const Candidate> candidates) {
  std::vector<TokenId> tokens;
  for (const Candidate& candidate : candidates) tokens.push_back(candidate.token);
  std::sort(tokens.begin(), tokens.end());
  return tokens;
}

/// Softmax of logits / temperature; logits of +infinity share everything.
std::vector<long double> Probabilities(const std::vector<Candidate>& candidates,
                                       double temperature) {
  float max = -kInf;
  for (const Candidate& c : candidates) max = std::max(max, c.logit);
  std::vector<long double> p;
  long double sum = 0;
  for (const Candidate& c : candidates) {
    const long double difference = static_cast<long double>(c.logit) - max;
    p.push_back(c.logit == max ? 1 : std::exp(difference / temperature));
    sum += p.back();
  }
  for (long double& x : p) x /= sum;
  return p;
}

/// The kinds of logits that rows are made of here.
enum class Kind { kFlat, kNormal, kPeaked, kTied, kEqual, kOneInfinite, kThreeInfinite };
constexpr Kind kKinds[] = {Kind::kFlat,  Kind::kNormal,      Kind::kPeaked,       Kind::kTied,
                           Kind::kEqual, Kind::kOneInfinite, Kind::kThreeInfinite};

/// `size` candidates of that kind, in random order, with token ids 0 to size - 1.
std::vector<Candidate> RandomCandidates(Kind kind, size_t size, std::mt19937& random) {
  std::normal_distribution<float> normal;
  std::vector<float> logits(size);
  for (float& x : logits) {
    x = normal(random);
    if (kind == Kind::kFlat) x *= 0.01f;
    if (kind == Kind::kPeaked) x *= 15.0f;
    if (kind == Kind::kTied) x = std::round(2 * x) / 2;
    if (kind == Kind::kEqual) x = 2.5f;
  }
  if (kind == Kind::kOneInfinite) logits[size / 2] = kInf;
  if (kind == Kind::kThreeInfinite) logits[0] = logits[size / 3] = logits[size - 1] = kInf;
  std::vector<Candidate> candidates = FromLogits(logits);
  std::shuffle(candidates.begin(), candidates.end(), random);
  return candidates;
}

/// Calls check(candidates, text) for every kind at sizes 1 to 300 (each up to 70: the filters sort
/// 64 candidates at once) and above 1024 (where they use buckets).
template <typename Check>
void ForManyRows(Check check) {
  std::vector<size_t> sizes;
  for (size_t size = 1; size <= 300; size += size < 70 ? 1 : 10) sizes.push_back(size);
  for (const size_t size : {1023, 1024, 1025, 3000}) sizes.push_back(size);
  std::mt19937 random(20);
  for (const Kind kind : kKinds) {
    for (const size_t size : sizes) {
      const std::string text =
          "kind " + std::to_string(static_cast<int>(kind)) + " size " + std::to_string(size);
      check(RandomCandidates(kind, size, random), text);
      if (testing::Test::HasFailure()) return;
    }
  }
}

/// Fails unless `kept` is the first m candidates of `sorted`, whose probabilities are `p`, for the
/// least m that reaches `target`.
void ExpectLeastHead(std::span<const Candidate> kept, std::span<const Candidate> sorted,
                     const std::vector<long double>& p, double target, const std::string& text) {
  ASSERT_GE(kept.size(), 1u) << text;
  ASSERT_LE(kept.size(), sorted.size()) << text;
  EXPECT_EQ(SortedTokens(kept), SortedTokens(sorted.first(kept.size()))) << text;
  long double sum = 0;
  for (size_t i = 0; i + 1 < kept.size(); ++i) sum += p[i];
  if (kept.size() > 1) {
    EXPECT_LT(sum, target + kTolerance) << text << ": one fewer is enough";
  }
  EXPECT_GE(sum + p[kept.size() - 1], target - kTolerance) << text << ": too few";
}

constexpr double kFractions[] = {0.0, 1e-6, 0.1, 0.5, 0.9, 0.95, 0.999, 1.0};
constexpr double kTemperatures[] = {0.25, 0.8, 1.0, 3.0};

TEST(KeepTopP, KeepsTheLeastHeadThatReachesP) {
  ForManyRows([](const std::vector<Candidate>& row, const std::string& text) {
    std::vector<Candidate> sorted = row;
    std::sort(sorted.begin(), sorted.end(), Precedes);
    for (const double temperature : kTemperatures) {
      const std::vector<long double> p = Probabilities(sorted, temperature);
      for (const double fraction : kFractions) {
        std::vector<Candidate> work = row;
        const auto kept = KeepTopP(work, fraction, {temperature});
        if (fraction == 1.0) {
          ASSERT_EQ(kept.size(), row.size());
        } else {
          ExpectLeastHead(kept, sorted, p, fraction, text + " p " + std::to_string(fraction));
        }
      }
    }
  });
}

TEST(KeepTypical, KeepsTheLeastSetNearestToTheEntropy) {
  ForManyRows([](const std::vector<Candidate>& row, const std::string& text) {
    for (const double temperature : kTemperatures) {
      // As the paper has it: distances of -log p from the entropy.
      const std::vector<long double> p = Probabilities(row, temperature);
      long double entropy = 0;
      for (const long double x : p) entropy -= x > 0 ? x * std::log(x) : 0;
      struct Entry {
        Candidate candidate;
        long double p, distance;
      };
      std::vector<Entry> entries;
      for (size_t i = 0; i < row.size(); ++i) {
        entries.push_back({row[i], p[i], std::fabs(-std::log(p[i]) - entropy)});
      }
      std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
        // Equal logits have equal distances; the reference must not break such a tie by rounding.
        if (a.candidate.logit == b.candidate.logit || a.distance == b.distance) {
          return Precedes(a.candidate, b.candidate);
        }
        return a.distance < b.distance;
      });
      std::vector<Candidate> sorted;
      std::vector<long double> sorted_p;
      for (const Entry& entry : entries) {
        sorted.push_back(entry.candidate);
        sorted_p.push_back(entry.p);
      }
      for (const double fraction : kFractions) {
        std::vector<Candidate> work = row;
        const auto kept = KeepTypical(work, fraction, {temperature});
        if (fraction == 1.0) {
          ASSERT_EQ(kept.size(), row.size());
        } else {
          ExpectLeastHead(kept, sorted, sorted_p, fraction, text + " " + std::to_string(fraction));
        }
      }
    }
  });
}

TEST(KeepMinP, KeepsWhatIsLikelyEnoughComparedWithTheBest) {
  ForManyRows([](const std::vector<Candidate>& row, const std::string& text) {
    for (const double temperature : kTemperatures) {
      const std::vector<long double> p = Probabilities(row, temperature);
      const long double p_max = *std::max_element(p.begin(), p.end());
      for (const double fraction : kFractions) {
        std::vector<Candidate> work = row;
        const std::vector<TokenId> kept = SortedTokens(KeepMinP(work, fraction, temperature));
        for (size_t i = 0; i < row.size(); ++i) {
          const bool is_kept = std::binary_search(kept.begin(), kept.end(), row[i].token);
          const long double share = p[i] / p_max;
          const bool may_keep = share >= fraction * (1 - kTolerance);
          const bool must_keep = share >= fraction * (1 + kTolerance) || share == 1;
          EXPECT_TRUE(is_kept ? may_keep : !must_keep) << text << " token " << row[i].token;
        }
      }
    }
  });
}

TEST(KeepTopK, KeepsTheFirstInTheTotalOrder) {
  ForManyRows([](const std::vector<Candidate>& row, const std::string& text) {
    std::vector<Candidate> sorted = row;
    std::sort(sorted.begin(), sorted.end(), Precedes);
    for (const size_t k : {size_t{1}, size_t{2}, size_t{40}, row.size(), row.size() + 1}) {
      std::vector<Candidate> work = row;
      const auto expected = std::span(sorted).first(std::min(k, row.size()));
      EXPECT_EQ(SortedTokens(KeepTopK(work, k)), SortedTokens(expected)) << text << " k " << k;
    }
  });
}

TEST(Filters, DoNotDependOnTheOrderOfTheCandidates) {
  std::mt19937 random(21);
  ForManyRows([&](const std::vector<Candidate>& row, const std::string& text) {
    std::vector<Candidate> a = row;
    std::vector<Candidate> b = row;
    std::shuffle(b.begin(), b.end(), random);
    EXPECT_EQ(Weigh(a, {0.7}), Weigh(b, {0.7})) << text;
    EXPECT_EQ(SortedTokens(KeepTopP(a, 0.8, {0.7})), SortedTokens(KeepTopP(b, 0.8, {0.7}))) << text;
    EXPECT_EQ(SortedTokens(KeepTypical(a, 0.8, {0.7})), SortedTokens(KeepTypical(b, 0.8, {0.7})))
        << text;
    const RandomKey key = {.seed = 3, .position = row.size()};
    EXPECT_EQ(Draw(a, {0.7}, key), Draw(b, {0.7}, key)) << text;
  });
}

TEST(KeepTopP, ResolvesTiesAndExactSumsByTokenId) {
  std::vector<Candidate> row = FromLogits({1, 1, 1, 1});
  std::reverse(row.begin(), row.end());
  EXPECT_EQ(SortedTokens(KeepTopP(row, 0.5, {1.0})), (std::vector<TokenId>{0, 1}));
  EXPECT_EQ(SortedTokens(KeepTopP(row, 0.500001, {1.0})), (std::vector<TokenId>{0, 1, 2}));
  EXPECT_EQ(SortedTokens(KeepTopP(row, 0.499999, {1.0})), (std::vector<TokenId>{0, 1}));
  EXPECT_EQ(SortedTokens(KeepTopP(row, 0.0, {1.0})), (std::vector<TokenId>{0}));
}

TEST(KeepTopP, AgreesWithASortOnRowsAsLargeAsAVocabulary) {
  std::mt19937 random(22);
  for (const float scale : {0.0f, 0.01f, 1.0f, 3.0f, 30.0f, 3e5f}) {
    std::normal_distribution<float> normal;
    std::vector<float> logits(50'000);
    for (float& x : logits) x = scale * normal(random);
    std::vector<Candidate> sorted = FromLogits(logits);
    std::sort(sorted.begin(), sorted.end(), Precedes);
    const uint64_t total = Weigh(sorted, {1.0});
    for (const double p : {0.0, 0.01, 0.5, 0.95, 0.999999}) {
      uint64_t sum = 0;
      size_t count = 0;
      while (count == 0 || static_cast<double>(sum) < p * static_cast<double>(total)) {
        sum += sorted[count++].mass;
      }
      std::vector<Candidate> work = FromLogits(logits);
      const auto expected = SortedTokens(std::span(sorted).first(count));
      EXPECT_EQ(SortedTokens(KeepTopP(work, p, {1.0})), expected) << scale << " " << p;
    }
  }
}

TEST(Weigh, GivesFullMassToTheBestAndRoundsTheRest) {
  const float ln2 = 0.693147180559945f;
  std::vector<Candidate> row = FromLogits({5, 5 - 10 * ln2, 5, -1e30f});
  const uint64_t total = Weigh(row, {1.0});
  EXPECT_EQ(row[0].mass, kFullMass);
  EXPECT_EQ(row[2].mass, kFullMass);
  EXPECT_NEAR(static_cast<double>(row[1].mass), 0x1p32, 0x1p32 * 1e-6);
  EXPECT_EQ(row[3].mass, 0u);
  EXPECT_EQ(total, 2 * kFullMass + row[1].mass);
}

TEST(Weigh, SharesAllMassAmongInfiniteLogits) {
  std::vector<Candidate> row = FromLogits({kInf, 3, kInf, FLT_MAX, -FLT_MAX});
  EXPECT_EQ(Weigh(row, {0.5}), 2 * kFullMass);
  EXPECT_EQ(row[3].mass, 0u);
}

TEST(Weigh, MatchesTheExponentialOfTheCLibrary) {
  std::vector<Candidate> row;
  for (int i = 0; i < 3000; ++i)
    row.push_back({.logit = -0.011f * static_cast<float>(i), .token = i});
  for (const double temperature : {1e-6, 0.1, 1.0, 10.0, 1e6}) {
    Weigh(row, {temperature});
    for (const Candidate& c : row) {
      const double share = std::exp(c.logit / temperature);
      EXPECT_NEAR(static_cast<double>(c.mass), share * 0x1p42, 0.51 + share * 0x1p42 * 1e-14);
    }
  }
}

/// Rows with holes (-infinity), ties and sizes around the block size.
std::vector<float> RandomRow(size_t size, std::mt19937& random) {
  std::vector<float> row(size);
  std::normal_distribution<float> normal;
  for (float& x : row) {
    x = normal(random);
    if (random() % 4 == 0) x = std::round(x);
    if (random() % 16 == 0) x = -kInf;
  }
  return row;
}

TEST(CollectTopK, FindsTheFirstKOfARow) {
  std::mt19937 random(23);
  for (const size_t size : {1, 2, 255, 256, 257, 511, 512, 513, 5000, 20000}) {
    const std::vector<float> row = RandomRow(size, random);
    std::vector<Candidate> sorted;
    for (const Candidate& c : FromLogits(row)) {
      if (c.logit > -kInf) sorted.push_back(c);
    }
    std::sort(sorted.begin(), sorted.end(), Precedes);
    std::vector<float> block_max((size + kLogitBlock - 1) / kLogitBlock);
    std::vector<Candidate> scratch(size);
    const LogitScan scan = ScanLogits({row}, block_max);
    EXPECT_FALSE(scan.has_nan);
    if (!sorted.empty()) {
      EXPECT_EQ(FirstLikeliest({{row}, scan.max, block_max}), sorted[0].token) << size;
    }
    for (const int64_t k : {0, 1, 2, 3, 19, 20, 40, 77, 78, 79, 4999, 20000, 1 << 30}) {
      const size_t count = k == 0 ? sorted.size() : std::min<size_t>(k, sorted.size());
      EXPECT_EQ(SortedTokens(CollectTopK({row}, k, block_max, scratch)),
                SortedTokens(std::span(sorted).first(count)))
          << size << " " << k;
    }
  }
}

// So close to 1 that nothing of the mass may be missing.
TEST(CollectTopP, MayNeedAllThatHasMass) {
  std::vector<float> row(400);
  for (size_t i = 0; i < row.size(); ++i) row[i] = -0.05f * static_cast<float>(i);
  std::vector<float> block_max((row.size() + kLogitBlock - 1) / kLogitBlock);
  for (size_t i = 0; i < block_max.size(); ++i) block_max[i] = row[i * kLogitBlock];
  std::vector<Candidate> scratch(row.size());
  const auto kept = CollectTopP({{row}, 0, block_max}, std::nextafter(1.0, 0.0), {1.0}, scratch);
  EXPECT_EQ(kept.size(), row.size());
}

TEST(CollectTopP, IsTopPOfTheWholeRow) {
  std::mt19937 random(27);
  for (const Kind kind : kKinds) {
    for (const size_t size : {1, 2, 255, 256, 257, 2999, 3000}) {
      std::vector<float> row(size);
      for (const Candidate& c : RandomCandidates(kind, size, random)) row[c.token] = c.logit;
      if (size > 2) row[1] = -kInf;
      std::vector<float> block_max((size + kLogitBlock - 1) / kLogitBlock);
      std::vector<Candidate> all(size);
      std::vector<Candidate> scratch(size);
      const float max = ScanLogits({row}, block_max).max;
      for (const double temperature : {1e-3, 0.25, 0.8, 3.0, 1e3}) {
        for (const double p : kFractions) {
          if (p == 1) continue;
          const Weighing weighing = {temperature, kernels::TableFor(kernels::DetectIsa()).mass};
          const auto candidates = CollectTopK({row}, 0, block_max, all);
          EXPECT_EQ(SortedTokens(CollectTopP({{row}, max, block_max}, p, weighing, scratch)),
                    SortedTokens(KeepTopP(candidates, p, {temperature})))
              << static_cast<int>(kind) << " " << size << " " << temperature << " " << p;
        }
      }
    }
  }
}

TEST(CollectTopK, TakesTheLowestTokensOfATieAcrossBlocks) {
  const std::vector<float> row(2000, -1.5f);
  std::vector<float> block_max(8);
  std::vector<Candidate> scratch(row.size());
  ScanLogits({row}, block_max);
  EXPECT_EQ(SortedTokens(CollectTopK({row}, 3, block_max, scratch)),
            (std::vector<TokenId>{0, 1, 2}));
}

TEST(Logprob, MatchesTheCLibrary) {
  std::mt19937 random(24);
  for (const size_t size : {1, 2, 255, 256, 257, 1000}) {
    const std::vector<float> row = RandomRow(size, random);
    const float max = *std::max_element(row.begin(), row.end());
    if (max == -kInf) continue;
    long double sum = 0;
    for (const float x : row) sum += std::exp(static_cast<long double>(x) - max);
    const RowMass mass = MassOfRow(row, max, kernels::TableFor(kernels::ScalarIsa()).mass);
    for (const float x : row) {
      const long double want = static_cast<long double>(x) - max - std::log(sum);
      if (x == -kInf) {
        EXPECT_EQ(Logprob(x, mass), -kInf);
      } else {
        EXPECT_NEAR(Logprob(x, mass), static_cast<double>(want), 1e-10) << size;
      }
    }
  }
}

struct PenaltyCase {
  Penalties penalties;
  std::vector<TokenId> prompt, output;
  std::vector<float> logits, expected;
};

void ExpectPenalized(const PenaltyCase& c) {
  std::vector<float> logits = c.logits;
  std::vector<int32_t> counts(logits.size());
  ApplyPenalties(c.penalties, {.prompt = c.prompt, .output = c.output, .counts = counts}, logits);
  EXPECT_EQ(logits, c.expected);
  EXPECT_EQ(counts, std::vector<int32_t>(logits.size()));
}

TEST(ApplyPenalties, RepetitionDividesPositiveAndMultipliesNegativeLogitsOnce) {
  ExpectPenalized({.penalties = {.repetition = 2},
                   .prompt = {0, 0, 1},
                   .output = {1, 3},
                   .logits = {4, -4, 4, 0, -4},
                   .expected = {2, -8, 4, 0, -4}});
}

// What is above 0, not above 1, is divided.
TEST(ApplyPenalties, RepetitionMakesEveryLogitSmaller) {
  for (const float logit : {0.5f, 0.999f, 1.0f, 1.001f, 1e-30f, -1e-30f, -0.5f, -1.0f}) {
    std::vector<float> logits = {logit};
    std::vector<int32_t> counts(1);
    const std::vector<TokenId> prompt = {0};
    ApplyPenalties({.repetition = 2}, {.prompt = prompt, .output = {}, .counts = counts}, logits);
    EXPECT_EQ(logits[0], logit > 0 ? logit / 2 : logit * 2);
  }
}

TEST(ApplyPenalties, PresenceAndFrequencyCountOutputOnly) {
  ExpectPenalized({.penalties = {.presence = 0.5, .frequency = 2},
                   .prompt = {0, 1, 1},
                   .output = {1, 2, 2, 2},
                   .logits = {1, 1, 1, 1},
                   .expected = {1, -1.5, -5.5, 1}});
}

TEST(ApplyPenalties, RepetitionComesBeforeFrequencyAndPresence) {
  ExpectPenalized({.penalties = {.repetition = 2, .presence = 1, .frequency = 1},
                   .prompt = {},
                   .output = {0},
                   .logits = {8},
                   .expected = {2}});
}

TEST(ApplyPenalties, LookAtTheLastTokensOfPromptAndOutputOnly) {
  const std::vector<float> logits = {1, 1, 1, 1, 1};
  const auto expect = [&](int32_t last_n, const std::vector<float>& expected) {
    ExpectPenalized({.penalties = {.repetition = 2, .frequency = 1, .last_n = last_n},
                     .prompt = {0, 1},
                     .output = {2, 3, 3},
                     .logits = logits,
                     .expected = expected});
  };
  expect(0, {1, 1, 1, 1, 1});
  expect(1, {1, 1, 1, -0.5, 1});
  expect(2, {1, 1, 1, -1.5, 1});
  expect(3, {1, 1, -0.5, -1.5, 1});
  expect(4, {1, 0.5, -0.5, -1.5, 1});
  expect(5, {0.5, 0.5, -0.5, -1.5, 1});
  expect(6, {0.5, 0.5, -0.5, -1.5, 1});
  expect(-1, {0.5, 0.5, -0.5, -1.5, 1});
}

TEST(ApplyPenalties, KeepInfinitiesAndStayFinite) {
  ExpectPenalized({.penalties = {.repetition = 100, .presence = 100},
                   .prompt = {},
                   .output = {0, 1, 2, 3},
                   .logits = {kInf, -kInf, -FLT_MAX, FLT_MAX},
                   .expected = {kInf, -kInf, -FLT_MAX, static_cast<float>(FLT_MAX / 100.0)}});
}

TEST(ApplyPenalties, AreOffOnlyIfNothingCanChange) {
  EXPECT_TRUE(AreOff({}));
  EXPECT_TRUE(AreOff({.repetition = 2, .presence = 1, .frequency = 1, .last_n = 0}));
  EXPECT_FALSE(AreOff({.repetition = 1.1}));
  EXPECT_FALSE(AreOff({.presence = -0.1}));
  EXPECT_FALSE(AreOff({.frequency = 0.1, .last_n = -1}));
}

TEST(ApplyLogitBias, AddsUpBansAndStaysFinite) {
  std::vector<float> logits = {1, kInf, 3, FLT_MAX, -kInf, 5};
  ApplyLogitBias(
      std::vector<LogitBias>{{0, 2}, {0, -0.5}, {1, -kInf}, {2, -kInf}, {3, FLT_MAX}, {4, 9}},
      logits);
  EXPECT_EQ(logits, (std::vector<float>{2.5, -kInf, -kInf, FLT_MAX, -kInf, 5}));
}

// Each token with its own number, one after the other.
TokenId SlowRace(std::span<const Candidate> candidates, const RandomKey& key) {
  const Candidate* winner = nullptr;
  double least = std::numeric_limits<double>::infinity();
  for (const Candidate& each : candidates) {
    if (each.mass == 0) continue;
    const double u = UniformDouble(key, static_cast<uint32_t>(each.token));
    const double time = -ExactLog(1 - u) / static_cast<double>(each.mass);
    if (time >= least) continue;
    winner = &each;
    least = time;
  }
  return winner->token;
}

// Of every step-th token of a vocabulary: neighbours, whose numbers a kernel computes together, and
// tokens far from each other, in any order.
TEST(Race, EachTokenRunsWithItsOwnNumber) {
  std::mt19937 random(3);
  const Weighing weighing = {.masses = kernels::TableFor(kernels::DetectIsa()).mass,
                             .uniforms = kernels::TableFor(kernels::DetectIsa()).uniform};
  for (const TokenId step : {1, 2, 3, 4, 7, 1000}) {
    for (const int64_t size : {1, 2, 15, 255, 256, 257, 3000}) {
      std::vector<Candidate> candidates;
      for (TokenId i = 0; i < size; ++i) {
        candidates.push_back({.token = 5 + i * step, .mass = random() % 4});
      }
      candidates.back().mass = 1;
      for (uint64_t position = 0; position < 20; ++position) {
        if (position == 10) std::shuffle(candidates.begin(), candidates.end(), random);
        const RandomKey key = {.seed = 9, .position = position};
        EXPECT_EQ(Race(candidates, weighing, key), SlowRace(candidates, key))
            << size << " tokens, every " << step << ", at " << position;
      }
    }
  }
}

}  // namespace
}  // namespace skald::sampling
