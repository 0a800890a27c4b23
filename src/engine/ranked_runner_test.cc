#include "engine/ranked_runner.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "model/transformer.h"
#include "skald/engine.h"
#include "skald/logits.h"
#include "skald/model.h"
#include "support/shared_data.h"

namespace skald {
namespace {

namespace fs = std::filesystem;

std::string PathOf(const std::string& name) {
  return name.starts_with('/') ? name : SKALD_GOLDEN_MODELS "/" + name + ".gguf";
}

Model Load(const std::string& name, int ranks) {
  Result<Model> model = LoadModel({.path = PathOf(name), .threads = 1, .ranks = ranks});
  EXPECT_TRUE(model.ok()) << model.status().message();
  return *std::move(model);
}

// Of 72 tokens, the last ones in a step of 64.
std::vector<float> LogitsOf(const Model& model, const EngineOptions& options) {
  Result<LogitsSession> session = LogitsSession::Create(model, options);
  EXPECT_TRUE(session.ok()) << session.status().message();
  std::vector<TokenId> tokens;
  for (int64_t i = 0; i < 72; ++i) {
    tokens.push_back(static_cast<TokenId>((i * i + 3) % model.info().vocab_size));
  }
  const std::vector<int64_t> chunks = {1, 7, 64};
  std::vector<float> all;
  const Status status = session->Compute(tokens, chunks, [&](std::span<const float> row) {
    all.insert(all.end(), row.begin(), row.end());
    return Ok();
  });
  EXPECT_TRUE(status.ok()) << status.message();
  return all;
}

EngineOptions Options(int threads) { return {.context = 80, .max_chunk = 64, .threads = threads}; }

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
  EXPECT_EQ(LogitsOf(*split, Options(ranks == 2 ? 4 : 1)), expected) << name << ", " << ranks;
  return "";
}

// Promise 1 over ranks: heads that divide evenly or do not, more ranks than KV heads, mixtures.
TEST(RankedRunner, GivesTheBitsOfOneRank) {
  std::map<std::string, std::string> refused;
  for (const std::string& name : Generating().families) {
    const std::vector<float> expected = LogitsOf(Load(name, 1), Options(1));
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
    EXPECT_EQ(Refusal(name, 2, LogitsOf(whole, Options(1))), "");
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
    EXPECT_EQ(Refusal(path, 2, LogitsOf(Load(path, 1), Options(1))), "") << name;
  }
}

// Types of keys and values.
TEST(RankedRunner, GivesTheBitsOfOneRankForEachTypeOfKeysAndValues) {
  const Model whole = Load("llama", 1);
  const Model split = Load("llama", 2);
  using enum KvCacheType;
  for (const KvCacheTypes types : {KvCacheTypes(kF32), KvCacheTypes(kBF16), KvCacheTypes(kQ8),
                                   KvCacheTypes(kQ4), KvCacheTypes(kQ8, kF16)}) {
    EngineOptions options = Options(1);
    options.kv_types = types;
    EXPECT_EQ(LogitsOf(split, options), LogitsOf(whole, options));
  }
}

// What an engine does beside Forward: forks that share pages and copy them, and states; beams;
// or guesses, of which some are dropped; one request behind the other, and sizes as planned.
void ExpectServedAsByOne(const std::string& name, const EngineOptions& options) {
  Request request;
  for (TokenId i = 0; i < 40; ++i) request.prompt.push_back(3 + i % 7);
  request.sampling.temperature = 1;
  request.sampling.seed = 5;
  request.n = 3;
  request.stop = {.max_tokens = 12, .ignore_eos = true};
  Request beams = request;
  beams.n = 1;
  beams.sampling = {};
  beams.beam_search.beams = 3;
  std::vector<std::vector<TokenId>> expected;
  for (const int ranks : {1, 2}) {
    const Model model = Load(name, ranks);
    Result<Engine> engine = Engine::Create(model, options);
    ASSERT_TRUE(engine.ok()) << engine.status().message();
    EXPECT_EQ(engine->memory(), Engine::Plan(model, options)->memory);
    std::vector<std::vector<TokenId>> found;
    // There are no beams of models with states.
    const bool all = options.speculation.kind == Speculation::kOff;
    for (const Request& each : all ? std::vector{request, beams, request} : std::vector{request}) {
      const auto done = engine->Generate(each, [](const TokenEvent&) { return true; });
      ASSERT_TRUE(done.ok()) << done.status().message();
      found.push_back(done->tokens);
      for (const auto& other : done->others) found.push_back(other.tokens);
    }
    if (ranks == 1) expected = found;
    EXPECT_EQ(found, expected) << name;
  }
}

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
      Result<Engine> engine = Engine::Create(model, Options(1));
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
