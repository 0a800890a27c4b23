#include "skald/plan.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "engine/model_network.h"
#include "ranks/exchange.h"
#include "skald/model.h"

namespace skald {
namespace {

constexpr int64_t kGiga = 1'000'000'000;

TEST(RequestsThatFit, IsTheMostWhoseEngineFits) {
  for (const char* name : {"llama-3-8b", "qwen3.6-35b-a3b", "gpt-oss-20b"}) {
    const ModelShape shape = *NamedModelShape(name, {.weights = "Q4_K_M"});
    for (const int64_t memory : {30 * kGiga, 80 * kGiga}) {
      EngineOptions options = {.context = 1000, .threads = 1};
      const int64_t fit = *RequestsThatFit(shape, options, memory);
      ASSERT_GT(fit, 10) << name;
      options.state_memory = 0;
      const auto bytes = [&](int64_t requests) {
        options.max_running = requests;
        options.kv_positions = requests * 1024;  // 1,000 positions take 32 pages of 32
        return PlanEngine(shape, options)->memory.total();
      };
      EXPECT_LE(bytes(fit), memory) << name;
      EXPECT_GT(bytes(fit + 1), memory) << name;
    }
  }
}

TEST(RequestsThatFit, IsNoneWhereTheWeightsAloneAreTooMuch) {
  const ModelShape shape = *NamedModelShape("llama-3-70b");
  EXPECT_EQ(*RequestsThatFit(shape, {.threads = 1}, 80 * kGiga), 0);
  EXPECT_EQ(*RequestsThatFit(shape, {.threads = 1}, 0), 0);
  EXPECT_FALSE(RequestsThatFit(shape, {.context = -1}, 80 * kGiga).ok());
}

TEST(ForecastOf, IsTheBoundByTheShare) {
  const ModelShape shape = *NamedModelShape("llama-3-8b");
  Machine machine = *NamedMachine("h100");
  const BenchCase decode = {.decode_tokens = 1, .batch = 4, .depth = 100};
  const Forecast least = *ForecastOf(shape, {.threads = 1}, machine, decode);
  EXPECT_EQ(least.seconds, least.bound.seconds);
  EXPECT_EQ(least.bound.resource, Resource::kMemory);
  EXPECT_EQ(least.tokens_per_second, 4 / least.seconds);
  machine.memory_share = 0.5;
  machine.arithmetic_share = 0.25;
  const double attention = least.attention_macs / machine.ceilings.float_macs_per_second;
  EXPECT_NEAR(ForecastOf(shape, {.threads = 1}, machine, decode)->seconds,
              2 * least.seconds + attention, 0.01 * least.seconds);
  const Forecast prefill = *ForecastOf(shape, {.threads = 1}, machine, {.prompt_tokens = 2048});
  const double reading = prefill.work.bytes / machine.ceilings.read_bytes_per_second;
  EXPECT_NEAR(prefill.seconds,
              std::hypot(4 * BoundOf(prefill.work, machine.ceilings).seconds, 2 * reading), 1e-9);
  EXPECT_EQ(prefill.bound.resource, Resource::kBFloat16);
}

// Near the ridge a step waits for both, so it is slower than either alone would make it.
TEST(ForecastOf, NearTheRidgeReadingAndArithmeticOverlapInPart) {
  const ModelShape shape = *NamedModelShape("llama-3-8b");
  Machine machine = *NamedMachine("h100");
  const BenchCase decode = {.decode_tokens = 1, .batch = 64};
  const Forecast bound = *ForecastOf(shape, {.threads = 1}, machine, decode);
  ASSERT_EQ(bound.bound.resource, Resource::kMemory);
  const double reading = bound.bound.seconds;
  BenchWork work = bound.work;
  work.bytes = 0;
  const double arithmetic = BoundOf(work, machine.ceilings).seconds;
  machine.memory_share = 0.9;
  machine.arithmetic_share = 0.9 * arithmetic / reading;  // as long as reading
  const Forecast forecast = *ForecastOf(shape, {.threads = 1}, machine, decode);
  EXPECT_NEAR(forecast.seconds, std::sqrt(2) * reading / 0.9, 1e-9 * reading);
  machine.arithmetic_share = 1e-3 * arithmetic / reading;  // far from it arithmetic is all
  EXPECT_NEAR(ForecastOf(shape, {.threads = 1}, machine, decode)->seconds, 1e3 * reading,
              1e-3 * reading);
}

// A row attends to what stands before it: head by head, a product with each key and each value.
TEST(ForecastOf, DepthAddsAttention) {
  const ModelShape shape = *NamedModelShape("llama-3-8b");
  const Machine machine = *NamedMachine("xeon6");
  const auto macs = [&](int64_t depth) {
    return ForecastOf(shape, {.threads = 1}, machine, {.decode_tokens = 1, .depth = depth})
        ->attention_macs;
  };
  EXPECT_EQ(macs(1000) - macs(0), 1000.0 * 32 * 32 * 2 * 128);
  const auto seconds = [&](int64_t depth) {
    return ForecastOf(shape, {.threads = 1}, machine, {.prompt_tokens = 512, .depth = depth})
        ->seconds;
  };
  EXPECT_GT(seconds(8000), 1.5 * seconds(0));
}

ModelShape PartOf(const std::string& name, int rank, int ranks) {
  return *ReadModelShape(SKALD_GOLDEN_MODELS "/" + name + ".gguf", {.ranks = ranks, .rank = rank});
}

// Of each kind of block: what an engine of the split model takes.
TEST(PlanRank, AddsUpToTheEngineOfAllRanks) {
  for (const std::string name : {"llama", "deepseek2", "lfm2", "qwen35", "qwen3moe"}) {
    const std::string path = SKALD_GOLDEN_MODELS "/" + name + ".gguf";
    const EngineOptions options = {.context = 100, .threads = 4};
    const Result<Model> model = LoadModel({.path = path, .threads = 1, .ranks = 2});
    ASSERT_TRUE(model.ok()) << model.status().message();
    const ModelShape whole = *ReadModelShape(path);
    EngineMemory sum;
    for (const int rank : {0, 1}) {
      sum += PlanRank(whole, PartOf(name, rank, 2), options)->memory;
    }
    EXPECT_EQ(sum, Engine::Plan(*model, options)->memory) << name;
    EXPECT_EQ(sum.weights, model->info().weight_bytes) << name;
  }
}

// Counts what a rank is asked to exchange, and brings nothing.
class CountingExchange final : public ranks::Exchange {
 public:
  void Gather(const ranks::Columns& own) override {
    ++gathers;
    given += own.row_count * own.count * own.runs;
  }
  void GatherToFirst(const ranks::Columns& own) override { Gather(own); }

  int64_t gathers = 0;
  int64_t given = 0;
};

// A step of one row, of rank `rank`.
CountingExchange Exchanged(const Model& model, size_t rank) {
  CountingExchange exchange;
  const EngineOptions options = {.context = 32, .max_chunk = 1, .threads = 1, .max_running = 1};
  const auto resolved = *engine::Resolve(options, model.transformer().network());
  const auto network =
      *engine::ModelNetwork::Create(model.parts()[rank], resolved, nullptr, &exchange);
  const std::vector<TokenId> tokens = {3};
  const std::vector<kv::PageId> pages = {0};
  model::SequenceRows sequence;
  sequence.row_count = 1;
  sequence.pages.full = pages;
  sequence.pages.window = pages;
  sequence.state = 0;
  const std::vector<model::SequenceRows> sequences = {sequence};
  const std::vector<int32_t> logits = {0};
  network->Forward({.tokens = tokens, .sequences = sequences, .logit_rows = logits});
  return exchange;
}

// What one rank receives, the others have given. Those that a rank has all of are no gathers of
// its own: the first has all of nothing.
TEST(ForecastOf, CountsWhatAForwardPassExchanges) {
  const Machine machine = *NamedMachine("xeon6");
  for (const std::string name : {"llama", "deepseek2", "lfm2", "qwen35", "qwen3moe", "internlm2"}) {
    const std::string path = SKALD_GOLDEN_MODELS "/" + name + ".gguf";
    const Result<Model> model = LoadModel({.path = path, .threads = 1, .ranks = 2});
    ASSERT_TRUE(model.ok()) << model.status().message();
    const Forecast forecast = *ForecastOf(PartOf(name, 0, 2), {.max_chunk = 1, .threads = 1},
                                          machine, {.decode_tokens = 1});
    EXPECT_EQ(forecast.gathers, Exchanged(*model, 0).gathers) << name;
    EXPECT_EQ(forecast.gathered_bytes,
              static_cast<double>(Exchanged(*model, 1).given * int64_t{sizeof(float)}))
        << name;
  }
}

// The figures of docs/plan.md: 4 gathers a layer and the logits; half of all columns, of which what
// goes into a matrix comes as bfloat16, as the matrices of this shape are.
TEST(ExchangeSeconds, IsMessagesAndBytes) {
  const ModelShape part = *NamedModelShape("llama-3-8b", {.ranks = 2});
  const Machine machine = *NamedMachine("xeon6");
  const Forecast forecast = *ForecastOf(part, {.threads = 1}, machine, {.decode_tokens = 1});
  EXPECT_EQ(forecast.gathers, 32 * 4 + 1);
  EXPECT_EQ(forecast.gathered_bytes,
            (32 * 2 * 4096 + 128256) / 2 * 4 + 32 * (4096 + 14336) / 2 * 2);
  const RankLink link = {"", 1e-3, 1e6};
  EXPECT_EQ(ExchangeSeconds(forecast, 2, link), 0.129 + forecast.gathered_bytes / 1e6);
  EXPECT_EQ(ExchangeSeconds(forecast, 4, link), 0.258 + forecast.gathered_bytes / 1e6);
  EXPECT_FALSE(NamedModelShape("llama-3-8b", {.ranks = 2, .rank = 2}).ok());
  EXPECT_EQ(NamedModelShape("llama-3-8b", {.ranks = 33}).status().message(),
            "layer 0: 33 ranks share 32 heads, 4 of a KV head: expected fewer ranks");
}

TEST(ForecastOf, RefusesCasesThatAreNone) {
  const ModelShape shape = *NamedModelShape("gpt2");
  const Machine machine = *NamedMachine("h100");
  constexpr int64_t kHuge = int64_t{1} << 62;
  for (const BenchCase& wanted :
       {BenchCase{}, BenchCase{.prompt_tokens = -1}, BenchCase{.prompt_tokens = kHuge},
        BenchCase{.decode_tokens = 1, .batch = 0}, BenchCase{.decode_tokens = 1, .batch = kHuge},
        BenchCase{.decode_tokens = 1, .depth = kHuge},
        BenchCase{.prompt_tokens = 1 << 16, .batch = 1 << 16}}) {
    const Result<Forecast> forecast = ForecastOf(shape, {.threads = 1}, machine, wanted);
    ASSERT_FALSE(forecast.ok());
    EXPECT_EQ(forecast.status().code(), ErrorCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace skald
