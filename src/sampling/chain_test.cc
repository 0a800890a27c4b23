// The whole chain from logits to a token (docs/numerics.md, 3.9), written down once more:
// candidates in a sorted list, every probability over again, nothing clever.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>
#include <vector>

#include "base/exact_math.h"
#include "sampling/adaptive.h"
#include "sampling/sampler.h"

namespace skald::sampling {
namespace {

constexpr double kFull = 0x1p42;
using List = std::vector<Candidate>;

// Sets the masses at a temperature and returns their sum.
double WeighPlainly(List& list, double temperature) {
  double total = 0;
  for (Candidate& each : list) {
    const double x = (double{each.logit} - double{list.front().logit}) * (1 / temperature);
    each.mass = static_cast<uint64_t>(std::nearbyint(kFull * ExactExp(x)));
    total += static_cast<double>(each.mass);
  }
  return total;
}

void TopNSigma(List& list, double n) {
  if (n == 0) return;
  List by_token = list;
  std::sort(by_token.begin(), by_token.end(), [](auto& a, auto& b) { return a.token < b.token; });
  const auto sum = [&](auto term) {
    double chain[8] = {};
    for (const Candidate& each : by_token) chain[each.token % 8] += term(double{each.logit});
    return ((chain[0] + chain[1]) + (chain[2] + chain[3])) +
           ((chain[4] + chain[5]) + (chain[6] + chain[7]));
  };
  const auto count = static_cast<double>(list.size());
  const double mean = sum([](double x) { return x; }) / count;
  const double sigma = std::sqrt(sum([=](double x) { return (x - mean) * (x - mean); }) / count);
  const double least = double{list.front().logit} - n * sigma;
  std::erase_if(list, [=](const Candidate& each) { return each.logit < least; });
}

void TopP(List& list, double p, double temperature) {
  if (p >= 1) return;
  const double target = std::max(1.0, std::ceil(p * WeighPlainly(list, temperature)));
  double sum = 0;
  size_t count = 0;
  while (sum < target) sum += static_cast<double>(list[count++].mass);
  list.resize(count);
}

void MinP(List& list, double p, double temperature) {
  if (p == 0) return;
  const float max = list.front().logit;
  std::erase_if(list, [=](const Candidate& each) {
    return (double{each.logit} - double{max}) * (1 / temperature) < ExactLog(p);
  });
}

void Xtc(List& list, const Truncation& truncation, double temperature, RandomKey key) {
  key.sequence += uint32_t{1} << 29;
  if (UniformDouble(key, 0) >= truncation.xtc_probability) return;
  const double total = WeighPlainly(list, temperature);
  const double likely = std::max(1.0, std::ceil(truncation.xtc_threshold * total));
  size_t count = 0;
  while (count < list.size() && static_cast<double>(list[count].mass) >= likely) ++count;
  if (count > 1) list.erase(list.begin(), list.begin() + static_cast<int64_t>(count) - 1);
}

double Moved(List list, const SamplingParams& params) {
  const DynamicTemperature& dynamic = params.dynamic_temperature;
  if (dynamic.range == 0) return params.temperature;
  double share = 0;
  if (list.size() > 1) {
    const double total = WeighPlainly(list, 1);
    double sum = 0;
    for (const Candidate& each : list) {
      const double x = double{each.logit} - double{list.front().logit};
      if (each.mass > 0) sum += std::trunc(static_cast<double>(each.mass) * x);
    }
    const double entropy = ExactLog(total / kFull) - sum / total;
    share = std::clamp(entropy / ExactLog(static_cast<double>(list.size())), 0.0, 1.0);
  }
  const double low = std::max(0.0, params.temperature - dynamic.range);
  const double high = params.temperature + dynamic.range;
  const double power = dynamic.exponent == 0 ? 1
                       : share == 0          ? 0
                                             : ExactPow(share, dynamic.exponent);
  return std::max(1e-6, low + (high - low) * power);
}

double SurpriseOf(const List& list, double total, double temperature, const Candidate& each) {
  const double x = (double{each.logit} - double{list.front().logit}) * (1 / temperature);
  return (ExactLog(total / kFull) - x) / 0.693147180559945309417;
}

TokenId DrawPlainly(const List& list, const RandomKey& key) {
  double least = std::numeric_limits<double>::infinity();
  TokenId winner = kNoToken;
  for (const Candidate& each : list) {  // of equal times the first
    if (each.mass == 0) continue;
    const double u = UniformDouble(key, static_cast<uint32_t>(each.token));
    const double time = -ExactLog(1 - u) / static_cast<double>(each.mass);
    if (time < least || winner == kNoToken) winner = each.token;
    least = std::min(least, time);
  }
  return winner;
}

struct Told {
  TokenId token;
  double mu;
  friend bool operator==(const Told&, const Told&) = default;
};

Told Plainly(const std::vector<float>& logits, const SamplingParams& params, const RandomKey& key,
             double mu) {
  List list;
  for (size_t i = 0; i < logits.size(); ++i) {
    list.push_back({.logit = logits[i], .token = static_cast<TokenId>(i)});
  }
  std::sort(list.begin(), list.end(), Precedes);
  const bool has_mirostat = params.mirostat.version == 2;
  const bool is_late = params.order == SamplingOrder::kLlamaCpp && !has_mirostat;
  double temperature = is_late ? 1 : Moved(list, params);
  if (has_mirostat) {
    const double total = WeighPlainly(list, temperature);
    while (list.size() > 1 && SurpriseOf(list, total, temperature, list.back()) > mu) {
      list.pop_back();
    }
  } else {
    TopNSigma(list, params.truncation.top_n_sigma);
    if (params.truncation.top_k > 0) {
      list.resize(std::min(list.size(), static_cast<size_t>(params.truncation.top_k)));
    }
    TopP(list, params.truncation.top_p, temperature);
    MinP(list, params.truncation.min_p, temperature);
    Xtc(list, params.truncation, temperature, key);
    if (is_late) temperature = Moved(list, params);
  }
  const double total = WeighPlainly(list, temperature);
  const TokenId token = DrawPlainly(list, key);
  if (!has_mirostat) return {token, mu};
  const Candidate chosen = {.logit = logits[static_cast<size_t>(token)], .token = token};
  const double surprise = SurpriseOf(list, total, temperature, chosen);
  return {token, mu - params.mirostat.eta * (surprise - params.mirostat.tau)};
}

std::vector<float> RandomRow(std::mt19937& random) {
  std::vector<float> row(std::vector<size_t>{1, 2, 9, 300, 1001}[random() % 5]);
  std::normal_distribution<float> normal(0, random() % 2 == 0 ? 1.0f : 4.0f);
  for (float& logit : row) {
    logit = normal(random);
    if (random() % 3 == 0) logit = std::round(logit);  // ties
  }
  return row;
}

SamplingParams RandomParams(std::mt19937& random) {
  const auto one_of = [&random](std::initializer_list<double> values) {
    return values.begin()[random() % values.size()];
  };
  return {.temperature = one_of({0.4, 1, 1, 2}),
          .truncation = {.top_k = static_cast<int32_t>(one_of({0, 0, 3, 40})),
                         .top_p = one_of({1, 1, 0.9}),
                         .min_p = one_of({0, 0, 0.02}),
                         .top_n_sigma = one_of({0, 0, 1, 2.5}),
                         .xtc_probability = one_of({0, 0.5, 1}),
                         .xtc_threshold = one_of({0.1, 0.02, 0.5, 0})},
          .dynamic_temperature = {.range = one_of({0, 0.3, 5}), .exponent = one_of({1, 0.5, 0, 3})},
          .mirostat = {.version = random() % 3 == 0 ? 2 : 0, .tau = one_of({1, 3, 5, 0})},
          .order = random() % 2 == 0 ? SamplingOrder::kStandard : SamplingOrder::kLlamaCpp};
}

TEST(Chain, IsWhatIsDefined) {
  std::mt19937 random(3);
  for (uint64_t round = 0; round < 3000; ++round) {
    const std::vector<float> row = RandomRow(random);
    const SamplingParams params = RandomParams(random);
    Sampler sampler = *Sampler::Create(std::ssize(row), kernels::DetectIsa());
    double mu = FirstMu(params.mirostat);
    for (uint64_t position = 0; position < 4; ++position) {
      const RandomKey key = {.seed = round, .sequence = 1, .position = position};
      const auto sampled =
          sampler.Sample({.logits = row, .prompt = {}, .output = {}, .key = key, .mu = mu}, params);
      ASSERT_TRUE(sampled.ok());
      const Told told = {sampled->token, sampled->mu};
      ASSERT_EQ(told, Plainly(row, params, key, mu)) << round << " " << position;
      mu = told.mu;
    }
  }
}

std::set<TokenId> Support(const std::vector<float>& row, const SamplingParams& params) {
  Sampler sampler = *Sampler::Create(std::ssize(row), kernels::DetectIsa());
  std::set<TokenId> support;
  for (uint64_t position = 0; position < 2000; ++position) {
    const RandomKey key = {.position = position};
    support.insert(
        sampler.Sample({.logits = row, .prompt = {}, .output = {}, .key = key}, params)->token);
  }
  return support;
}

// Probabilities 0.4, 0.3, 0.2, 0.1.
const std::vector<float> kRow = {-0.9162907f, -1.2039728f, -1.6094379f, -2.3025851f};
constexpr Truncation kAll = {.top_k = 0, .top_p = 1, .min_p = 0};

TEST(Xtc, LeavesTheLeastLikelyOfTheTopChoices) {
  Truncation truncation = kAll;
  truncation.xtc_probability = 1;
  truncation.xtc_threshold = 0.15;
  EXPECT_EQ(Support(kRow, {.temperature = 1, .truncation = truncation}), (std::set<TokenId>{2, 3}));
  truncation.xtc_threshold = 0.35;  // one choice is nothing to exclude from
  EXPECT_EQ(Support(kRow, {.temperature = 1, .truncation = truncation}).size(), 4u);
  truncation.xtc_probability = 0;
  truncation.xtc_threshold = 0.05;
  EXPECT_EQ(Support(kRow, {.temperature = 1, .truncation = truncation}).size(), 4u);
}

TEST(TopNSigma, IsTheSameAtEveryTemperature) {
  Truncation truncation = kAll;
  truncation.top_n_sigma = 1.0;  // sigma 0.52: 0.4 and 0.3
  for (const double temperature : {0.5, 1.0, 50.0}) {
    EXPECT_EQ(Support(kRow, {.temperature = temperature, .truncation = truncation}),
              (std::set<TokenId>{0, 1}));
  }
}

// The point of it: a text whose mean surprise is tau, from a row that would give another.
TEST(Mirostat, BringsTheSurpriseToTau) {
  std::mt19937 random(9);
  std::normal_distribution<float> normal(0, 2);
  std::vector<float> row(2000);
  for (float& logit : row) logit = normal(random);
  Sampler sampler = *Sampler::Create(std::ssize(row), kernels::DetectIsa());
  for (const double tau : {2.0, 4.0}) {
    const SamplingParams params = {.temperature = 1, .mirostat = {.version = 2, .tau = tau}};
    double mu = FirstMu(params.mirostat);
    double sum = 0;
    for (uint64_t position = 0; position < 1000; ++position) {
      const RandomKey key = {.position = position};
      const auto sampled =
          sampler.Sample({.logits = row, .prompt = {}, .output = {}, .key = key, .mu = mu}, params);
      sum += tau - (sampled->mu - mu) / params.mirostat.eta;
      mu = sampled->mu;
    }
    EXPECT_NEAR(sum / 1000, tau, 0.1);
  }
}

}  // namespace
}  // namespace skald::sampling
