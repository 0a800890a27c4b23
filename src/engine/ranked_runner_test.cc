#include "engine/ranked_runner.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "engine/rank_cases_for_test.h"
#include "model/transformer.h"
#include "skald/engine.h"
#include "skald/model.h"
#include "support/shared_data.h"

namespace skald {
namespace {

namespace fs = std::filesystem;
using engine::LogitsOf;
using engine::PathOf;
using engine::RankOptions;
using engine::ServedBy;

Model Load(const std::string& name, int ranks) {
  Result<Model> model = LoadModel({.path = PathOf(name), .threads = 1, .ranks = ranks});
  EXPECT_TRUE(model.ok()) << model.status().message();
  return *std::move(model);
}

// The golden models that generate, of some of which the type of the weights is all that matters.
struct Names {
  std::vector<std::string> families;
  std::vector<std::string> types;
};

Names Generating() {
  Names names;
  for (const fs::directory_entry& entry : fs::directory_iterator(SKALD_GOLDEN_MODELS)) {
    if (entry.path().extension() != ".gguf") continue;
    const Result<ModelDescription> model = DescribeModel(entry.path().string());
    if (!model.ok() || !model->info.generates) continue;
    const std::string name = entry.path().stem().string();
    (name.starts_with("llama-k-") ? names.types : names.families).push_back(name);
  }
  return names;
}

// Why a model cannot be split; nothing if it can be, and then the bits are those of one rank.
std::string Refusal(const std::string& name, int ranks, const std::vector<float>& expected) {
  const Result<Model> split = LoadModel({.path = PathOf(name), .threads = 1, .ranks = ranks});
  if (!split.ok()) {
    EXPECT_EQ(split.status().code(), ErrorCode::kUnsupported);
    return split.status().message().substr(PathOf(name).size() + 2);
  }
  EXPECT_EQ(LogitsOf(*split, RankOptions(ranks == 2 ? 4 : 1)), expected) << name << ", " << ranks;
  return "";
}

// Promise 1 over ranks: heads that divide evenly or do not, more ranks than KV heads, mixtures.
TEST(RankedRunner, GivesTheBitsOfOneRank) {
  std::map<std::string, std::string> refused;
  for (const std::string& name : Generating().families) {
    const std::vector<float> expected = LogitsOf(Load(name, 1), RankOptions(1));
    for (const int ranks : {2, 3, 4}) {
      const std::string why = Refusal(name, ranks, expected);
      if (!why.empty()) refused[name + ", " + std::to_string(ranks)] = why;
    }
  }
  const auto number = [](const std::string& heads, int ranks) {
    return "layer 0: " + std::to_string(ranks) + " ranks share " + heads +
           " of a KV head: expected fewer ranks";
  };
  const std::map<std::string, std::string> known = {{"internlm2, 4", number("3 heads, 3", 4)},
                                                    {"smollm3, 3", number("2 heads, 2", 3)},
                                                    {"smollm3, 4", number("2 heads, 2", 4)}};
  EXPECT_EQ(refused, known);
}

// And for each type of weights; a rank has no weights twice but those of the embedding.
TEST(RankedRunner, GivesTheBitsOfOneRankForEachTypeOfWeights) {
  const std::vector<std::string> types = Generating().types;
  EXPECT_GT(types.size(), 15u);
  for (const std::string& name : types) {
    const Model whole = Load(name, 1);
    EXPECT_EQ(Refusal(name, 2, LogitsOf(whole, RankOptions(1))), "");
    const kernels::PackedMatrix& embedding = whole.transformer().network().embedding;
    EXPECT_EQ(Load(name, 2).info().weight_bytes,
              whole.info().weight_bytes + embedding.panel_count() * embedding.panel_bytes())
        << name;
  }
}

// What the small models have not: shared experts, a feed-forward beside a mixture, experts with
// biases and heads with sinks, norms of rows and of each head, factors of logits.
TEST(RankedRunnerSharedData, GivesTheBitsOfOneRank) {
  for (const char* name :
       {"dots1", "gemma4-moe", "gpt-oss", "olmoe", "stablelm-parallel", "granite"}) {
    const std::string path = support::SharedData("golden/families/" + std::string(name) + ".gguf");
    EXPECT_EQ(Refusal(path, 2, LogitsOf(Load(path, 1), RankOptions(1))), "") << name;
  }
}

// Types of keys and values.
TEST(RankedRunner, GivesTheBitsOfOneRankForEachTypeOfKeysAndValues) {
  const Model whole = Load("llama", 1);
  const Model split = Load("llama", 2);
  using enum KvCacheType;
  for (const KvCacheTypes types : {KvCacheTypes(kF32), KvCacheTypes(kBF16), KvCacheTypes(kQ8),
                                   KvCacheTypes(kQ4), KvCacheTypes(kQ8, kF16)}) {
    EngineOptions options = RankOptions(1);
    options.kv_types = types;
    EXPECT_EQ(LogitsOf(split, options), LogitsOf(whole, options));
  }
}

void ExpectServedAsByOne(const std::string& name, const EngineOptions& options) {
  EXPECT_EQ(ServedBy(Load(name, 2), options), ServedBy(Load(name, 1), options)) << name;
}

// Forks that share pages and copy them, and states; beams; or guesses, of which some are dropped.
TEST(RankedRunner, ServesAnEngineAsOneRankDoes) {
  const EngineOptions plain = {.context = 128,
                               .max_chunk = 16,
                               .threads = 2,
                               .kv_types = {KvCacheType::kQ8},
                               .kv_positions = 512};
  ExpectServedAsByOne("qwen3moe", plain);
  EngineOptions guessing = plain;
  guessing.speculation = {.kind = Speculation::kNgram, .min_draft = 3};
  ExpectServedAsByOne("qwen35", guessing);
  guessing.speculation = {.kind = Speculation::kDraft, .draft = Load("llama", 1), .min_draft = 2};
  ExpectServedAsByOne("llama", guessing);
}

// Encoders, whose rows see those behind them, and the heads of models that rank.
TEST(RankedRunner, EmbedsAndScoresAsOneRankDoes) {
  Request request = {.prompt = {2, 5, 9, 4, 7, 3}};
  for (const std::string name : {"bert", "bert-rank", "qwen3-rank"}) {
    std::vector<float> expected;
    for (const int ranks : {1, 2, 3}) {
      const Model model = Load(name, ranks);
      Result<Engine> engine = Engine::Create(model, RankOptions(1));
      ASSERT_TRUE(engine.ok()) << engine.status().message();
      request.score = model.info().rank_pooling.has_value();
      request.pooling = model.info().rank_pooling.value_or(Pooling::kMean);
      const Result<Embedding> embedding = engine->Embed(request);
      ASSERT_TRUE(embedding.ok()) << embedding.status().message();
      if (ranks == 1) expected = embedding->values;
      EXPECT_EQ(embedding->values, expected) << name << ", " << ranks;
    }
  }
}

}  // namespace
}  // namespace skald
