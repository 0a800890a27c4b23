#include "cli/plan_report.h"

#include <gtest/gtest.h>

#include "base/json_tree.h"

namespace skald::cli {
namespace {

PlanReport Small() {
  PlanReport report = {.shape = {.name = "evil\x1b[2J", .source = "small.gguf"}, .kv_type = "f16"};
  report.shape.parameters = 1500;
  report.shape.weights = {{.type = "Q8_0", .tensors = 3, .parameters = 1500, .file_bytes = 1600}};
  report.groups = {
      {.kind = "full", .layers = 2, .kv_heads = 2, .key_dim = 8, .position_bytes = 128},
      {.kind = "window",
       .layers = 1,
       .window = 64,
       .kv_heads = 2,
       .key_dim = 8,
       .position_bytes = 64}};
  report.contexts = {{.context = 2048, .kv = 2048 * 192}};
  report.engine.memory = {.weights = 1600, .kv = 4096, .activations = 100};
  report.machine = {.name = "m", .source = "s"};
  report.machine.ceilings.read_bytes_per_second = 1e9;
  report.machine.ceilings.bfloat16_macs_per_second = 5e9;
  report.capacity = {{.context = 2048, .requests = 7}};
  report.forecasts = {{.bench_case = {.decode_tokens = 1, .batch = 4, .depth = 9},
                       .operations = 2000,
                       .intensity = 2,
                       .seconds = 0.0125,
                       .tokens_per_second = 320}};
  return report;
}

TEST(PlanText, SaysWhatFitsAndHowFast) {
  const std::string text = PlanText(Small());
  for (const char* part :
       {"parameters    1.5 K (1500)", "window, 2 heads of 8       1    64         64\n",
        "context of 2048                     384.0 KiB\n",
        "in all                        5.7 KiB\n", "context of 2048  7\n",
        "bf16 0.01 TFLOP/s, ridge 10", "tg1 b4 @ d9", "12.5 ms     320.0\n",
        "times are the least that these figures allow\n"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find("states"), std::string::npos) << "there are none";
}

TEST(PlanText, SaysWhenSharesWereMeasured) {
  PlanReport report = Small();
  report.machine.arithmetic_share = 0.5;
  report.machine.memory_share = 0.875;
  EXPECT_NE(PlanText(report).find("88 % of the bandwidth and 50 % of the peaks, as"),
            std::string::npos)
      << PlanText(report);
}

TEST(PlanJson, HasTheSameNumbers) {
  const Result<JsonTree> tree = JsonTree::Parse(PlanJson(Small()));
  ASSERT_TRUE(tree.ok());
  const JsonValue root = tree->root();
  EXPECT_EQ(root.Find("kv_bytes_per_token")->AsInt(), 192);
  EXPECT_EQ(root.Find("engine")->Find("memory")->Find("total")->AsInt(), 5796);
  EXPECT_EQ(root.Find("machine")->Find("ridge_bfloat16")->AsNumber(), 10);
  const JsonValue forecast = *root.Find("forecasts")->begin();
  EXPECT_EQ(forecast.Find("test")->AsString(), "tg1 b4 @ d9");
  EXPECT_EQ(forecast.Find("tokens_per_second")->AsNumber(), 320);
}

}  // namespace
}  // namespace skald::cli
