// The whole chain, file to logits, against what another engine recorded for the same files (K and V
// in float). The compact set always, the large one where it lies beside the checkout.
//
// golden_test --golden-numbers=FOLDER takes the numbers of the compact set from there:
// numbers_test.py does so to see that a missing number is a failure.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model_network.h"
#include "engine/pooler.h"
#include "golden/golden_case.h"
#include "skald/engine.h"
#include "skald/logits.h"
#include "skald/model.h"
#include "support/shared_data.h"

namespace skald::golden {
namespace {

// All logits of a case's tokens, its greedy continuation, and the last logits of its long tokens,
// by skald.
struct Outcome {
  std::vector<float> logits;
  std::vector<TokenId> continuation;
  std::vector<float> long_last;
};

// The logits of the tokens alone.
Result<std::vector<float>> RunLogits(const GoldenCase& golden) {
  Result<Model> model =
      LoadModel({.path = golden.model_path, .conventions = Conventions::kLlamaCpp});
  if (!model.ok()) return std::move(model).status();
  const auto rows = static_cast<int64_t>(golden.tokens.size());
  Result<LogitsSession> session =
      LogitsSession::Create(*model, {.max_chunk = rows, .kv_types = KvCacheType::kF32});
  if (!session.ok()) return std::move(session).status();
  std::vector<float> logits;
  const Status status = session->Compute(golden.tokens, {}, [&](std::span<const float> row) {
    logits.insert(logits.end(), row.begin(), row.end());
    return Ok();
  });
  if (!status.ok()) return status;
  return logits;
}

Result<Outcome> RunCase(const GoldenCase& golden,
                        int64_t max_table_bytes = LoadOptions().max_table_bytes) {
  Result<Model> model = LoadModel({.path = golden.model_path,
                                   .conventions = Conventions::kLlamaCpp,
                                   .max_table_bytes = max_table_bytes});
  if (!model.ok()) return std::move(model).status();
  const auto rows = static_cast<int64_t>(std::max(golden.tokens.size(), golden.long_tokens.size()));
  Result<LogitsSession> session =
      LogitsSession::Create(*model, {.max_chunk = rows, .kv_types = KvCacheType::kF32});
  if (!session.ok()) return std::move(session).status();
  Outcome run;
  Status status = session->Compute(golden.tokens, {}, [&](std::span<const float> row) {
    run.logits.insert(run.logits.end(), row.begin(), row.end());
    return Ok();
  });
  if (!status.ok()) return status;
  if (!golden.long_tokens.empty()) {
    status = session->Compute(golden.long_tokens, {}, [&](std::span<const float> row) {
      run.long_last.assign(row.begin(), row.end());
      return Ok();
    });
    if (!status.ok()) return status;
  }
  Result<Engine> engine = Engine::Create(*model, {.kv_types = KvCacheType::kF32});
  if (!engine.ok()) return std::move(engine).status();
  Request request{.prompt = golden.tokens};
  request.sampling.temperature = 0;
  request.stop.max_tokens = static_cast<int64_t>(golden.continuation.size());
  request.stop.ignore_eos = true;
  Result<Completion> done = engine->Generate(request, [](const TokenEvent&) { return true; });
  if (!done.ok()) return std::move(done).status();
  run.continuation = done->tokens;
  return run;
}

void CheckFloats(const GoldenFolders& folders, const std::string& name) {
  const Result<GoldenCase> golden = ReadCase(folders, name, Recorded::kLogits);
  ASSERT_TRUE(golden.ok()) << golden.status().message();
  const Result<Outcome> run = RunCase(*golden);
  ASSERT_TRUE(run.ok()) << run.status().message();
  const bool exact = !golden->exact.empty();
  const double difference = MaxDifference(run->logits, exact ? golden->exact : golden->logits);
  const double far = MaxDifference(run->long_last, golden->long_last);
  std::printf("%s: largest logit difference %.2e, behind a long prompt %.2e\n", name.c_str(),
              difference, far);
  const double tolerance = exact ? folders.exact_tolerance : folders.tolerance;
  EXPECT_LE(difference, tolerance);
  EXPECT_LE(far, tolerance);
  EXPECT_EQ(run->continuation, golden->continuation);
}

// The activations of a quantized matmul are rounded; the recorded engine rounds in its own way.
// Both are compared with the dequantized weights in float arithmetic: skald must not lose
// noticeably more than the other.
void CheckQuantized(const GoldenFolders& folders, const std::string& name) {
  const Result<GoldenCase> golden = ReadCase(folders, name, Recorded::kLogitsAndExact);
  ASSERT_TRUE(golden.ok()) << golden.status().message();
  const Result<Outcome> run = RunCase(*golden);
  ASSERT_TRUE(run.ok()) << run.status().message();
  ASSERT_EQ(run->logits.size(), golden->exact.size());
  const double ours = MeanKl(golden->exact, run->logits, golden->vocab);
  const double theirs = MeanKl(golden->exact, golden->logits, golden->vocab);
  std::printf("%s: KL %.3e, recorded engine %.3e, ratio %.3f\n", name.c_str(), ours, theirs,
              ours / theirs);
  const bool is_float = name.ends_with("-F16");
  EXPECT_LE(ours, is_float ? 1e-6 : 1.25 * theirs);
  // The bound above is none where the recorded rows are not of one model.
  EXPECT_LE(theirs, 1e-3);
}

const std::vector<std::string> kFloatCases = {
    "llama", "llama-linear", "llama-yarn", "llama-freqs", "moe",     "qwen2",
    "qwen3", "qwen3moe",     "internlm2",  "seed-oss",    "smollm3", "llama-k-f32"};
// Those of which the compact set has none.
const std::vector<std::string> kLargeFloatCases = {"bailingmoe2", "cohere2",
                                                   "command-r",   "deepseek",
                                                   "dots1",       "ernie4_5-moe",
                                                   "exaone-moe",  "exaone4",
                                                   "exaone4-swa", "glm4",
                                                   "glm4moe",     "glm4moe-qknorm",
                                                   "granite",     "granitemoe",
                                                   "gemma4",      "gemma4-moe",
                                                   "gemma4-e",    "afmoe",
                                                   "gemma3n",     "step35",
                                                   "mimo2",       "stablelm-parallel",
                                                   "gpt-oss",     "mistral3",
                                                   "phi3-short",  "phi3-long",
                                                   "hunyuan-moe", "hy_v3",
                                                   "minimax-m2",  "olmo2",
                                                   "olmo3",       "olmoe",
                                                   "phi2",        "qwen2moe",
                                                   "stablelm",    "starcoder2",
                                                   "llama4"};
// Those recorded by an engine that reads GELU from a table of halves, and not exactly.
const std::vector<std::string> kLargeTableCases = {"gemma2", "gemma3", "gpt2"};
const std::vector<std::string> kQuantizedCases = {
    "llama-k-F16",    "llama-k-BF16",  "llama-k-Q8_0",   "llama-k-Q4_0",   "llama-k-Q4_1",
    "llama-k-Q5_0",   "llama-k-Q5_1",  "llama-k-Q2_K",   "llama-k-Q3_K",   "llama-k-Q4_K",
    "llama-k-Q5_K",   "llama-k-Q6_K",  "llama-k-IQ4_NL", "llama-k-IQ4_XS", "llama-k-Q3_K_M",
    "llama-k-Q4_K_M", "llama-k-Q5_K_M"};

// "llama-k-Q4_0" as a part of a test's name: llama_k_Q4_0.
std::string TestName(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

class Compact : public testing::TestWithParam<std::string> {
 public:
  static GoldenFolders folders;
};
GoldenFolders Compact::folders = {.numbers = SKALD_SOURCE_DIR "/tests/data/golden",
                                  .models = SKALD_GOLDEN_MODELS,
                                  .tolerance = 2e-5};

TEST_F(Compact, EveryRecordedCaseIsCompared) {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(folders.numbers)) {
    if (entry.path().extension() == ".json") found.push_back(entry.path().stem().string());
  }
  std::vector<std::string> compared = kFloatCases;
  compared.insert(compared.end(), kQuantizedCases.begin(), kQuantizedCases.end());
  std::sort(found.begin(), found.end());
  std::sort(compared.begin(), compared.end());
  EXPECT_EQ(found, compared);
}

using FloatFamilies = Compact;
TEST_P(FloatFamilies, LogitsAndGreedyTokensAreThoseRecorded) { CheckFloats(folders, GetParam()); }
INSTANTIATE_TEST_SUITE_P(Compact, FloatFamilies, testing::ValuesIn(kFloatCases), TestName);

using Quantized = Compact;
TEST_P(Quantized, LosesAtMostAQuarterMoreThanTheRecordedEngine) {
  CheckQuantized(folders, GetParam());
}
INSTANTIATE_TEST_SUITE_P(Compact, Quantized, testing::ValuesIn(kQuantizedCases), TestName);

// The cases that came later lie in a folder of their own.
GoldenFolders SharedFolders(const std::string& name) {
  std::string folder = support::SharedData("golden");
  if (!std::filesystem::exists(folder + "/" + name + ".json")) folder += "/families";
  return {.numbers = folder, .models = folder, .tolerance = 2e-4, .exact_tolerance = 1e-4};
}

class FloatFamiliesSharedData : public testing::TestWithParam<std::string> {};
TEST_P(FloatFamiliesSharedData, LogitsAndGreedyTokensAreThoseRecorded) {
  CheckFloats(SharedFolders(GetParam()), GetParam());
}
INSTANTIATE_TEST_SUITE_P(Large, FloatFamiliesSharedData, testing::ValuesIn(kFloatCases), TestName);
INSTANTIATE_TEST_SUITE_P(LargeAlone, FloatFamiliesSharedData, testing::ValuesIn(kLargeFloatCases),
                         TestName);
INSTANTIATE_TEST_SUITE_P(LatentAttention, FloatFamiliesSharedData,
                         testing::Values("deepseek2", "deepseek3", "deepseek3-kvb", "kimi-k2",
                                         "mistral4", "kimi-linear"),
                         TestName);
INSTANTIATE_TEST_SUITE_P(Hybrids, FloatFamiliesSharedData,
                         testing::Values("lfm2", "lfm2moe", "qwen35", "qwen35-mtp", "qwen35moe",
                                         "qwen35moe-mtp", "qwen3next", "qwen3next-legacy",
                                         "granitehybrid", "granitehybrid-dense", "mamba2",
                                         "nemotron_h", "nemotron_h_moe", "nemotron_h_moe-latent",
                                         "falcon-h1"),
                         TestName);

// As many tokens as the indexer picks: behind them what was recorded is another network.
class ShortFloatFamiliesSharedData : public testing::TestWithParam<std::string> {};
TEST_P(ShortFloatFamiliesSharedData, LogitsAreThoseRecordedAsFarAsTheContextGoes) {
  Result<GoldenCase> golden = ReadCase(SharedFolders(GetParam()), GetParam(), Recorded::kLogits);
  ASSERT_TRUE(golden.ok()) << golden.status().message();
  const Result<Model> model = LoadModel({.path = golden->model_path});
  ASSERT_TRUE(model.ok()) << model.status().message();
  const auto tokens = static_cast<size_t>(model->info().context_length);
  ASSERT_EQ(tokens, 6u);
  golden->tokens.resize(tokens);
  golden->logits.resize(tokens * static_cast<size_t>(golden->vocab));
  const Result<std::vector<float>> logits = RunLogits(*golden);
  ASSERT_TRUE(logits.ok()) << logits.status().message();
  const double difference = MaxDifference(*logits, golden->logits);
  std::printf("%s: largest logit difference %.2e\n", GetParam().c_str(), difference);
  EXPECT_LE(difference, 2e-4);
}
INSTANTIATE_TEST_SUITE_P(SparseAttention, ShortFloatFamiliesSharedData,
                         testing::Values("deepseek32", "glm-dsa"), TestName);

TEST(TablesSharedData, AnswersAreTheSameWithTablesLeftInTheFile) {
  const Result<GoldenCase> golden =
      ReadCase(SharedFolders("gemma4-e"), "gemma4-e", Recorded::kLogits);
  ASSERT_TRUE(golden.ok()) << golden.status().message();
  const Result<Outcome> in_memory = RunCase(*golden);
  const Result<Outcome> in_file = RunCase(*golden, 0);
  ASSERT_TRUE(in_memory.ok() && in_file.ok());
  EXPECT_EQ(in_file->logits, in_memory->logits);
  EXPECT_EQ(in_file->continuation, in_memory->continuation);
}

class TableFamiliesSharedData : public testing::TestWithParam<std::string> {};
TEST_P(TableFamiliesSharedData, LogitsAndGreedyTokensAreThoseRecorded) {
  GoldenFolders folders = SharedFolders(GetParam());
  folders.tolerance = 1e-3;
  CheckFloats(folders, GetParam());
}
INSTANTIATE_TEST_SUITE_P(LargeAlone, TableFamiliesSharedData, testing::ValuesIn(kLargeTableCases),
                         TestName);

// A vector of length 1.
std::vector<float> Unit(std::span<const float> vector) {
  double squares = 0;
  for (const float value : vector) squares += double{value} * value;
  std::vector<float> unit;
  for (const float value : vector) unit.push_back(static_cast<float>(value / std::sqrt(squares)));
  return unit;
}

// Embeddings have length 1 here, those recorded have not.
class EmbeddingFamiliesSharedData : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    Result<EmbeddingCase> golden = ReadEmbeddingCase(SharedFolders(GetParam()), GetParam());
    ASSERT_TRUE(golden.ok()) << golden.status().message();
    golden_ = *std::move(golden);
    Result<Model> model =
        LoadModel({.path = golden_.model_path, .conventions = Conventions::kLlamaCpp});
    ASSERT_TRUE(model.ok()) << model.status().message();
    ASSERT_TRUE(model->info().pooling.has_value());
    model_.emplace(*std::move(model));
  }

  std::span<const float> Recorded(size_t token) const {
    const auto width = static_cast<size_t>(golden_.width);
    return std::span(golden_.rows).subspan(token * width, width);
  }

  // The embedding of the first `tokens` of the text.
  std::vector<float> Embed(Engine& engine, size_t tokens, Pooling pooling) const {
    const auto end = golden_.tokens.begin() + static_cast<std::ptrdiff_t>(tokens);
    Result<Embedding> embedding =
        engine.Embed({.prompt = {golden_.tokens.begin(), end}, .pooling = pooling});
    EXPECT_TRUE(embedding.ok()) << embedding.status().message();
    return embedding.ok() ? embedding->values : std::vector<float>();
  }

  // What each token's state is: of a model that reads a text in one direction, that of the text it
  // ends; of others, asked of the network itself.
  std::vector<std::vector<float>> States(Engine& engine) const {
    std::vector<std::vector<float>> states;
    if (model_->info().generates) {
      for (size_t i = 0; i < golden_.tokens.size(); ++i) {
        states.push_back(Embed(engine, i + 1, Pooling::kLast));
      }
      return states;
    }
    const auto options = engine::Resolve({.kv_types = KvCacheType::kF32}, Network());
    const auto network = engine::ModelNetwork::Create(model_->transformer(), *options);
    const std::vector<kv::PageId> pages = {3, 1};
    const auto rows = static_cast<int64_t>(golden_.tokens.size());
    const std::vector<model::SequenceRows> whole = {{.row_count = rows, .pages = pages}};
    std::vector<int32_t> all(golden_.tokens.size());
    std::iota(all.begin(), all.end(), 0);
    (*network)->Forward(
        {.tokens = golden_.tokens, .sequences = whole, .logit_rows = {}, .hidden_rows = all});
    for (int64_t i = 0; i < rows; ++i) states.push_back(Unit((*network)->Hidden(i)));
    return states;
  }

  const model::Network& Network() const { return model_->transformer().network(); }

  EmbeddingCase golden_;
  std::optional<Model> model_;
};

TEST_P(EmbeddingFamiliesSharedData, EmbeddingsAreThoseRecorded) {
  Result<Engine> engine = Engine::Create(*model_, {.kv_types = KvCacheType::kF32});
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  ASSERT_EQ(engine->embedding_width(), golden_.width);
  const std::vector<std::vector<float>> states = States(*engine);
  double difference = 0;
  for (size_t i = 0; i < states.size(); ++i) {
    difference = std::max(difference, MaxDifference(states[i], Unit(Recorded(i))));
  }
  // A text as a whole, in all ways: also of the states that were recorded.
  const size_t length = golden_.tokens.size();
  engine::Pooler mean(Pooling::kMean);
  for (size_t i = 0; i < length; ++i) mean.Take(Recorded(i));
  const auto compare = [&](Pooling pooling, const std::vector<float>& expected) {
    difference = std::max(difference, MaxDifference(Embed(*engine, length, pooling), expected));
  };
  compare(Pooling::kFirst, Unit(Recorded(0)));
  compare(Pooling::kLast, Unit(Recorded(length - 1)));
  compare(Pooling::kMean, *mean.Embedding());
  std::printf("%s: largest embedding difference %.2e\n", GetParam().c_str(), difference);
  EXPECT_LE(difference, 1e-5);
  // The engine's own pooling, with the roundings of its GELU.
  const std::vector<float> pooled = Embed(*engine, length, *model_->info().pooling);
  EXPECT_LE(MaxDifference(pooled, Unit(golden_.pooled)), 1e-3);
}
INSTANTIATE_TEST_SUITE_P(LargeAlone, EmbeddingFamiliesSharedData,
                         testing::Values("bert", "gemma-embedding", "jina-bert-v2", "modern-bert",
                                         "nomic-bert", "nomic-bert-moe", "qwen3-embedding"),
                         TestName);

class QuantizedSharedData : public testing::TestWithParam<std::string> {};
TEST_P(QuantizedSharedData, LosesAtMostAQuarterMoreThanTheRecordedEngine) {
  CheckQuantized(SharedFolders(GetParam()), GetParam());
}
INSTANTIATE_TEST_SUITE_P(Large, QuantizedSharedData,
                         testing::Values("llama-k-F16", "llama-k-BF16", "llama-k-Q8_0",
                                         "llama-k-Q4_0", "llama-k-Q4_1", "llama-k-Q5_0",
                                         "llama-k-Q5_1", "llama-k-Q2_K", "llama-k-Q3_K_M",
                                         "llama-k-Q4_K_M", "llama-k-Q5_K_M", "llama-k-Q6_K",
                                         "llama-k-IQ4_NL", "llama-k-IQ4_XS", "gpt-oss-mxfp4",
                                         "llama-k-IQ3_S", "llama-k-IQ3_XXS", "llama-k-IQ2_S",
                                         "llama-k-IQ2_XS", "llama-k-IQ2_XXS", "llama-k-IQ1_M",
                                         "llama-k-IQ1_S", "llama-k-TQ2_0", "llama-k-TQ1_0",
                                         "llama-k-Q1_0", "llama-k-Q2_0"),
                         TestName);

}  // namespace

// Takes the option of this program; what is left must be GoogleTest's.
void TakeOptions(std::span<char*> arguments) {
  constexpr std::string_view kNumbers = "--golden-numbers=";
  for (const std::string_view argument : arguments) {
    if (argument.starts_with(kNumbers)) {
      Compact::folders.numbers = argument.substr(kNumbers.size());
    }
  }
}

}  // namespace skald::golden

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  skald::golden::TakeOptions({argv, static_cast<size_t>(argc)});
  return RUN_ALL_TESTS();
}
