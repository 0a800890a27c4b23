#include "engine/group_runner.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "engine/rank_cases_for_test.h"
#include "engine/rank_workers_for_test.h"
#include "load/open_model.h"
#include "skald/disk_cache.h"
#include "skald/engine.h"
#include "skald/model.h"
#include "support/shared_data.h"

namespace skald {
namespace {

namespace fs = std::filesystem;
using engine::LogitsOf;
using engine::PathOf;
using engine::RankOptions;
using engine::RankWorkers;
using engine::ServedBy;
using engine::TryLogitsOf;

using Over = RankWorkers::Over;

Model LoadAlone(const std::string& name) {
  return *LoadModel({.path = PathOf(name), .threads = 1});
}

Model LoadWith(const RankWorkers& workers, const std::string& name) {
  Result<Model> model = LoadModel({.path = PathOf(name), .threads = 1, .group = workers.group()});
  EXPECT_TRUE(model.ok()) << model.status().message();
  return *std::move(model);
}

// Promise 1 over ranks that know each other by sockets and shared memory alone.
void ExpectTheBitsOfOne(const std::string& name, int count, const EngineOptions& options,
                        Over over = Over::kMemory) {
  const RankWorkers workers({.count = count, .verify_steps = 2, .over = over});
  EXPECT_EQ(LogitsOf(LoadWith(workers, name), options), LogitsOf(LoadAlone(name), options))
      << name << ", " << count << (over == Over::kTcp ? " over TCP" : "");
}

TEST(GroupRunner, GivesTheBitsOfOneRank) {
  // Heads that divide and do not, states, latents, a mixture, panels of quantized weights.
  for (const char* name :
       {"llama", "qwen2", "qwen35", "deepseek2", "qwen3moe", "lfm2", "llama-k-Q4_K_M"}) {
    ExpectTheBitsOfOne(name, 2, RankOptions(2));
  }
  for (const int count : {3, 4}) ExpectTheBitsOfOne("llama", count, RankOptions(1));
}

TEST(GroupRunner, GivesTheBitsOfOneRankOverTcp) {
  for (const char* name : {"llama", "qwen35", "deepseek2", "qwen3moe", "llama-k-Q4_K_M"}) {
    ExpectTheBitsOfOne(name, 2, RankOptions(2), Over::kTcp);
  }
  for (const int count : {3, 4}) ExpectTheBitsOfOne("llama", count, RankOptions(1), Over::kTcp);
}

TEST(GroupRunner, RefusesToWaitForWhoCannotCome) {
  const RankHost good = {.address = "127.0.0.1:0", .key = "of a test", .count = 2};
  for (const RankHost& host :
       {RankHost{.address = "here", .key = good.key}, RankHost{.address = good.address, .key = ""},
        RankHost{.address = good.address, .key = good.key, .count = 1},
        RankHost{.address = good.address, .key = good.key, .count = 65}}) {
    EXPECT_EQ(HostRanks(host).status().code(), ErrorCode::kInvalidArgument);
  }
}

TEST(GroupRunner, GivesTheBitsOfOneRankForEachTypeOfKeysAndValues) {
  const RankWorkers workers({});
  const Model split = LoadWith(workers, "llama");
  const Model whole = LoadAlone("llama");
  using enum KvCacheType;
  for (const KvCacheTypes types :
       {KvCacheTypes(kF32), KvCacheTypes(kBF16), KvCacheTypes(kQ8, kF16), KvCacheTypes(kQ4)}) {
    EngineOptions options = RankOptions(1);
    options.kv_types = types;
    EXPECT_EQ(LogitsOf(split, options), LogitsOf(whole, options));
  }
}

// All models with all numbers of ranks.
TEST(GroupRunnerSharedData, GivesTheBitsOfOneRank) {
  for (const fs::directory_entry& entry : fs::directory_iterator(SKALD_GOLDEN_MODELS)) {
    const std::string path = entry.path().string();
    const Result<ModelDescription> model = DescribeModel(path);
    if (!model.ok() || !model->info.generates) continue;
    for (const int count : {2, 3, 4}) {
      // Who cannot be split is refused; that is of ranked_runner_test.
      if (!LoadModel({.path = path, .threads = 1, .ranks = count}).ok()) continue;
      for (const Over over : {Over::kMemory, Over::kTcp}) {
        ExpectTheBitsOfOne(path, count, RankOptions(1), over);
      }
    }
  }
  // Windows, which the small models have not.
  for (const char* name : {"gemma4-moe", "gpt-oss"}) {
    ExpectTheBitsOfOne(support::SharedData("golden/families/" + std::string(name) + ".gguf"), 2,
                       RankOptions(1));
  }
}

// Every instruction set.
TEST(GroupRunner, GivesTheSameBitsWithEveryInstructionSet) {
  const RankWorkers workers({});
  const Model split = LoadWith(workers, "llama");
  const std::vector<float> expected = LogitsOf(LoadAlone("llama"), RankOptions(1));
  for (const InstructionSet& set : InstructionSets()) {
    if (!set.supported) continue;
    EngineOptions options = RankOptions(1);
    options.isa = set.name;
    EXPECT_EQ(LogitsOf(split, options), expected) << set.name;
  }
}

TEST(GroupRunner, ServesAnEngineAsOneRankDoes) {
  const EngineOptions plain = {.context = 128,
                               .max_chunk = 16,
                               .threads = 2,
                               .kv_types = {KvCacheType::kQ8},
                               .kv_positions = 512};
  EngineOptions guessing = plain;
  guessing.speculation = {.kind = Speculation::kDraft, .draft = LoadAlone("llama"), .min_draft = 2};
  for (const auto& [name, options] :
       {std::pair("qwen3moe", plain), std::pair("qwen35", plain), std::pair("llama", guessing)}) {
    const RankWorkers workers({});
    EXPECT_EQ(ServedBy(LoadWith(workers, name), options), ServedBy(LoadAlone(name), options))
        << name;
  }
}

TEST(GroupRunner, EmbedsAndScoresAsOneRankDoes) {
  for (const std::string name : {"bert", "qwen3-rank"}) {
    const auto embedded = [&](const Model& model) {
      Result<Engine> engine = Engine::Create(model, RankOptions(1));
      EXPECT_TRUE(engine.ok()) << engine.status().message();
      Request request = {.prompt = {2, 5, 9, 4, 7, 3}};
      request.score = model.info().rank_pooling.has_value();
      request.pooling = model.info().rank_pooling.value_or(Pooling::kMean);
      return engine->Embed(request)->values;
    };
    const RankWorkers workers({});
    EXPECT_EQ(embedded(LoadWith(workers, name)), embedded(LoadAlone(name))) << name;
  }
}

// Two engines of one model at once: each step of each is one turn.
TEST(GroupRunner, ServesEnginesSideBySide) {
  const EngineOptions options = {
      .context = 128, .max_chunk = 16, .threads = 1, .kv_positions = 512};
  const auto expected = ServedBy(LoadAlone("llama"), options);
  const RankWorkers workers({});
  const Model model = LoadWith(workers, "llama");
  std::vector<std::vector<TokenId>> other;
  std::thread thread([&] { other = ServedBy(model, options); });
  EXPECT_EQ(ServedBy(model, options), expected);
  thread.join();
  EXPECT_EQ(other, expected);
}

// Pages, window pages and states of all ranks go to a folder and come back from it.
TEST(GroupRunner, KeepsPagesOnDisk) {
  for (const std::string name : {"llama", "qwen35", "gemma3"}) {
    const fs::path folder = fs::path(testing::TempDir()) / ("skald_group_" + name);
    fs::remove_all(folder);
    std::vector<TokenId> expected;
    for (int start = 0; start < 2; ++start) {
      // Windows have pages of their own where they need fewer.
      EngineOptions options = {.context = 1024, .max_chunk = 16, .threads = 1, .max_running = 1};
      options.disk = *DiskCache::Open(folder.string(), int64_t{64} << 20);
      Request request = {.prompt = {}, .stop = {.max_tokens = 8, .ignore_eos = true}};
      for (TokenId i = 0; i < 70; ++i) request.prompt.push_back(3 + i % 7);
      const RankWorkers workers({});
      const Model model = LoadWith(workers, name);
      Result<Engine> engine = Engine::Create(model, options);
      ASSERT_TRUE(engine.ok()) << engine.status().message();
      const auto done = engine->Generate(request, [](const TokenEvent&) { return true; });
      ASSERT_TRUE(done.ok()) << done.status().message();
      if (start == 0) expected = done->tokens;
      EXPECT_EQ(done->tokens, expected) << name;
      EXPECT_EQ(done->cached_tokens > 0, start == 1) << name;
      EXPECT_EQ(engine->Stats().window_pages_total > 0, name == "gemma3");
    }
    fs::remove_all(folder);
  }
}

// What every rank has alone counts: of two with the weights of the embedding twice.
TEST(GroupRunner, ReadsItsPartOnly) {
  const RankWorkers workers({});
  const Model split = LoadWith(workers, "llama-k-Q8_0");
  ASSERT_EQ(split.parts().size(), 2u);
  const auto packed = [&](size_t rank) { return split.parts()[rank].network().embedding.panels; };
  EXPECT_NE(packed(0), nullptr);
  EXPECT_EQ(packed(1), nullptr);
  const Model threads = *LoadModel({.path = PathOf("llama-k-Q8_0"), .threads = 1, .ranks = 2});
  EXPECT_EQ(split.info().weight_bytes, threads.info().weight_bytes);
}

// A rank that is gone in the middle: an error for everybody, and no token of that step.
TEST(GroupRunner, EndsEveryRequestWhenARankIsGone) {
  RankWorkers workers({});
  const Model model = LoadWith(workers, "llama");
  Result<Engine> engine = Engine::Create(model, {.context = 128, .threads = 1});
  ASSERT_TRUE(engine.ok());
  Request request = {.prompt = {3, 4, 5}, .stop = {.max_tokens = 100, .ignore_eos = true}};
  const auto alone = Engine::Create(LoadAlone("llama"), {.context = 128, .threads = 1})
                         ->Generate(request, [](const TokenEvent&) { return true; });
  std::vector<TokenId> told;
  const auto done = engine->Generate(request, [&](const TokenEvent& event) {
    if (event.token != kNoToken) told.push_back(event.token);
    if (told.size() == 5) workers.Cut(1);
    return true;
  });
  EXPECT_EQ(done.status().code(), ErrorCode::kUnavailable);
  EXPECT_NE(done.status().message().find("rank 1 of 2"), std::string::npos)
      << done.status().message();
  ASSERT_LT(told.size(), 100u);
  EXPECT_TRUE(std::equal(told.begin(), told.end(), alone->tokens.begin()));
  // And from then on.
  const auto again = engine->Generate(request, [](const TokenEvent&) { return true; });
  EXPECT_EQ(again.status().code(), ErrorCode::kUnavailable);
  EXPECT_EQ(TryLogitsOf(model, RankOptions(1)).status().code(), ErrorCode::kUnavailable);
}

// And no page of it goes to a folder: what a gone rank should have given is not there.
TEST(GroupRunner, KeepsNothingOnDiskWhenARankIsGone) {
  const fs::path folder = fs::path(testing::TempDir()) / "skald_group_gone";
  fs::remove_all(folder);
  Request request = {.prompt = {}, .stop = {.max_tokens = 8, .ignore_eos = true}};
  for (TokenId i = 0; i < 70; ++i) request.prompt.push_back(3 + i % 7);
  for (int start = 0; start < 2; ++start) {
    EngineOptions options = {.context = 256, .max_chunk = 16, .threads = 1};
    options.disk = *DiskCache::Open(folder.string(), int64_t{64} << 20);
    RankWorkers workers({});
    const Model model = LoadWith(workers, "llama");
    Result<Engine> engine = Engine::Create(model, options);
    ASSERT_TRUE(engine.ok()) << engine.status().message();
    const auto done = engine->Generate(request, [](const TokenEvent&) { return true; });
    ASSERT_TRUE(done.ok()) << done.status().message();
    EXPECT_EQ(done->cached_tokens, 0);
    if (start == 0) workers.Cut(1);  // before the engine ends and gives its pages to the folder
  }
  fs::remove_all(folder);
}

// A copy in which one byte of the embedding of a token is another, where the identity of a model
// does not look.
std::string CopyWithAFault(const std::string& name, TokenId token) {
  const formats::TensorInfo* tensor = nullptr;
  const auto file = *load::OpenModelFile(PathOf(name));
  tensor = file->tensors().Find("token_embd.weight");
  std::ifstream in(PathOf(name), std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), {});
  const uint64_t at = static_cast<uint64_t>(token) * tensor->row_bytes() + 2;
  bytes[tensor->offset + at] = static_cast<char>(bytes[tensor->offset + at] ^ 0x40);
  const std::string path = testing::TempDir() + "/skald_group_fault.gguf";
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

// Memory that fails under one rank: what all have computed is compared.
TEST(GroupRunner, FindsARankThatComputesOtherwise) {
  constexpr TokenId kToken = 28;  // the fifth of the text: row 28 is behind what identity looks at
  const std::string fault = CopyWithAFault("llama", kToken);
  ASSERT_EQ(LoadModel({.path = fault})->info().identity, LoadAlone("llama").info().identity);
  for (const int64_t steps : {0, 1}) {
    const RankWorkers workers({.path = fault, .verify_steps = steps});
    const auto logits = TryLogitsOf(LoadWith(workers, "llama"), RankOptions(1));
    EXPECT_EQ(logits.ok(), steps == 0);
    if (steps == 0) continue;
    EXPECT_NE(logits.status().message().find("it computes other numbers than the first rank"),
              std::string::npos)
        << logits.status().message();
  }
}

// Another model is refused before anything is computed.
TEST(GroupRunner, RefusesAnotherModel) {
  const RankWorkers workers({.path = PathOf("qwen3")});
  const Result<Model> model =
      LoadModel({.path = PathOf("llama"), .threads = 1, .group = workers.group()});
  EXPECT_EQ(model.status().code(), ErrorCode::kBadModel);
  EXPECT_NE(model.status().message().find("found another model there than here"), std::string::npos)
      << model.status().message();
}

TEST(GroupRunner, TellsWhatARankCannotLoad) {
  const RankWorkers workers({.path = "/no/such/model.gguf"});
  const Result<Model> model =
      LoadModel({.path = PathOf("llama"), .threads = 1, .group = workers.group()});
  EXPECT_EQ(model.status().code(), ErrorCode::kNotFound);
  EXPECT_NE(model.status().message().find("rank 1 of 2"), std::string::npos)
      << model.status().message();
}

}  // namespace
}  // namespace skald
