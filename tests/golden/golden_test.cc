// The whole chain, file to logits, against what another engine recorded for the same files (K and V
// in float).

#include <gtest/gtest.h>

#include <cstdio>
#include <vector>

#include "golden/golden_case.h"
#include "skald/engine.h"
#include "skald/model.h"

namespace skald::golden {
namespace {

// All logits of a case's tokens, and its greedy continuation, by skald.
struct Outcome {
  std::vector<float> logits;
  std::vector<TokenId> continuation;
};

Result<Outcome> RunCase(const GoldenCase& golden) {
  Result<Model> model = LoadModel({.path = golden.model_path});
  if (!model.ok()) return std::move(model).status();
  const auto rows = static_cast<int64_t>(golden.tokens.size());
  Result<Engine> engine =
      Engine::Create(*model, {.max_logit_rows = rows, .kv_type = KvCacheType::kF32});
  if (!engine.ok()) return std::move(engine).status();
  Outcome run;
  Status status = engine->ComputeLogits(golden.tokens, {}, [&](std::span<const float> row) {
    run.logits.insert(run.logits.end(), row.begin(), row.end());
    return Ok();
  });
  if (!status.ok()) return status;
  Request request{.prompt = golden.tokens};
  request.sampling.temperature = 0;
  request.stop.max_tokens = static_cast<int64_t>(golden.continuation.size());
  request.stop.ignore_eos = true;
  Result<Completion> done = engine->Generate(request, [](const TokenEvent&) { return true; });
  if (!done.ok()) return std::move(done).status();
  run.continuation = done->tokens;
  return run;
}

class FloatFamiliesSharedData : public testing::TestWithParam<const char*> {};

TEST_P(FloatFamiliesSharedData, LogitsAndGreedyTokensAreThoseRecorded) {
  const Result<GoldenCase> golden = ReadCase(GetParam());
  ASSERT_TRUE(golden.ok()) << golden.status().message();
  const Result<Outcome> run = RunCase(*golden);
  ASSERT_TRUE(run.ok()) << run.status().message();
  const double difference = MaxDifference(run->logits, golden->logits);
  std::printf("%s: largest logit difference %.2e\n", GetParam(), difference);
  EXPECT_LE(difference, 2e-4);
  EXPECT_EQ(run->continuation, golden->continuation);
}

INSTANTIATE_TEST_SUITE_P(Families, FloatFamiliesSharedData,
                         testing::Values("llama", "llama-linear", "llama-yarn", "llama-freqs",
                                         "qwen2", "qwen3", "llama-k-f32"));

class QuantizedSharedData : public testing::TestWithParam<const char*> {};

// The activations of a quantized matmul are rounded; the recorded engine rounds in its own way.
// Both are compared with the dequantized weights in float arithmetic: skald must not lose
// noticeably more than the other.
TEST_P(QuantizedSharedData, LosesAtMostAQuarterMoreThanTheRecordedEngine) {
  const std::string name = std::string("llama-k-") + GetParam();
  const Result<GoldenCase> golden = ReadCase(name);
  ASSERT_TRUE(golden.ok()) << golden.status().message();
  ASSERT_FALSE(golden->exact.empty()) << name << ".exact.f32 is missing";
  const Result<Outcome> run = RunCase(*golden);
  ASSERT_TRUE(run.ok()) << run.status().message();
  const double ours = MeanKl(golden->exact, run->logits, golden->vocab);
  const double theirs = MeanKl(golden->exact, golden->logits, golden->vocab);
  std::printf("%s: KL %.3e, recorded engine %.3e, ratio %.3f\n", GetParam(), ours, theirs,
              ours / theirs);
  const bool is_float = name.ends_with("F16");
  EXPECT_LE(ours, is_float ? 1e-6 : 1.25 * theirs);
}

INSTANTIATE_TEST_SUITE_P(Types, QuantizedSharedData,
                         testing::Values("F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1",
                                         "Q2_K", "Q3_K_M", "Q4_K_M", "Q5_K_M", "Q6_K", "IQ4_NL",
                                         "IQ4_XS"));

}  // namespace
}  // namespace skald::golden
