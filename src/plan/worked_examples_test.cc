// The figures of docs/worked-examples.md on memory and speed, by the planner.

#include <gtest/gtest.h>

#include "skald/plan.h"

namespace skald {
namespace {

constexpr double kMiB = 1 << 20;
constexpr int64_t kGiga = 1'000'000'000;

int64_t PositionBytes(std::string_view name) {
  int64_t bytes = 0;
  for (const KvGroup& group : NamedModelShape(name)->KvGroups(KvCacheType::kF16)) {
    bytes += group.position_bytes;
  }
  return bytes;
}

TEST(WorkedExamples, KvOfLlama2) {
  EXPECT_EQ(PositionBytes("llama-2-7b"), 524'288);
  EXPECT_NEAR(4096.0 * 524'288, 2.1e9, 0.05e9);
}

// "160 MB, 1.28 GB, 10.24 GB, 40.96 GB": MB are MiB there, and GB are thousands of them.
TEST(WorkedExamples, KvOfLlama3) {
  const auto mebibytes = [](int64_t tokens) {
    return static_cast<double>(tokens * PositionBytes("llama-3-70b")) / kMiB;
  };
  EXPECT_EQ(mebibytes(512), 160);
  EXPECT_EQ(mebibytes(4096), 1280);
  EXPECT_EQ(mebibytes(32768), 10240);
  EXPECT_EQ(mebibytes(131072), 40960);
}

// "41 GB + 140 GB = 181 GB: three GPUs". In bytes of one kind it is 42.9 GB and 141.1 GB, 184 GB,
// and still three.
TEST(WorkedExamples, ABatchOf32OnThreeGpus) {
  const ModelShape shape = *NamedModelShape("llama-3-70b");
  const EnginePlan plan = *PlanEngine(
      shape, {.context = 4096, .threads = 1, .kv_positions = 32 * 4096, .max_running = 32});
  const double kv = 32 * 4096.0 * static_cast<double>(PositionBytes("llama-3-70b"));
  EXPECT_EQ(kv / kMiB, 40960);
  EXPECT_EQ(plan.page_positions, 32);
  EXPECT_EQ(static_cast<double>(plan.memory.kv), kv + 32.0 * 327'680);  // and a page to copy into
  EXPECT_NEAR(static_cast<double>(plan.memory.weights), 141.1e9, 0.05e9);
  EXPECT_NEAR(static_cast<double>(plan.memory.weights + plan.memory.kv), 184e9, 0.5e9);
  EXPECT_LT(*RequestsThatFit(shape, {.context = 4096, .threads = 1}, 160 * kGiga), 32);
  EXPECT_GE(*RequestsThatFit(shape, {.context = 4096, .threads = 1}, 240 * kGiga), 32);
}

// 2 N B T d_model bytes.
TEST(WorkedExamples, KvOfTwelveLayers) {
  EXPECT_EQ(static_cast<double>(4096 * PositionBytes("gpt2")) / kMiB, 144);
  EXPECT_EQ(PositionBytes("gpt2"), 2 * 12 * 768 * 2);
}

// "Blocks of 16 waste at most 15 (one source says twelve)": 500 tokens waste twelve, 497 fifteen.
// Pages of 32 hold 500 tokens in 16, and also waste twelve.
TEST(WorkedExamples, PagesOf500Tokens) {
  const auto wasted = [](int64_t tokens, int64_t block) {
    return (tokens + block - 1) / block * block - tokens;
  };
  EXPECT_EQ(2048 - 500, 1548);
  EXPECT_EQ(wasted(500, 16), 12);
  int64_t most = 0;
  for (int64_t tokens = 1; tokens <= 2048; ++tokens) most = std::max(most, wasted(tokens, 16));
  EXPECT_EQ(most, 15);
  const ModelShape shape = *NamedModelShape("llama-2-7b");
  const EnginePlan plan = *PlanEngine(shape, {.context = 500, .threads = 1});
  EXPECT_EQ(plan.page_count - 1, 16);
  EXPECT_EQ((plan.page_count - 1) * plan.page_positions - 500, 12);
}

// One operation a byte in f16, 295 at the ridge of an H100, 24 tokens a second of a 70B model.
TEST(WorkedExamples, ADecodeStepOnAnH100) {
  const Machine h100 = *NamedMachine("h100");
  EXPECT_NEAR(Ridge(h100.ceilings.bfloat16_macs_per_second, h100.ceilings), 295, 0.5);
  EXPECT_NEAR(h100.ceilings.read_bytes_per_second / 140e9, 24, 0.1);
  const ModelShape shape = *NamedModelShape("llama-3-70b");
  const auto decode = [&](int64_t batch) {
    return *ForecastOf(shape, {.threads = 1}, h100, {.decode_tokens = 1, .batch = batch});
  };
  EXPECT_NEAR(decode(1).intensity, 1, 0.01);
  EXPECT_NEAR(decode(1).tokens_per_second, 24, 0.2);
  EXPECT_NEAR(decode(32).intensity, 32, 0.1);
  EXPECT_EQ(decode(32).bound.resource, Resource::kMemory);
  EXPECT_EQ(decode(296).bound.resource, Resource::kBFloat16);
}

// "500 + 1000: about 1 M passes without a cache, 1500 with: 667 times". The work of the planner
// counts rows, so it says the same: prefills of growing texts against one of all of them.
TEST(WorkedExamples, WorkWithAndWithoutACache) {
  const ModelShape shape = *NamedModelShape("gpt2");
  const Machine h100 = *NamedMachine("h100");
  const auto rows = [&](int64_t prompt, int64_t generated) {
    return prompt * generated + generated * (generated - 1) / 2;
  };
  EXPECT_EQ(rows(500, 1000), 999'500);
  EXPECT_NEAR(static_cast<double>(rows(500, 1000)) / (500 + 1000 - 1), 667, 0.5);
  EXPECT_EQ(rows(512, 512), 392'960);  // printed: about 786,000, its double
  // A token less or more is the same number of operations, whatever stands before it.
  const double whole = ForecastOf(shape, {.threads = 1}, h100, {.prompt_tokens = 501})->operations -
                       ForecastOf(shape, {.threads = 1}, h100, {.prompt_tokens = 500})->operations;
  const double step =
      ForecastOf(shape, {.threads = 1}, h100, {.decode_tokens = 1, .depth = 500})->operations;
  const double head = 2.0 * 50257 * 768;  // of the last row alone
  EXPECT_NEAR(step - head, whole, 0.2 * whole);
}

}  // namespace
}  // namespace skald
