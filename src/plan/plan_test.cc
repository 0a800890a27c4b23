#include "skald/plan.h"

#include <gtest/gtest.h>

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
  machine.decode_share = 0.5;
  machine.prefill_share = 0.25;
  const double attention = least.attention_macs / machine.ceilings.float_macs_per_second;
  EXPECT_NEAR(ForecastOf(shape, {.threads = 1}, machine, decode)->seconds,
              2 * least.seconds + attention, 0.02 * attention);
  const Forecast prefill = *ForecastOf(shape, {.threads = 1}, machine, {.prompt_tokens = 2048});
  EXPECT_EQ(prefill.seconds, 4 * BoundOf(prefill.work, machine.ceilings).seconds);
  EXPECT_EQ(prefill.bound.resource, Resource::kBFloat16);
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
