// The tree of every golden model, from its header alone: what stands in it is what the planner and
// the benchmark count.

#include "explain/call_trees.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>

#include "engine/bench_work.h"
#include "model/transformer.h"
#include "skald/plan.h"
#include "support/shared_data.h"

namespace skald::explain {
namespace {

using model::StepShape;

constexpr Ceilings kCeilings = {.int8_macs_per_second = 4e9,
                                .bfloat16_macs_per_second = 2e9,
                                .float_macs_per_second = 1e9,
                                .read_bytes_per_second = 1e10};

std::vector<std::string> ModelsIn(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".gguf") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  EXPECT_GT(paths.size(), 25u) << folder;
  return paths;
}

void Visit(const Call& call, const std::function<void(const Call&)>& visit) {
  visit(call);
  for (const Call& inner : call.calls) Visit(inner, visit);
}

BenchWork SumOf(const Call& tree, CallKind kind) {
  BenchWork sum;
  Visit(tree, [&](const Call& call) {
    if (call.kind != kind) return;
    sum.int8_macs += call.work.int8_macs;
    sum.bfloat16_macs += call.work.bfloat16_macs;
    sum.float_macs += call.work.float_macs;
    sum.bytes += call.work.bytes;
  });
  return sum;
}

void ExpectEqual(const BenchWork& found, const BenchWork& expected) {
  // Sums of the same terms in another order; bytes of experts are no whole numbers.
  const auto near = [](double a, double b) { EXPECT_NEAR(a, b, 1e-12 * b); };
  near(found.int8_macs, expected.int8_macs);
  near(found.bfloat16_macs, expected.bfloat16_macs);
  near(found.float_macs, expected.float_macs);
  near(found.bytes, expected.bytes);
}

BenchWork AllOf(const model::StepWork& work) {
  model::Work sum;
  for (size_t i = 0; i < model::kPhaseCount; ++i) sum.Add(work[static_cast<model::Phase>(i)]);
  return engine::PublicWork(sum);
}

// The work of the tree is that of the planner, at every depth.
void ExpectWorkOfPlan(const ModelShape& shape, const StepShape& step) {
  const kv::KvLayout layout = model::KvLayoutOf(shape.network(), kernels::KvType::kF16);
  const Call tree = CallTrees(shape.network(), layout, kCeilings).Of({.shape = step});
  model::StepWork expected;
  model::AddWork(shape.network(), layout, step, expected);
  const BenchWork all = AllOf(expected);
  ExpectEqual(tree.work, all);
  ExpectEqual(SumOf(tree, CallKind::kBlock), all);
  ExpectEqual(SumOf(tree, CallKind::kOperation), all);
  // The bound of the whole is that of a forecast.
  const BenchCase bench_case = {.prompt_tokens = step.rows, .depth = step.first_position};
  const Forecast forecast = *ForecastOf(shape, {.threads = 1}, {.ceilings = kCeilings}, bench_case);
  EXPECT_NEAR(tree.bound->seconds, BoundOf(forecast.work, kCeilings).seconds,
              1e-12 * tree.bound->seconds);
}

// Every product has the name of a tensor of the file, its matrix fits its rows, and all arithmetic
// of an operation but attention's and a recurrence's is that of its products.
void ExpectNames(const ModelShape& shape) {
  const kv::KvLayout layout = model::KvLayoutOf(shape.network(), kernels::KvType::kF16);
  const Call tree =
      CallTrees(shape.network(), layout, std::nullopt).Of({.shape = {.rows = 3, .logit_rows = 1}});
  EXPECT_EQ(tree.calls.front().name, "embedding");
  EXPECT_EQ(tree.calls.back().name, "head");
  EXPECT_FALSE(tree.bound.has_value());
  Visit(tree, [&](const Call& call) {
    if (call.kind == CallKind::kMatrix) {
      EXPECT_TRUE(call.name.ends_with(".weight")) << call.name;
      ASSERT_EQ(call.operand.size(), 2u) << call.name;
      const bool is_table = call.input.size() == 1;  // rows of the embedding
      if (!is_table) {
        EXPECT_EQ(call.input.back(), call.operand.back()) << call.name;
      }
      EXPECT_EQ(call.input.front(), call.output.front()) << call.name;
    }
    const bool has_own = call.name == "attention" || call.name == "recurrence";
    if (call.kind != CallKind::kOperation || has_own) return;
    double macs = 0;
    for (const Call& matrix : call.calls) macs += matrix.macs();
    EXPECT_EQ(macs, call.macs()) << call.name;
  });
}

void ExpectTreesOf(const std::string& folder) {
  for (const std::string& path : ModelsIn(folder)) {
    SCOPED_TRACE(path);
    const Result<ModelShape> shape = ReadModelShape(path);
    // Recorded ahead of the family that will run it.
    if (shape.status().code() == ErrorCode::kUnsupported) continue;
    ASSERT_TRUE(shape.ok()) << shape.status().message();
    ExpectWorkOfPlan(*shape, {.rows = 5, .logit_rows = 1});
    ExpectWorkOfPlan(*shape, {.rows = 1, .first_position = 20, .logit_rows = 1});
    ExpectNames(*shape);
  }
}

TEST(CallTrees, AreThoseOfThePlanInEveryFamily) { ExpectTreesOf(SKALD_GOLDEN_MODELS); }

TEST(CallTreesSharedData, AreThoseOfThePlanInEveryFamily) {
  ExpectTreesOf(support::SharedData("golden"));
  ExpectTreesOf(support::SharedData("golden/families"));
}

TEST(CallTrees, AddUpTimesByPart) {
  const ModelShape shape = *NamedModelShape("llama-3-8b");
  const kv::KvLayout layout = model::KvLayoutOf(shape.network(), kernels::KvType::kF16);
  model::LoggedStep step = {.shape = {.rows = 1, .first_position = 9, .logit_rows = 1}};
  const auto add = [&](const model::StepPart& part, model::Phase phase, double seconds) {
    model::PartSeconds timed = {.part = part};
    timed.seconds[phase] = seconds;
    step.parts.push_back(timed);
  };
  add({model::PartKind::kMixer, 2}, model::Phase::kQkv, 0.5);
  add({model::PartKind::kFeedForward, 2}, model::Phase::kDown, 0.25);
  add({model::PartKind::kHead}, model::Phase::kHead, 4);
  const Call tree = CallTrees(shape.network(), layout, kCeilings).Of(step);
  EXPECT_EQ(tree.seconds, 4.75);
  const Call& layer = tree.calls[3];  // behind the embedding and two others
  EXPECT_EQ(layer.name, "layer 2");
  EXPECT_EQ(layer.seconds, 0.75);
  EXPECT_EQ(layer.calls[0].name, "attention");
  EXPECT_EQ(layer.calls[0].seconds, 0.5);
  EXPECT_EQ(layer.calls[1].name, "gated feed-forward");
  EXPECT_EQ(layer.calls[1].seconds, 0.25);
  EXPECT_EQ(layer.calls[0].input, (std::vector<int64_t>{1, 4096}));
  const Call& qkv = layer.calls[0].calls[1];
  EXPECT_EQ(qkv.name, "matmul qkv");
  ASSERT_EQ(qkv.calls.size(), 3u);
  EXPECT_EQ(qkv.calls[0].name, "blk.2.attn_q.weight");
  EXPECT_EQ(qkv.calls[1].operand, (std::vector<int64_t>{1024, 4096}));
  EXPECT_NEAR(*qkv.share(), qkv.bound->seconds / 0.5, 1e-12);
  const Call& attention = layer.calls[0].calls[3];
  EXPECT_EQ(attention.name, "attention");
  EXPECT_EQ(attention.input, (std::vector<int64_t>{1, 32, 128}));
  EXPECT_EQ(attention.operand, (std::vector<int64_t>{10, 8, 128}));
}

}  // namespace
}  // namespace skald::explain
