#include "sampling/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

namespace skald::sampling {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr Truncation kNone = {.top_k = 0, .top_p = 1, .min_p = 0, .typical_p = 1};

Sampler NewSampler(int64_t vocab_size) {
  Result<Sampler> sampler = Sampler::Create(vocab_size, kernels::DetectIsa());
  EXPECT_TRUE(sampler.ok());
  return *std::move(sampler);
}

Result<Sampled> SampleOnce(const std::vector<float>& logits, const SamplingParams& params,
                           const std::vector<TokenId>& output = {}) {
  Sampler sampler = NewSampler(static_cast<int64_t>(logits.size()));
  Result<Sampled> sampled = sampler.Sample(
      {.logits = logits, .prompt = {}, .output = output, .key = {.seed = params.seed}}, params);
  if (sampled.ok()) sampled->top = {};  // lies in the sampler, which ends here
  return sampled;
}

/// Every token that comes up at 2000 positions.
std::set<TokenId> Support(const std::vector<float>& logits, const SamplingParams& params) {
  Sampler sampler = NewSampler(static_cast<int64_t>(logits.size()));
  std::set<TokenId> support;
  for (uint64_t position = 0; position < 2000; ++position) {
    support.insert(
        sampler
            .Sample({.logits = logits, .prompt = {}, .output = {}, .key = {.position = position}},
                    params)
            ->token);
  }
  return support;
}

std::vector<float> LogsOf(const std::vector<double>& probabilities) {
  std::vector<float> logits;
  for (const double p : probabilities) logits.push_back(static_cast<float>(std::log(p)));
  return logits;
}

using Tokens = std::set<TokenId>;

struct WithOdds {
  TokenId token = kNoToken;
  Odds odds;
};
WithOdds SampleWithOdds(const std::vector<float>& logits, const SamplingParams& params,
                        const Guess* guess = nullptr) {
  WithOdds result;
  Sampler sampler = NewSampler(static_cast<int64_t>(logits.size()));
  const SampleInput input = {.logits = logits,
                             .prompt = {},
                             .output = {},
                             .key = {.seed = params.seed},
                             .guess = guess,
                             .odds = &result.odds,
                             .odds_rule = OddsRule::kOfModel};
  result.token = sampler.Sample(input, params)->token;
  return result;
}

TEST(Odds, AreThoseBeforeAndBehindTheFilters) {
  const std::vector<double> probabilities = {0.1, 0.5, 0.1, 0.3};
  const std::vector<float> logits = LogsOf(probabilities);
  SamplingParams params = {.temperature = 1, .truncation = kNone};
  params.truncation.top_k = 2;
  for (params.seed = 0; params.seed < 20; ++params.seed) {
    const WithOdds with = SampleWithOdds(logits, params);
    EXPECT_EQ(with.token, SampleOnce(logits, params)->token);
    const double p = probabilities[static_cast<size_t>(with.token)];
    EXPECT_NEAR(with.odds.model, p, 1e-7);
    EXPECT_NEAR(with.odds.drawn, p / 0.8, 1e-7);
    EXPECT_EQ(with.odds.candidates, 2);
    // The race, by hand: the winner's time is the least of the two.
    const TokenId other = with.token == 1 ? 3 : 1;
    const RandomKey key = {.seed = params.seed};
    EXPECT_EQ(with.odds.draw, UniformDouble(key, static_cast<uint32_t>(with.token)));
    EXPECT_LT(-std::log(1 - with.odds.draw) / p,
              -std::log(1 - UniformDouble(key, static_cast<uint32_t>(other))) /
                  probabilities[static_cast<size_t>(other)]);
  }
}

TEST(Odds, CountWhatEachFilterLeaves) {
  const std::vector<float> logits = LogsOf({0.4, 0.3, 0.15, 0.1, 0.05});
  SamplingParams params = {.temperature = 1,
                           .truncation = {.top_k = 4, .top_p = 0.85, .min_p = 0.5, .typical_p = 1}};
  WithOdds with = SampleWithOdds(logits, params);
  EXPECT_EQ(with.odds.left_top_k, 4);
  EXPECT_EQ(with.odds.left_typical, 0);
  EXPECT_EQ(with.odds.left_top_p, 3);
  EXPECT_EQ(with.odds.left_min_p, 2);
  EXPECT_EQ(with.odds.candidates, 2);
  params.truncation = {.top_k = 0, .top_p = 0.85, .min_p = 0, .typical_p = 1};
  with = SampleWithOdds(logits, params);
  EXPECT_EQ(with.odds.left_top_k, 0);
  EXPECT_EQ(with.odds.left_top_p, 3);
  EXPECT_EQ(with.odds.candidates, 3);
  params.truncation = {.top_k = 0, .top_p = 1, .min_p = 0, .typical_p = 0.5};
  with = SampleWithOdds(logits, params);
  EXPECT_GT(with.odds.left_typical, 0);
  EXPECT_EQ(with.odds.left_typical, with.odds.candidates);
}

TEST(Odds, OfAGreedyChoiceAreCertain) {
  const WithOdds with = SampleWithOdds(LogsOf({0.25, 0.75}), {.temperature = 0});
  EXPECT_EQ(with.odds.drawn, 1);
  EXPECT_NEAR(with.odds.model, 0.75, 1e-7);
  EXPECT_TRUE(std::isnan(with.odds.draw));
  EXPECT_EQ(with.odds.candidates, 1);
}

TEST(Odds, OfARefusedGuessAreNotKnown) {
  SamplingParams params = {.temperature = 1, .truncation = kNone};
  const Guess guess = {.token = 0};
  bool kept = false;
  bool refused = false;
  for (params.seed = 0; params.seed < 40; ++params.seed) {
    const WithOdds with = SampleWithOdds(LogsOf({0.5, 0.25, 0.25}), params, &guess);
    (with.token == 0 ? kept : refused) = true;
    EXPECT_EQ(std::isnan(with.odds.drawn), with.token != 0);
    EXPECT_NEAR(with.odds.model, with.token == 0 ? 0.5 : 0.25, 1e-7);
  }
  EXPECT_TRUE(kept && refused);
}

TEST(Sampler, RefusesVocabulariesItCannotCount) {
  for (const int64_t size : {int64_t{-1}, int64_t{0}, Sampler::kMaxVocabSize + 1}) {
    EXPECT_EQ(Sampler::Create(size, kernels::DetectIsa()).status().code(), ErrorCode::kUnsupported)
        << size;
  }
  EXPECT_EQ(Sampler::Create(0, kernels::DetectIsa()).status().message(),
            "sampler: vocabulary of 0 tokens; expected 1 to 1048576");
  EXPECT_EQ(NewSampler(1).vocab_size(), 1);
}

TEST(Sampler, GreedyTakesTheLargestLogitAndTheLowestTokenOfATie) {
  EXPECT_EQ(SampleOnce({1, 3, 2, 3, -kInf}, {.temperature = 0})->token, 1);
  EXPECT_EQ(SampleOnce({-0.0f, 0.0f}, {.temperature = 0})->token, 0);
  EXPECT_EQ(SampleOnce({1, kInf, kInf}, {.temperature = 0})->token, 1);
  EXPECT_EQ(SampleOnce({-5}, {.temperature = 0})->token, 0);
  EXPECT_EQ(SampleOnce(std::vector<float>(1000, -7), {.temperature = 0})->token, 0);
}

TEST(Sampler, GreedyAppliesPenaltiesAndBias) {
  const SamplingParams penalty = {.temperature = 0, .penalties = {.repetition = 2}};
  EXPECT_EQ(SampleOnce({3, 2}, penalty, {0})->token, 1);
  const SamplingParams bias = {.temperature = 0, .logit_bias = {{1, 1.5f}}};
  EXPECT_EQ(SampleOnce({3, 2}, bias)->token, 1);
  const SamplingParams ban = {.temperature = 0, .logit_bias = {{0, -kInf}}};
  EXPECT_EQ(SampleOnce({3, 2}, ban)->token, 1);
}

TEST(Sampler, GreedyIgnoresFiltersAndSeed) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const SamplingParams params = {
        .temperature = 0, .truncation = {.top_k = 3, .typical_p = 0.1}, .seed = seed};
    EXPECT_EQ(SampleOnce({1, 1.01f, 1, 0.9f}, params)->token, 1);
  }
}

TEST(Sampler, ReportsBrokenLogits) {
  for (const double temperature : {0.0, 1.0}) {
    const Result<Sampled> nan = SampleOnce({1, 2, kNan, kInf}, {.temperature = temperature});
    EXPECT_EQ(nan.status().code(), ErrorCode::kNumeric);
    EXPECT_EQ(nan.status().message(),
              "logits: token 2 of 4 is NaN; expected a number (broken weights or activations)");
    const Result<Sampled> none = SampleOnce({-kInf, -kInf}, {.temperature = temperature});
    EXPECT_EQ(none.status().code(), ErrorCode::kNumeric);
    EXPECT_EQ(none.status().message(),
              "logits: all 2 are -infinity; expected at least one token to be possible (broken "
              "weights or activations)");
  }
  const SamplingParams ban = {.logit_bias = {{0, -kInf}}};
  EXPECT_EQ(SampleOnce({kNan, 2}, ban).status().code(), ErrorCode::kNumeric);
  EXPECT_EQ(NewSampler(1).TopLogprobs(std::vector<float>{kNan}, 1).status().code(),
            ErrorCode::kNumeric);
}

TEST(Sampler, BlamesTheUserIfTheBiasBansEverything) {
  const SamplingParams ban = {.logit_bias = {{0, -kInf}, {2, -kInf}}};
  const Result<Sampled> sampled = SampleOnce({1, -kInf, 2}, ban);
  EXPECT_EQ(sampled.status().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(sampled.status().message(),
            "logit_bias: every token that the model allows has a bias of -infinity; expected at "
            "least one to remain");
}

TEST(Sampler, NeverDrawsImpossibleTokens) {
  const SamplingParams params = {
      .temperature = 50, .truncation = kNone, .logit_bias = {{2, -kInf}}};
  EXPECT_EQ(Support({1, -kInf, 9, 0, -kInf}, params), (Tokens{0, 3}));
}

TEST(Sampler, InfiniteLogitsShareTheDraw) {
  const SamplingParams params = {.temperature = 1};
  EXPECT_EQ(Support({1, kInf, 9, kInf}, params), (Tokens{1, 3}));
}

TEST(Sampler, SmallestAndLargestTemperaturesWork) {
  const std::vector<float> logits = {1, 1.001f, 0.999f};
  EXPECT_EQ(Support(logits, {.temperature = 1e-6, .truncation = kNone}), (Tokens{1}));
  EXPECT_EQ(Support({-3e38f, 3e38f}, {.temperature = 1e-6, .truncation = kNone}), (Tokens{1}));
  EXPECT_EQ(Support(logits, {.temperature = 1e6, .truncation = kNone}), (Tokens{0, 1, 2}));
}

TEST(SamplerOrder, TopKComesBeforeTopP) {
  // The two best have 4/7 and 3/7 after top-k: one reaches 0.5. Of all four it takes two.
  const std::vector<float> logits = LogsOf({0.4, 0.3, 0.2, 0.1});
  const Truncation both = {.top_k = 2, .top_p = 0.5, .min_p = 0};
  EXPECT_EQ(Support(logits, {.temperature = 1, .truncation = both}), (Tokens{0}));
}

TEST(SamplerOrder, TopPComesBeforeMinP) {
  // Min-p alone keeps two, of which the first would reach 0.5.
  const std::vector<float> logits = LogsOf({0.4, 0.3, 0.2, 0.1});
  const Truncation both = {.top_k = 0, .top_p = 0.5, .min_p = 0.6};
  EXPECT_EQ(Support(logits, {.temperature = 1, .truncation = both}), (Tokens{0, 1}));
}

TEST(SamplerOrder, TypicalComesAfterTopKAndBeforeTopP) {
  // The entropy is 1.24 nats; token 1 with 1.61 is nearest, token 0 has 0.69.
  const std::vector<float> logits = LogsOf({0.5, 0.2, 0.15, 0.15});
  const Truncation typical_top_p = {.top_k = 0, .top_p = 0.3, .min_p = 0, .typical_p = 0.15};
  EXPECT_EQ(Support(logits, {.temperature = 1, .truncation = typical_top_p}), (Tokens{1}));
  const Truncation top_k_typical = {.top_k = 1, .top_p = 1, .min_p = 0, .typical_p = 0.15};
  EXPECT_EQ(Support(logits, {.temperature = 1, .truncation = top_k_typical}), (Tokens{0}));
}

TEST(SamplerOrder, TemperatureComesBeforeTheFiltersOrLast) {
  // At temperature 1 two tokens reach 0.7; at 2 it takes three.
  const std::vector<float> logits = LogsOf({0.5, 0.3, 0.15, 0.05});
  const Truncation top_p = {.top_k = 0, .top_p = 0.7, .min_p = 0};
  EXPECT_EQ(Support(logits, {.temperature = 2, .truncation = top_p}), (Tokens{0, 1, 2}));
  EXPECT_EQ(
      Support(logits, {.temperature = 2, .truncation = top_p, .order = SamplingOrder::kLlamaCpp}),
      (Tokens{0, 1}));
}

TEST(SamplerOrder, LlamaCppOrderStillDrawsAtTheTemperature) {
  const std::vector<float> logits = LogsOf({0.6, 0.4});
  const SamplingParams cold = {
      .temperature = 0.01, .truncation = kNone, .order = SamplingOrder::kLlamaCpp};
  EXPECT_EQ(Support(logits, cold), (Tokens{0}));
}

TEST(SamplerOrder, PenaltiesComeBeforeTheBiasOrAfterIt) {
  SamplingParams params = {.temperature = 0, .penalties = {.repetition = 2}};
  params.logit_bias = {{0, 2}};
  EXPECT_EQ(SampleOnce({6, 4.5f}, params, {0})->token, 0);  // 6 / 2 + 2 = 5
  params.order = SamplingOrder::kLlamaCpp;
  EXPECT_EQ(SampleOnce({6, 4.5f}, params, {0})->token, 1);  // (6 + 2) / 2 = 4
}

/// 300 logits that look like a model's.
std::vector<float> PlausibleLogits() {
  std::vector<float> logits;
  for (uint32_t i = 0; i < 300; ++i) {
    logits.push_back(static_cast<float>(12 * UniformDouble({.seed = 99}, i) - 4));
  }
  return logits;
}

TEST(SamplerDeterminism, NeitherOtherCallsNorTheirOrderMatter) {
  const std::vector<float> logits = PlausibleLogits();
  const std::vector<TokenId> history = {1, 2, 3, 3};
  const SamplingParams params = {.penalties = {.repetition = 1.2}, .top_logprobs = 3};
  const auto sample = [&](Sampler& sampler, uint64_t position) {
    const RandomKey key = {.seed = 8, .position = position};
    return sampler
        .Sample({.logits = logits, .prompt = history, .output = history, .key = key}, params)
        ->token;
  };
  Sampler forward = NewSampler(300);
  Sampler backward = NewSampler(300);
  std::vector<TokenId> up(200), down(200);
  for (int i = 0; i < 200; ++i) up[i] = sample(forward, i);
  for (int i = 199; i >= 0; --i) {
    const SamplingParams other = {.temperature = 5, .truncation = kNone};
    EXPECT_TRUE(
        backward.Sample({.logits = logits, .prompt = {}, .output = {}, .key = {}}, other).ok());
    EXPECT_TRUE(backward.TopLogprobs(logits, 300).ok());
    down[i] = sample(backward, i);
  }
  EXPECT_EQ(up, down);
  EXPECT_GT(std::set<TokenId>(up.begin(), up.end()).size(), 5u);
}

TEST(SamplerDeterminism, SwitchingAFilterOffEqualsSettingItToKeepEverything) {
  const std::vector<float> logits = PlausibleLogits();
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const SamplingParams off = {.temperature = 1.5, .truncation = kNone, .seed = seed};
    SamplingParams everything = off;
    everything.truncation = {.top_k = 300, .top_p = 1 - 1e-16, .min_p = 1e-300, .typical_p = 1};
    EXPECT_EQ(SampleOnce(logits, off)->token, SampleOnce(logits, everything)->token) << seed;
  }
}

/// Known answers: if one changes, so does every text that users have generated with a seed. Then
/// the version of the numerics has to change too.
TEST(SamplerDeterminism, TokensArePinned) {
  const std::vector<float> logits = PlausibleLogits();
  const auto tokens = [&](const SamplingParams& params) {
    Sampler sampler = NewSampler(300);
    std::vector<TokenId> drawn;
    for (uint64_t position = 0; position < 8; ++position) {
      const RandomKey key = {.seed = 2024, .sequence = 1, .position = position};
      const Result<Sampled> sampled =
          sampler.Sample({.logits = logits, .prompt = {}, .output = drawn, .key = key}, params);
      drawn.push_back(sampled->token);
    }
    return drawn;
  };
  EXPECT_EQ(tokens({}), (std::vector<TokenId>{53, 269, 166, 166, 269, 289, 116, 90}));
  EXPECT_EQ(tokens({.temperature = 2, .truncation = kNone}),
            (std::vector<TokenId>{53, 269, 165, 166, 77, 227, 74, 90}));
  EXPECT_EQ(tokens({.temperature = 1.2, .truncation = {.top_k = 0, .typical_p = 0.8}}),
            (std::vector<TokenId>{53, 269, 166, 166, 296, 227, 74, 90}));
  EXPECT_EQ(tokens({.penalties = {.repetition = 1.3, .frequency = 0.5},
                    .order = SamplingOrder::kLlamaCpp,
                    .logit_bias = {{3, 2}}}),
            (std::vector<TokenId>{53, 269, 166, 90, 114, 289, 74, 194}));
  EXPECT_EQ(tokens({.temperature = 0, .penalties = {.repetition = 1.3}}),
            (std::vector<TokenId>{132, 194, 164, 100, 269, 181, 189, 90}));
}

// What a receipt is made of: the logit behind penalties and biases, the masses behind the filters.
TEST(SamplerDraw, TellsTheNumbersOfTheDraw) {
  const std::vector<float> logits = {1, 3, 2, 3};
  SamplingParams params = {.temperature = 1, .truncation = {.top_k = 2, .top_p = 1, .min_p = 0}};
  const Sampled drawn = *SampleOnce(logits, params);
  EXPECT_TRUE(drawn.token == 1 || drawn.token == 3);
  EXPECT_EQ(drawn.draw, (TokenDraw{.logit = 3, .mass = kFullMass, .total = 2 * kFullMass}));
  params.truncation.top_k = 1;
  params.logit_bias = {{.token = 2, .bias = 4}};
  EXPECT_EQ(SampleOnce(logits, params)->draw,
            (TokenDraw{.logit = 6, .mass = kFullMass, .total = kFullMass}));
  params.truncation.top_k = 0;
  params.logit_bias = {{.token = 0, .bias = 20}, {.token = 1, .bias = -kInf}};
  const TokenDraw all = SampleOnce(logits, params)->draw;
  EXPECT_EQ(all.logit, 21);
  EXPECT_EQ(all.mass, kFullMass);
  EXPECT_GT(all.total, kFullMass);
  params.temperature = 0;
  EXPECT_EQ(SampleOnce(logits, params)->draw,
            (TokenDraw{.logit = 21, .mass = kFullMass, .total = kFullMass}));
}

TEST(SamplerLogprobs, AreThoseOfTheUnmodifiedDistribution) {
  const std::vector<float> logits = LogsOf({0.1, 0.2, 0.4, 0.2, 0.1});
  Sampler sampler = NewSampler(5);
  const SamplingParams params = {.temperature = 0.1,
                                 .penalties = {.repetition = 3},
                                 .logit_bias = {{1, 50}},
                                 .top_logprobs = 3};
  const std::vector<TokenId> output = {2};
  const Result<Sampled> sampled =
      sampler.Sample({.logits = logits, .prompt = {}, .output = output, .key = {}}, params);
  EXPECT_EQ(sampled->token, 1);
  EXPECT_NEAR(*sampled->logprob, std::log(0.2), 1e-6);
  ASSERT_EQ(sampled->top.size(), 3u);
  EXPECT_EQ(sampled->top[0].token, 2);
  EXPECT_EQ(sampled->top[1].token, 1);
  EXPECT_EQ(sampled->top[2].token, 3);
  EXPECT_NEAR(sampled->top[0].logprob, std::log(0.4), 1e-6);
  EXPECT_NEAR(sampled->top[2].logprob, std::log(0.2), 1e-6);
}

TEST(SamplerLogprobs, OfAGivenTokenAreThoseOfOneThatIsDrawn) {
  std::vector<float> logits = PlausibleLogits();
  Sampler sampler = NewSampler(300);
  for (TokenId token = 0; token < 300; token += 7) {
    const SamplingParams only = {
        .temperature = 0, .logit_bias = {{token, 1e30f}}, .top_logprobs = 5};
    const Result<Sampled> drawn =
        sampler.Sample({.logits = logits, .prompt = {}, .output = {}, .key = {}}, only);
    ASSERT_EQ(drawn->token, token);
    const std::vector<TokenLogprob> top(drawn->top.begin(), drawn->top.end());
    const auto scored = sampler.Score(logits, token, 5);
    EXPECT_EQ(scored->logprob, *drawn->logprob);
    ASSERT_EQ(scored->top.size(), 5u);
    for (size_t i = 0; i < 5; ++i) {
      EXPECT_EQ(scored->top[i].token, top[i].token);
      EXPECT_EQ(scored->top[i].logprob, top[i].logprob);
    }
  }
  logits.assign(300, 1);
  logits[9] = 2;
  const auto rank = [&](TokenId token) { return sampler.Score(logits, token, 0)->rank; };
  EXPECT_EQ(rank(9), 1);
  EXPECT_EQ(rank(0), 2);  // of equal ones the lowest id goes first
  EXPECT_EQ(rank(8), 10);
  EXPECT_EQ(rank(10), 11);
  logits[0] = kNan;
  EXPECT_EQ(sampler.Score(logits, 3, 0).status().code(), ErrorCode::kNumeric);
}

TEST(SamplerLogprobs, TopIsOfTheModelAlsoWhereTheBiasMovesTheMaximumOfABlock) {
  std::vector<float> logits(2000, 0.0f);  // eight blocks
  logits[1500] = 5;
  logits[700] = 4;
  Sampler sampler = NewSampler(2000);
  const SamplingParams params = {.logit_bias = {{100, 50}, {1500, -kInf}}, .top_logprobs = 2};
  const Result<Sampled> sampled =
      sampler.Sample({.logits = logits, .prompt = {}, .output = {}, .key = {}}, params);
  EXPECT_EQ(sampled->token, 100);
  ASSERT_EQ(sampled->top.size(), 2u);
  EXPECT_EQ(sampled->top[0].token, 1500);
  EXPECT_EQ(sampled->top[1].token, 700);
}

TEST(SamplerLogprobs, AreComputedOnlyIfAskedFor) {
  EXPECT_FALSE(SampleOnce({1, 2}, {})->logprob.has_value());
  EXPECT_NEAR(*SampleOnce({1, 1}, {.top_logprobs = 0})->logprob, -std::log(2.0), 1e-12);
}

TEST(SamplerLogprobs, CanBeOfABiasedTokenThatTheModelRulesOut) {
  const SamplingParams params = {
      .truncation = kNone, .logit_bias = {{0, -kInf}}, .top_logprobs = 1};
  EXPECT_EQ(*SampleOnce({kInf, 0}, params)->logprob, -kInf);
}

TEST(SamplerLogprobs, TopIsSortedAndNoLongerThanThePossibleTokens) {
  Sampler sampler = NewSampler(5);
  const std::vector<float> logits = {1, -kInf, 3, 3, 2};
  const auto tokens = [&](int64_t n) {
    const Result<std::span<const TokenLogprob>> top = sampler.TopLogprobs(logits, n);
    std::vector<TokenId> list;
    for (const TokenLogprob& entry : *top) list.push_back(entry.token);
    return list;
  };
  EXPECT_EQ(tokens(0), (std::vector<TokenId>{}));
  EXPECT_EQ(tokens(1), (std::vector<TokenId>{2}));
  EXPECT_EQ(tokens(3), (std::vector<TokenId>{2, 3, 4}));
  EXPECT_EQ(tokens(5), (std::vector<TokenId>{2, 3, 4, 0}));
  EXPECT_EQ(tokens(1 << 20), (std::vector<TokenId>{2, 3, 4, 0}));
}

// "token:logprob " of the continuations, in thousandths.
std::string Continuations(const SamplingParams& params, int64_t n,
                          const std::vector<TokenId>& output = {}) {
  const std::vector<float> logits = LogsOf({0.5, 0.25, 0.125, 0.125});
  Sampler sampler = NewSampler(4);
  std::string text;
  const auto found = sampler.Continuations(
      {.logits = logits, .prompt = {}, .output = output, .key = {}}, params, n);
  for (const TokenLogprob& each : *found) {
    text += std::to_string(each.token) + ":" +
            std::to_string(std::lround(1000 * std::exp(each.logprob))) + " ";
  }
  return text;
}

TEST(SamplerContinuations, AreTheLikeliestTiesByToken) {
  EXPECT_EQ(Continuations({}, 1), "0:500 ");
  EXPECT_EQ(Continuations({}, 3), "0:500 1:250 2:125 ");
  EXPECT_EQ(Continuations({}, 9), "0:500 1:250 2:125 3:125 ");
}

// As transformers: what is banned or punished leaves no more to the others.
TEST(SamplerContinuations, AreNotNormalisedAgain) {
  EXPECT_EQ(Continuations({.logit_bias = {{0, -kInf}}}, 2), "1:250 2:125 ");
  const SamplingParams punished = {.penalties = {.repetition = 2}};
  EXPECT_EQ(Continuations(punished, 4, {0}), "0:250 1:250 2:125 3:125 ");
}

TEST(SamplerContinuations, OfBrokenLogitsAreAnError) {
  EXPECT_EQ(
      NewSampler(1)
          .Continuations(
              {.logits = std::vector<float>{kNan}, .prompt = {}, .output = {}, .key = {}}, {}, 1)
          .status()
          .code(),
      ErrorCode::kNumeric);
}

}  // namespace
}  // namespace skald::sampling
