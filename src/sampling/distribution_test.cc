// The tokens that are drawn have the distribution that the parameters describe: chi-square tests
// against an exact one computed by a plain chain in long double.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

#include "base/rng.h"
#include "sampling/chi_square.h"
#include "sampling/sampler.h"

namespace skald::sampling {
namespace {

constexpr int kVocab = 20;
constexpr int kDraws = 200'000;

/// Twenty logits without ties, the likeliest in the middle.
std::vector<float> Logits() {
  std::vector<float> logits;
  for (int i = 0; i < kVocab; ++i) {
    logits.push_back(3.0f - 0.09f * static_cast<float>((i - 8) * (i - 8)) / 2 +
                     0.37f * static_cast<float>(i % 3));
  }
  return logits;
}

void Normalize(Distribution& p) {
  const long double sum = std::accumulate(p.begin(), p.end(), 0.0L);
  for (long double& x : p) x /= sum;
}

/// Token ids, those first that `before` says.
std::vector<int> Order(const std::function<bool(int, int)>& before) {
  std::vector<int> order(kVocab);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), before);
  return order;
}

/// Zeroes all but the first of `order` that reach probability `least`.
void KeepHead(Distribution& p, const std::vector<int>& order, double least) {
  long double sum = 0;
  for (const int token : order) {
    if (sum >= least) {
      p[token] = 0;
    } else {
      sum += p[token];
    }
  }
  Normalize(p);
}

/// The standard chain, written down once more: temperature, top-k, typical, top-p, min-p.
Distribution Expected(const std::vector<float>& logits, double temperature, const Truncation& t) {
  Distribution p;
  for (const float x : logits) p.push_back(std::exp(x / static_cast<long double>(temperature)));
  Normalize(p);
  const auto likeliest = [&p](int a, int b) { return p[a] > p[b]; };
  if (t.top_k > 0) {
    const std::vector<int> order = Order(likeliest);
    for (int i = t.top_k; i < kVocab; ++i) p[order[i]] = 0;
    Normalize(p);
  }
  if (t.typical_p < 1) {
    long double entropy = 0;
    for (const long double x : p) entropy -= x > 0 ? x * std::log(x) : 0;
    const Distribution before = p;
    KeepHead(p, Order([&](int a, int b) {
               return std::fabs(-std::log(before[a]) - entropy) <
                      std::fabs(-std::log(before[b]) - entropy);
             }),
             t.typical_p);
  }
  if (t.top_p < 1) {
    const std::vector<int> order = Order(likeliest);
    KeepHead(p, order, t.top_p);
  }
  const long double best = *std::max_element(p.begin(), p.end());
  for (long double& x : p) x = x < t.min_p * best ? 0 : x;
  Normalize(p);
  return p;
}

/// Which part of the key changes from draw to draw.
enum class Vary { kPosition, kSeed, kSequence };

std::vector<int> DrawMany(const std::vector<float>& logits, const SamplingParams& params,
                          Vary vary) {
  Result<Sampler> sampler = Sampler::Create(kVocab, kernels::DetectIsa());
  std::vector<int> counts(kVocab);
  for (int i = 0; i < kDraws; ++i) {
    RandomKey key = {.seed = 5, .sequence = 6, .position = 7};
    switch (vary) {
      case Vary::kPosition: key.position = i; break;
      case Vary::kSeed: key.seed = i; break;
      case Vary::kSequence: key.sequence = i; break;
    }
    const Result<Sampled> sampled =
        sampler->Sample({.logits = logits, .prompt = {}, .output = {}, .key = key}, params);
    ++counts[sampled->token];
  }
  return counts;
}

constexpr Truncation kNone = {.top_k = 0, .top_p = 1, .min_p = 0, .typical_p = 1};

struct Setting {
  double temperature;
  Truncation truncation;
};

const std::vector<Setting>& Settings() {
  static const std::vector<Setting> settings = {
      {1.0, kNone},
      {0.5, kNone},
      {4.0, kNone},
      {0.8, {}},
      {1.0, {.top_k = 5, .top_p = 1, .min_p = 0}},
      {1.5, {.top_k = 0, .top_p = 0.7, .min_p = 0}},
      {1.0, {.top_k = 0, .top_p = 1, .min_p = 0.3}},
      {1.0, {.top_k = 0, .top_p = 1, .min_p = 0, .typical_p = 0.6}},
      {1.3, {.top_k = 12, .top_p = 0.9, .min_p = 0.1, .typical_p = 0.95}},
  };
  return settings;
}

TEST(SampledDistribution, IsTheOneThatTheParametersDescribe) {
  const std::vector<float> logits = Logits();
  for (size_t i = 0; i < Settings().size(); ++i) {
    const auto& [temperature, truncation] = Settings()[i];
    const SamplingParams params = {.temperature = temperature, .truncation = truncation};
    EXPECT_TRUE(LooksLike(DrawMany(logits, params, Vary::kPosition),
                          Expected(logits, temperature, truncation)))
        << "setting " << i;
  }
}

TEST(SampledDistribution, IsTheSameOverSeedsAndSequences) {
  const std::vector<float> logits = Logits();
  const SamplingParams params = {.temperature = 1, .truncation = kNone};
  const Distribution expected = Expected(logits, 1, kNone);
  EXPECT_TRUE(LooksLike(DrawMany(logits, params, Vary::kSeed), expected));
  EXPECT_TRUE(LooksLike(DrawMany(logits, params, Vary::kSequence), expected));
}

TEST(SampledDistribution, TestRejectsDistributionsThatAreSlightlyWrong) {
  const std::vector<float> logits = Logits();
  const SamplingParams params = {.temperature = 0.8, .truncation = kNone};
  const std::vector<int> counts = DrawMany(logits, params, Vary::kPosition);
  EXPECT_TRUE(LooksLike(counts, Expected(logits, 0.8, kNone)));
  EXPECT_FALSE(LooksLike(counts, Expected(logits, 0.82, kNone)));
  EXPECT_FALSE(LooksLike(counts, Expected(logits, 0.8, {.top_k = 19, .top_p = 1, .min_p = 0})));
  std::vector<float> shifted = logits;
  shifted[8] += 0.04f;
  EXPECT_FALSE(LooksLike(counts, Expected(shifted, 0.8, kNone)));
}

TEST(SampledDistribution, ConsecutivePositionsAreIndependent) {
  // Pairs of neighbours over the five likeliest tokens: the joint counts against the product.
  const std::vector<float> logits(2, 0.0f);
  Result<Sampler> sampler = Sampler::Create(2, kernels::DetectIsa());
  const SamplingParams params = {.temperature = 1, .truncation = kNone};
  std::vector<int> pairs(4);
  int previous = 0;
  for (int i = 0; i < kDraws; ++i) {
    const Result<Sampled> sampled = sampler->Sample(
        {.logits = logits, .prompt = {}, .output = {}, .key = {.position = uint64_t(i)}}, params);
    ++pairs[previous * 2 + sampled->token];
    previous = sampled->token;
  }
  double chi_square = 0;
  for (const int count : pairs) chi_square += std::pow(count - kDraws / 4.0, 2) / (kDraws / 4.0);
  EXPECT_LT(chi_square, ChiSquareLimit(3));
}

TEST(SampledDistribution, SimilarModelsWithTheSameKeyMostlyAgree) {
  // The exponential race is a coupling: two distributions at total variation distance d give the
  // same token with probability at least (1 - d) / (1 + d). Speculation lives from it.
  const std::vector<float> target = Logits();
  std::vector<float> draft = target;
  for (int i = 0; i < kVocab; ++i) draft[i] += i % 2 == 0 ? 0.2f : -0.2f;
  const Distribution p = Expected(target, 1, kNone);
  const Distribution q = Expected(draft, 1, kNone);
  double distance = 0;
  for (int i = 0; i < kVocab; ++i) distance += 0.5 * static_cast<double>(std::fabs(p[i] - q[i]));
  Result<Sampler> sampler = Sampler::Create(kVocab, kernels::DetectIsa());
  const SamplingParams params = {.temperature = 1, .truncation = kNone};
  const auto draw = [&](const std::vector<float>& logits, int position) {
    const RandomKey key = {.seed = 1, .position = static_cast<uint64_t>(position)};
    return sampler->Sample({.logits = logits, .prompt = {}, .output = {}, .key = key}, params)
        ->token;
  };
  int agreed = 0;
  for (int i = 0; i < kDraws; ++i) agreed += draw(target, i) == draw(draft, i) ? 1 : 0;
  const double bound = (1 - distance) / (1 + distance);
  EXPECT_GT(distance, 0.05);
  EXPECT_GT(agreed, kDraws * bound - 5 * std::sqrt(kDraws * bound * (1 - bound)));
}

}  // namespace
}  // namespace skald::sampling
