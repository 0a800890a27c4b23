// What a mask means (docs/numerics.md, 3.9): forbidden tokens have a logit of -infinity before
// anything else happens. Here that is done, plainly, beside the sampler that never writes it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "sampling/sampler.h"

namespace skald::sampling {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

bool IsAllowed(TokenMask mask, size_t token) { return (mask[token / 64] >> token % 64 & 1) != 0; }

std::vector<float> WithMinusInfinity(const std::vector<float>& row, TokenMask mask) {
  std::vector<float> masked = row;
  for (size_t token = 0; token < row.size(); ++token) {
    if (!IsAllowed(mask, token)) masked[token] = -kInf;
  }
  return masked;
}

// A row, a mask and a history, different for each seed.
struct Case {
  std::vector<float> row;
  std::vector<uint64_t> mask;
  std::vector<TokenId> prompt, output;
};

// Ties, holes, infinities now and then; masks from a single token to nearly all, in blocks that are
// empty, mixed and full.
Case RandomCase(uint32_t seed) {
  constexpr size_t kSizes[] = {1, 7, 64, 255, 256, 257, 513, 1500};
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, seed % 3 == 0 ? 6.0f : 1.5f);
  Case test = {.row = std::vector<float>(kSizes[random() % std::size(kSizes)]),
               .mask = {},
               .prompt = {},
               .output = {}};
  const size_t size = test.row.size();
  for (float& logit : test.row) {
    logit = normal(random);
    if (random() % 4 == 0) logit = std::round(logit);
    if (random() % 32 == 0) logit = -kInf;
    if (seed % 16 == 1 && random() % 64 == 0) logit = kInf;
  }
  test.mask.resize(MaskWords(size));
  const uint32_t one_in = uint32_t{1} << random() % 10;
  const bool few = random() % 2 == 0;
  const auto kept_block = static_cast<uint32_t>(random() % 3);
  for (size_t token = 0; token < size; ++token) {
    const bool hit = random() % one_in == 0;
    const uint32_t kind = (static_cast<uint32_t>(token / 256) + kept_block) % 3;
    const bool allowed = kind == 0 && size > 300   ? true
                         : kind == 1 && size > 900 ? false
                                                   : hit == few;
    if (allowed) test.mask[token / 64] |= uint64_t{1} << token % 64;
  }
  test.mask[0] |= 1;
  for (int i = 0; i < 12; ++i) {
    (i < 5 ? test.prompt : test.output).push_back(static_cast<TokenId>(random() % size));
  }
  return test;
}

// One of those that came later, or two.
void AddNewer(std::mt19937& random, SamplingParams& params) {
  Truncation& truncation = params.truncation;
  if (random() % 4 == 0) truncation.top_n_sigma = 1.5;
  if (random() % 4 == 0) {
    truncation.xtc_probability = 0.7;
    truncation.xtc_threshold = 0.05;
  }
  if (random() % 4 == 0) params.dynamic_temperature.range = 0.8;
  if (random() % 4 == 0) params.dry = {.multiplier = 0.8, .base = 2, .allowed_length = 1};
  if (random() % 4 == 0) params.mirostat = {.version = 2, .tau = 2};
}

// Every parameter that changes how candidates are found.
SamplingParams RandomParams(uint32_t seed) {
  std::mt19937 random(seed * 7 + 3);
  const auto one_of = [&random](std::initializer_list<double> values) {
    return values.begin()[random() % values.size()];
  };
  SamplingParams params;
  params.temperature = one_of({0, 0.3, 1, 1, 4});
  params.truncation = {.top_k = static_cast<int32_t>(one_of({0, 0, 1, 5, 40, 2000})),
                       .top_p = one_of({1, 1, 0.95, 0.5, 0}),
                       .min_p = one_of({0, 0, 0.05, 0.7}),
                       .typical_p = one_of({1, 1, 0.9})};
  if (random() % 3 == 0) {
    params.penalties = {.repetition = 1.4, .presence = 0.3, .frequency = 0.2, .last_n = 8};
  }
  if (random() % 3 == 0) params.logit_bias = {{0, 2.5f}};
  if (random() % 2 == 0) params.order = SamplingOrder::kLlamaCpp;
  if (random() % 4 == 0) params.top_logprobs = 5;
  params.seed = seed;
  if (seed % 3 == 0) AddNewer(random, params);
  return params;
}

// What a call gave, in words that can be compared.
std::string Told(const Result<Sampled>& sampled, const std::vector<Candidate>& chances) {
  if (!sampled.ok()) return "error " + std::to_string(static_cast<int>(sampled.status().code()));
  std::string text = std::to_string(sampled->token) + " " + std::to_string(sampled->mu);
  for (const Candidate& each : chances) {
    text += " " + std::to_string(each.token) + ":" + std::to_string(each.mass);
  }
  return text;
}

class Rows {
 public:
  explicit Rows(const Case& test)
      : test_(test),
        sampler_(*Sampler::Create(static_cast<int64_t>(test.row.size()), kernels::DetectIsa())) {}

  SampleInput Input(const std::vector<float>& row, TokenMask mask, uint64_t seed) const {
    return {.logits = row,
            .mask = mask,
            .prompt = test_.prompt,
            .output = test_.output,
            .key = {.seed = seed, .position = 17},
            .mu = 3};
  }
  Sampler& sampler() { return sampler_; }

 private:
  const Case& test_;
  Sampler sampler_;
};

enum class Uses { kPlain, kChances, kCertainGuess, kDrawnGuess };

TEST(MaskedSampling, EqualsWritingMinusInfinityAndThenSampling) {
  int sampled_count = 0;
  for (uint32_t seed = 0; seed < 2500; ++seed) {
    const Case test = RandomCase(seed);
    const SamplingParams params = RandomParams(seed);
    const std::vector<float> written = WithMinusInfinity(test.row, test.mask);
    Rows rows(test);
    const std::vector<Candidate> drawn_from = {{.token = 0, .mass = 5}, {.token = 3, .mass = 9}};
    for (const Uses uses : {Uses::kPlain, Uses::kChances, Uses::kCertainGuess, Uses::kDrawnGuess}) {
      const Guess guess = {.token = 0,
                           .chances = uses == Uses::kDrawnGuess
                                          ? std::span<const Candidate>(drawn_from)
                                          : std::span<const Candidate>()};
      const auto tell = [&](const std::vector<float>& row, TokenMask mask) {
        std::vector<Candidate> chances;
        SampleInput input = rows.Input(row, mask, seed);
        if (uses == Uses::kChances) input.chances = &chances;
        if (uses >= Uses::kCertainGuess) input.guess = &guess;
        const Result<Sampled> sampled = rows.sampler().Sample(input, params);
        sampled_count += sampled.ok() ? 1 : 0;
        EXPECT_TRUE(!sampled.ok() || IsAllowed(test.mask, sampled->token)) << seed;
        return Told(sampled, chances);
      };
      const std::string plain = tell(written, {});
      const std::string masked = tell(test.row, test.mask);
      // What nobody can be blamed for once -infinity is written has a better name here.
      if (plain.rfind("error", 0) == 0) {
        EXPECT_EQ(masked.rfind("error", 0), 0u) << seed;
      } else {
        EXPECT_EQ(masked, plain) << seed << " " << static_cast<int>(uses);
      }
    }
  }
  EXPECT_GT(sampled_count, 15'000);
}

TEST(MaskedSampling, LogprobsAreOfTheModel) {
  for (uint32_t seed = 0; seed < 600; ++seed) {
    const Case test = RandomCase(seed);
    SamplingParams params = RandomParams(seed);
    params.top_logprobs = 7;
    Rows rows(test);
    const auto masked = rows.sampler().Sample(rows.Input(test.row, test.mask, seed), params);
    if (!masked.ok()) continue;
    const std::vector<TokenLogprob> top(masked->top.begin(), masked->top.end());
    const auto expected = rows.sampler().TopLogprobs(test.row, std::ssize(test.row));
    ASSERT_TRUE(expected.ok());
    const auto of_token = std::find_if(expected->begin(), expected->end(), [&](const auto& each) {
      return each.token == masked->token;
    });
    ASSERT_NE(of_token, expected->end());
    EXPECT_EQ(masked->logprob, of_token->logprob) << seed;
    const auto count = std::min<size_t>(7, expected->size());
    EXPECT_EQ(top, std::vector<TokenLogprob>(expected->begin(), expected->begin() + count));
  }
}

TEST(MaskedSampling, ContinuationsAreThoseOfTheModelThatTheMaskAllows) {
  for (uint32_t seed = 0; seed < 2000; ++seed) {
    const Case test = RandomCase(seed);
    const SamplingParams params = RandomParams(seed);
    Rows rows(test);
    const auto all =
        rows.sampler().Continuations(rows.Input(test.row, {}, 0), params, std::ssize(test.row));
    if (!all.ok()) continue;  // nothing above -infinity
    std::vector<TokenLogprob> expected;
    for (const TokenLogprob& each : *all) {
      if (IsAllowed(test.mask, each.token) && expected.size() < 6) expected.push_back(each);
    }
    const auto found = rows.sampler().Continuations(rows.Input(test.row, test.mask, 0), params, 6);
    ASSERT_TRUE(found.ok());
    EXPECT_EQ(std::vector<TokenLogprob>(found->begin(), found->end()), expected) << seed;
  }
}

// SampleInput::decisive: a mask that allows all of them changes nothing. Held to the definition for
// masks that allow them and little else, which is where a wrong claim would show.
TEST(MaskedSampling, DecisiveTokensTellThatAMaskChangesNothing) {
  int told = 0;
  for (uint32_t seed = 0; seed < 2500; ++seed) {
    const Case test = RandomCase(seed);
    const SamplingParams params = RandomParams(seed);
    Rows rows(test);
    const auto likely = rows.sampler().Sample(rows.Input(test.row, {}, seed + 1), params);
    if (!likely.ok()) continue;
    const Guess guess = {.token = likely->token};
    for (const Uses uses : {Uses::kPlain, Uses::kChances, Uses::kCertainGuess}) {
      const auto tell = [&](TokenMask mask, std::vector<TokenId>* decisive) {
        std::vector<Candidate> chances;
        SampleInput input = rows.Input(test.row, mask, seed);
        input.decisive = decisive;
        if (uses == Uses::kChances) input.chances = &chances;
        if (uses == Uses::kCertainGuess) input.guess = &guess;
        return Told(rows.sampler().Sample(input, params), chances);
      };
      std::vector<TokenId> decisive = {kNoToken};  // of a call before
      const std::string unmasked = tell({}, &decisive);
      if (decisive.empty()) continue;
      ++told;
      // Which a mask makes likelier.
      if (uses == Uses::kCertainGuess) decisive.push_back(guess.token);
      std::vector<uint64_t> mask = test.mask;
      if (seed % 2 == 0) std::fill(mask.begin(), mask.end(), 0);
      for (const TokenId token : decisive) {
        ASSERT_GE(token, 0);
        mask[static_cast<size_t>(token) / 64] |= uint64_t{1} << token % 64;
      }
      EXPECT_EQ(tell(mask, nullptr), unmasked) << seed << " " << static_cast<int>(uses);
    }
  }
  EXPECT_GT(told, 3000);
}

std::vector<TokenId> DecisiveOf(const SamplingParams& params) {
  const std::vector<float> row = {1, 9, 3, 8, 2};
  Sampler sampler = *Sampler::Create(5, kernels::DetectIsa());
  std::vector<TokenId> decisive;
  EXPECT_TRUE(sampler
                  .Sample({.logits = row,
                           .prompt = {},
                           .output = {},
                           .key = {.seed = params.seed},
                           .decisive = &decisive},
                          params)
                  .ok());
  std::sort(decisive.begin(), decisive.end());
  return decisive;
}

TEST(MaskedSampling, TheUsualSettingsNeedNoMask) {
  constexpr Truncation kNone = {.top_k = 0, .top_p = 1, .min_p = 0, .typical_p = 1};
  EXPECT_EQ(DecisiveOf({.temperature = 0}), (std::vector<TokenId>{1}));
  EXPECT_EQ(DecisiveOf({.temperature = 1e-6, .truncation = kNone}), (std::vector<TokenId>{1, 1}));
  for (uint64_t seed = 0; seed < 20; ++seed) {  // all masses hang on the likeliest
    const auto decisive = DecisiveOf({.temperature = 1e6, .truncation = kNone, .seed = seed});
    EXPECT_NE(std::find(decisive.begin(), decisive.end(), 1), decisive.end()) << seed;
  }
  EXPECT_EQ(DecisiveOf({.temperature = 1, .truncation = {.top_k = 3}}),
            (std::vector<TokenId>{1, 2, 3}));
  EXPECT_TRUE(DecisiveOf({.temperature = 1, .truncation = {.top_k = 0, .top_p = 0.9}}).empty());
}

TEST(MaskedSampling, SaysWhoLeftNothing) {
  const std::vector<float> row = {1, -kInf, 2};
  Sampler sampler = *Sampler::Create(3, kernels::DetectIsa());
  const auto error = [&](uint64_t mask, const SamplingParams& params) {
    const std::vector<uint64_t> words = {mask};
    return sampler
        .Sample({.logits = row, .mask = words, .prompt = {}, .output = {}, .key = {}}, params)
        .status();
  };
  EXPECT_EQ(error(2, {}).code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(error(2, {}).message(),
            "constraint: the model rules out every token that may follow; expected at least one to "
            "be possible");
  EXPECT_EQ(error(1, {.logit_bias = {{0, -kInf}}}).message(),
            "logit_bias: every token that the model and the constraint allow has a bias of "
            "-infinity; expected at least one to remain");
  EXPECT_TRUE(error(5, {.logit_bias = {{0, -kInf}}}).ok());
}

}  // namespace
}  // namespace skald::sampling
