#include "skald/sampling_params.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>

namespace skald {
namespace {

constexpr int64_t kVocabSize = 1000;
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// Validates the defaults with one change.
Status ValidateWith(const std::function<void(SamplingParams&)>& change) {
  SamplingParams params;
  change(params);
  return Validate(params, kVocabSize);
}

void ExpectRefused(const std::function<void(SamplingParams&)>& change, const std::string& message) {
  const Status status = ValidateWith(change);
  EXPECT_EQ(status.code(), ErrorCode::kInvalidArgument) << message;
  EXPECT_EQ(status.message(), message);
}

TEST(ValidateSamplingParams, AcceptsTheDefaults) {
  EXPECT_TRUE(ValidateWith([](SamplingParams&) {}).ok());
}

TEST(ValidateSamplingParams, AcceptsBothEndsOfEveryRange) {
  for (const double t : {0.0, -0.0, 1e-6, 1e6}) {
    EXPECT_TRUE(ValidateWith([&](auto& p) { p.temperature = t; }).ok()) << t;
  }
  for (const int k : {0, 1, std::numeric_limits<int>::max()}) {
    EXPECT_TRUE(ValidateWith([&](auto& p) { p.truncation.top_k = k; }).ok()) << k;
  }
  for (const double f : {0.0, 0.5, 1.0}) {
    EXPECT_TRUE(ValidateWith([&](auto& p) { p.truncation.top_p = f; }).ok()) << f;
    EXPECT_TRUE(ValidateWith([&](auto& p) { p.truncation.min_p = f; }).ok()) << f;
    EXPECT_TRUE(ValidateWith([&](auto& p) { p.truncation.typical_p = f; }).ok()) << f;
  }
  for (const double r : {0.01, 1.0, 100.0}) {
    EXPECT_TRUE(ValidateWith([&](auto& p) { p.penalties.repetition = r; }).ok()) << r;
  }
  for (const double f : {-100.0, 0.0, 100.0}) {
    EXPECT_TRUE(ValidateWith([&](auto& p) { p.penalties.presence = f; }).ok()) << f;
    EXPECT_TRUE(ValidateWith([&](auto& p) { p.penalties.frequency = f; }).ok()) << f;
  }
  for (const int n : {-1, 0, 1, std::numeric_limits<int>::max()}) {
    EXPECT_TRUE(ValidateWith([&](auto& p) { p.penalties.last_n = n; }).ok()) << n;
  }
  EXPECT_TRUE(ValidateWith([](auto& p) {
                p.logit_bias = {{0, 1.5f}, {kVocabSize - 1, -kInf}, {0, -1e30f}};
              }).ok());
  for (const int n : {0, 1, kMaxTopLogprobs}) {
    EXPECT_TRUE(ValidateWith([&](auto& p) { p.top_logprobs = n; }).ok()) << n;
  }
}

TEST(ValidateSamplingParams, SaysWhichFieldIsWrongWhatWasFoundAndWhatIsExpected) {
  const char* const temperature = "; expected 1e-06 to 1e+06, or 0 for greedy";
  ExpectRefused([](auto& p) { p.temperature = -0.5; },
                std::string("temperature: found -0.5") + temperature);
  ExpectRefused([](auto& p) { p.temperature = kNan; },
                std::string("temperature: found nan") + temperature);
  ExpectRefused([](auto& p) { p.temperature = kInf; },
                std::string("temperature: found inf") + temperature);
  ExpectRefused([](auto& p) { p.temperature = 1e-7; },
                std::string("temperature: found 1e-07") + temperature);
  ExpectRefused([](auto& p) { p.truncation.top_k = -1; },
                "top_k: found -1; expected a positive number, or 0 for off");
  ExpectRefused([](auto& p) { p.truncation.top_p = 1.01; },
                "top_p: found 1.01; expected 0 to 1 (1 is off)");
  ExpectRefused([](auto& p) { p.truncation.top_p = kNan; },
                "top_p: found nan; expected 0 to 1 (1 is off)");
  ExpectRefused([](auto& p) { p.truncation.min_p = -0.1; },
                "min_p: found -0.1; expected 0 to 1 (0 is off)");
  ExpectRefused([](auto& p) { p.truncation.typical_p = 95; },
                "typical_p: found 95; expected 0 to 1 (1 is off)");
  ExpectRefused([](auto& p) { p.penalties.repetition = 0; },
                "repetition penalty: found 0; expected 0.01 to 100 (1 is off)");
  ExpectRefused([](auto& p) { p.penalties.presence = kInf; },
                "presence penalty: found inf; expected -100 to 100 (0 is off)");
  ExpectRefused([](auto& p) { p.penalties.frequency = -101; },
                "frequency penalty: found -101; expected -100 to 100 (0 is off)");
  ExpectRefused([](auto& p) { p.penalties.last_n = -2; },
                "penalty window (last_n): found -2; expected a number of tokens, 0 for off or -1 "
                "for everything");
  ExpectRefused([](auto& p) { p.top_logprobs = -1; }, "top_logprobs: found -1; expected 0 to 20");
  ExpectRefused([](auto& p) { p.top_logprobs = kMaxTopLogprobs + 1; },
                "top_logprobs: found 21; expected 0 to 20");
}

TEST(ValidateSamplingParams, ChecksDryXtcSigmaMirostatAndTheMovingTemperature) {
  ExpectRefused([](auto& p) { p.truncation.top_n_sigma = -1; },
                "top_n_sigma: found -1; expected 0 to 100 (0 is off)");
  ExpectRefused([](auto& p) { p.truncation.xtc_probability = kNan; },
                "xtc_probability: found nan; expected 0 to 1 (0 is off)");
  ExpectRefused([](auto& p) { p.truncation.xtc_threshold = 1.5; },
                "xtc_threshold: found 1.5; expected 0 to 1");
  ExpectRefused([](auto& p) { p.dry.multiplier = 101; },
                "dry_multiplier: found 101; expected 0 to 100 (0 is off)");
  ExpectRefused([](auto& p) { p.dry.base = 0.5; }, "dry_base: found 0.5; expected 1 to 100");
  ExpectRefused([](auto& p) { p.dry.allowed_length = 0; },
                "dry_allowed_length: found 0; expected 1 or more");
  ExpectRefused(
      [](auto& p) { p.dry.last_n = -2; },
      "dry_penalty_last_n: found -2; expected a number of tokens, 0 for off or -1 for everything");
  for (const std::vector<TokenId>& wrong :
       {std::vector<TokenId>{-1}, {3, 3}, {4, 2}, {kVocabSize}}) {
    EXPECT_FALSE(ValidateWith([&](auto& p) { p.dry.breakers = wrong; }).ok());
  }
  EXPECT_TRUE(ValidateWith([](auto& p) { p.dry.breakers = {0, 5, kVocabSize - 1}; }).ok());
  ExpectRefused([](auto& p) { p.dynamic_temperature.range = kInf; },
                "dynatemp_range: found inf; expected 0 to 100 (0 is off)");
  ExpectRefused([](auto& p) { p.dynamic_temperature.exponent = -1; },
                "dynatemp_exponent: found -1; expected 0 to 100");
  ExpectRefused([](auto& p) { p.mirostat.version = 1; },
                "mirostat: found 1; expected 0 (off) or 2");
  ExpectRefused([](auto& p) { p.mirostat.tau = -1; }, "mirostat_tau: found -1; expected 0 to 100");
  ExpectRefused([](auto& p) { p.mirostat.eta = 11; }, "mirostat_eta: found 11; expected 0 to 10");
}

TEST(ValidateSamplingParams, ChecksEveryLogitBias) {
  ExpectRefused(
      [](auto& p) {
        p.logit_bias = {{5, 1}, {1000, 1}};
      },
      "logit_bias: found token 1000; expected 0 to 999, a token of this model");
  ExpectRefused(
      [](auto& p) {
        p.logit_bias = {{-1, 1}};
      },
      "logit_bias: found token -1; expected 0 to 999, a token of this model");
  const char* const number = "; expected a finite number, or -infinity to ban the token";
  ExpectRefused(
      [](auto& p) {
        p.logit_bias = {{7, kInf}};
      },
      std::string("logit_bias: found bias inf for token 7") + number);
  ExpectRefused(
      [](auto& p) {
        p.logit_bias = {{7, static_cast<float>(kNan)}};
      },
      std::string("logit_bias: found bias nan for token 7") + number);
}

}  // namespace
}  // namespace skald
