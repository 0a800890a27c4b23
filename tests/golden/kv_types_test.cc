// What the types of K and V cost: the Kullback-Leibler divergence of all rows of a golden case from
// those with K and V in float. Numerics 3.20, docs/decisions/0020.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "golden/golden_case.h"
#include "skald/engine.h"
#include "skald/logits.h"
#include "skald/model.h"
#include "support/shared_data.h"

namespace skald::golden {
namespace {

Result<std::vector<float>> LogitsWith(const Model& model, const std::vector<TokenId>& tokens,
                                      KvCacheTypes types) {
  const auto rows = static_cast<int64_t>(tokens.size());
  Result<LogitsSession> session =
      LogitsSession::Create(model, {.max_chunk = rows, .kv_types = types});
  if (!session.ok()) return std::move(session).status();
  std::vector<float> logits;
  const Status status = session->Compute(tokens, {}, [&](std::span<const float> row) {
    logits.insert(logits.end(), row.begin(), row.end());
    return Ok();
  });
  if (!status.ok()) return status;
  return logits;
}

// By type, from K and V in float.
struct Divergences {
  double f16 = 0;
  double q8 = 0;
  double q4 = 0;
  double mixed = 0;  // K in q8, V in q4
};

Divergences Measure(const Model& model, const std::vector<TokenId>& tokens,
                    const std::string& name) {
  const int64_t vocab = model.info().vocab_size;
  const Result<std::vector<float>> floats = LogitsWith(model, tokens, KvCacheType::kF32);
  EXPECT_TRUE(floats.ok()) << floats.status().message();
  const auto divergence = [&](KvCacheTypes types) {
    const Result<std::vector<float>> logits = LogitsWith(model, tokens, types);
    EXPECT_TRUE(logits.ok()) << logits.status().message();
    return logits.ok() && floats.ok() ? MeanKl(*floats, *logits, vocab) : 1;
  };
  const Divergences found = {.f16 = divergence(KvCacheType::kF16),
                             .q8 = divergence(KvCacheType::kQ8),
                             .q4 = divergence(KvCacheType::kQ4),
                             .mixed = divergence({KvCacheType::kQ8, KvCacheType::kQ4})};
  std::printf("%s: KL f16 %.2e, q8 %.2e, q4 %.2e, q8,q4 %.2e\n", name.c_str(), found.f16, found.q8,
              found.q4, found.mixed);
  return found;
}

// The most that integers may cost, measured and rounded up.
struct Bounds {
  double q8 = 0;
  double q4 = 0;
};

void ExpectBounds(const Divergences& found, const Bounds& bounds) {
  EXPECT_LE(found.q8, bounds.q8);
  EXPECT_LE(found.q4, bounds.q4);
  EXPECT_LT(found.mixed, found.q4);
  EXPECT_LT(found.q8, found.mixed);
  EXPECT_GT(found.q8, found.f16);
}

void CheckTypes(const GoldenFolders& folders, const std::string& name, const Bounds& bounds) {
  const Result<GoldenCase> golden = ReadCase(folders, name, Recorded::kLogits);
  ASSERT_TRUE(golden.ok()) << golden.status().message();
  const Result<Model> model =
      LoadModel({.path = golden->model_path, .conventions = Conventions::kLlamaCpp});
  ASSERT_TRUE(model.ok()) << model.status().message();
  ExpectBounds(Measure(*model, golden->tokens, name), bounds);
}

std::string TestName(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

class KvTypes : public testing::TestWithParam<std::string> {};
TEST_P(KvTypes, CostNoMoreThanTheirBound) {
  CheckTypes({.numbers = SKALD_SOURCE_DIR "/tests/data/golden", .models = SKALD_GOLDEN_MODELS},
             GetParam(), {.q8 = 6e-5, .q4 = 0.012});
}
INSTANTIATE_TEST_SUITE_P(Compact, KvTypes,
                         testing::Values("llama", "llama-yarn", "moe", "qwen2", "qwen3", "qwen3moe",
                                         "internlm2", "seed-oss", "smollm3"),
                         TestName);

class KvTypesSharedData : public testing::TestWithParam<std::string> {};
TEST_P(KvTypesSharedData, CostNoMoreThanTheirBound) {
  std::string folder = support::SharedData("golden");
  if (!std::filesystem::exists(folder + "/" + GetParam() + ".json")) folder += "/families";
  CheckTypes({.numbers = folder, .models = folder}, GetParam(), {.q8 = 3e-4, .q4 = 0.035});
}
INSTANTIATE_TEST_SUITE_P(Large, KvTypesSharedData,
                         testing::Values("gemma2", "gemma3", "gemma4", "gpt2", "gpt-oss",
                                         "phi3-long", "command-r", "cohere2", "granite", "llama4",
                                         "mimo2", "olmo2", "stablelm", "starcoder2", "qwen35",
                                         "falcon-h1", "lfm2", "nemotron_h", "hunyuan-moe"),
                         TestName);

// A trained model, on a text of its own.
TEST(KvTypesOfTales, CostNoMoreThanTheirBound) {
  const Result<Model> model = LoadModel({.path = SKALD_SOURCE_DIR "/models/tales/tales.gguf"});
  ASSERT_TRUE(model.ok()) << model.status().message();
  Result<Engine> engine = Engine::Create(*model, {.kv_types = KvCacheType::kF32});
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  Request request{.prompt = *model->tokenizer().Encode("Once upon a time")};
  request.sampling.seed = 1;
  request.stop = {.max_tokens = 400, .ignore_eos = true};
  const Result<Completion> done = engine->Generate(request, [](const TokenEvent&) { return true; });
  ASSERT_TRUE(done.ok()) << done.status().message();
  std::vector<TokenId> tokens = request.prompt;
  tokens.insert(tokens.end(), done->tokens.begin(), done->tokens.end());
  const Divergences found = Measure(*model, tokens, "tales");
  ExpectBounds(found, {.q8 = 2 * found.f16 + 1e-5, .q4 = 2e-3});
}

// Latents are not quantized, and the message says what to do.
TEST(KvTypesOfLatentsSharedData, AreRefused) {
  const Result<Model> model = LoadModel({.path = support::SharedData("golden/deepseek2.gguf")});
  ASSERT_TRUE(model.ok()) << model.status().message();
  for (const KvCacheType type : {KvCacheType::kQ8, KvCacheType::kQ4}) {
    const Result<Engine> engine = Engine::Create(*model, {.kv_types = type});
    ASSERT_FALSE(engine.ok());
    EXPECT_NE(engine.status().message().find("expected f16, bf16 or f32"), std::string::npos)
        << engine.status().message();
  }
}

}  // namespace
}  // namespace skald::golden
