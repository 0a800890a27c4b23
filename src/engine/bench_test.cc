#include "skald/bench.h"

#include <gtest/gtest.h>

#include "engine/bench_work.h"
#include "model/arch/arch_list.h"

namespace skald {
namespace {

using engine::StepWork;
using kernels::PackedMatrix;
using kernels::PanelType;
using model::Phase;

constexpr Ceilings kMachine = {.int8_macs_per_second = 100,
                               .float_macs_per_second = 10,
                               .read_bytes_per_second = 1000,
                               .threads = 1,
                               .isa_name = "scalar"};

TEST(BoundOf, IsTheSlowerOfArithmeticAndMemory) {
  const Bound int8 = BoundOf({.int8_macs = 200, .float_macs = 0, .bytes = 1000}, kMachine);
  EXPECT_EQ(int8.seconds, 2);
  EXPECT_EQ(int8.resource, Resource::kInt8);
  const Bound memory = BoundOf({.int8_macs = 200, .float_macs = 0, .bytes = 3000}, kMachine);
  EXPECT_EQ(memory.seconds, 3);
  EXPECT_EQ(memory.resource, Resource::kMemory);
  // Both kinds of arithmetic take their turns: 1 s + 2 s.
  const Bound both = BoundOf({.int8_macs = 100, .float_macs = 20, .bytes = 2000}, kMachine);
  EXPECT_EQ(both.seconds, 3);
  EXPECT_EQ(both.resource, Resource::kFloat);
}

TEST(BestOf, TakesEachFigureFromTheBetterMeasurement) {
  Ceilings other = kMachine;
  other.int8_macs_per_second = 50;
  other.read_bytes_per_second = 2000;
  const Ceilings best = BestOf(kMachine, other);
  EXPECT_EQ(best.int8_macs_per_second, 100);
  EXPECT_EQ(best.float_macs_per_second, 10);
  EXPECT_EQ(best.read_bytes_per_second, 2000);
  EXPECT_EQ(best.threads, 1);
}

TEST(MeasureCeilings, RefusesImpossibleThreads) {
  EXPECT_EQ(MeasureCeilings(-1, InstructionSet::kBest).status().code(),
            ErrorCode::kInvalidArgument);
}

// One layer, two KV heads of four query heads, the LM head in floats. Work depends on shapes only,
// so the matrices have no bytes.
class Work : public testing::Test {
 protected:
  static constexpr int64_t kWidth = 64;
  static constexpr int64_t kHeadDim = 16;
  static constexpr int64_t kHidden = 96;
  static constexpr int64_t kVocab = 100;

  static PackedMatrix Matrix(PanelType type, int64_t rows, int64_t cols) {
    return {.type = type, .rows = rows, .cols = cols, .panels = nullptr};
  }
  static model::Transformer Network(int64_t window) {
    model::ModelConfig config;
    config.family = &model::kLlama;
    config.vocab = kVocab;
    config.embedding = kWidth;
    config.layers = 2;
    config.heads = 4;
    config.kv_heads = 2;
    config.key_dim = config.value_dim = kHeadDim;
    config.feed_forward = kHidden;
    config.window = window;
    model::Weights weights;
    weights.token_embedding = Matrix(PanelType::kF32, kVocab, kWidth);
    weights.output = Matrix(PanelType::kF32, kVocab, kWidth);
    model::LayerWeights layer;
    layer.query = layer.attention_output = Matrix(PanelType::kQ8, 64, 64);
    layer.key = layer.value = Matrix(PanelType::kQ8, 32, 64);
    layer.gate = layer.up = Matrix(PanelType::kQ8, kHidden, 64);
    layer.down = Matrix(PanelType::kQ8, 64, kHidden);
    weights.layers.assign(2, layer);
    return model::Transformer(std::move(config), std::move(weights));
  }
  static StepWork WorkOf(const engine::StepShape& shape, int64_t window = 0) {
    const model::Transformer network = Network(window);
    StepWork work;
    AddStep(network, network.KvLayoutFor(kernels::KvType::kF16), shape, work);
    return work;
  }
  static BenchWork Of(const StepWork& work, Phase phase) {
    return work[static_cast<size_t>(phase)];
  }
};

TEST_F(Work, CountsMatrices) {
  const StepWork work = WorkOf({.rows = 3, .logit_rows = 1});
  EXPECT_EQ(Of(work, Phase::kQkv).int8_macs, 2 * 3 * (64 * 64 + 2 * 32 * 64));
  // Behind K and V of the last of the two layers only one row goes on.
  EXPECT_EQ(Of(work, Phase::kGateUp).int8_macs, (3 + 1) * 2 * 96 * 64);
  EXPECT_EQ(Of(work, Phase::kGateUp).float_macs, 0);
  // 544 bytes for 16 rows and 32 columns, whatever the rows of the step.
  EXPECT_EQ(Of(work, Phase::kDown).bytes, 2 * 4 * 3 * 544);
  // Floats, one row; 100 rows are 7 panels.
  EXPECT_EQ(Of(work, Phase::kHead).float_macs, 100 * 64);
  EXPECT_EQ(Of(work, Phase::kHead).int8_macs, 0);
  EXPECT_EQ(Of(work, Phase::kHead).bytes, 7 * 64 * 16 * 4);
}

TEST_F(Work, NoLogitsNoHead) {
  const StepWork work = WorkOf({.rows = 3, .logit_rows = 0});
  EXPECT_EQ(Of(work, Phase::kQkv).int8_macs, 2 * 3 * (64 * 64 + 2 * 32 * 64));
  EXPECT_EQ(Of(work, Phase::kGateUp).int8_macs, 3 * 2 * 96 * 64);  // the first layer alone
  EXPECT_EQ(Of(work, Phase::kHead).float_macs, 0);
  EXPECT_EQ(Of(work, Phase::kHead).bytes, 0);
}

TEST_F(Work, AttentionSeesWhatIsBefore) {
  // Rows at positions 5, 6, 7 see 6 + 7 + 8 positions: 4 heads of 16 + 16.
  // In the last layer only the row at 7 does.
  const StepWork prefill = WorkOf({.rows = 3, .first_position = 5, .logit_rows = 1});
  EXPECT_EQ(Of(prefill, Phase::kAttention).float_macs, (21 + 8) * 4 * 32);
  // 8 positions of 2 heads of 32 halves, read once a layer.
  EXPECT_EQ(Of(prefill, Phase::kAttention).bytes, 2 * 8 * 2 * 32 * 2);
  // Three sequences with one row at position 5 each.
  const StepWork decode = WorkOf({.rows = 3, .sequences = 3, .first_position = 5, .logit_rows = 3});
  EXPECT_EQ(Of(decode, Phase::kAttention).float_macs, 2 * 3 * 6 * 4 * 32);
  EXPECT_EQ(Of(decode, Phase::kAttention).bytes, 2 * 3 * 6 * 2 * 32 * 2);
}

TEST_F(Work, AWindowBoundsWhatAttentionSees) {
  // Window 4: rows at 5, 6, 7 see 4 each, together the positions 2 .. 7.
  const StepWork prefill = WorkOf({.rows = 3, .first_position = 5, .logit_rows = 3}, 4);
  EXPECT_EQ(Of(prefill, Phase::kAttention).float_macs, 2 * 12 * 4 * 32);
  EXPECT_EQ(Of(prefill, Phase::kAttention).bytes, 2 * 6 * 2 * 32 * 2);
}

TEST_F(Work, EssentialIsMatricesAndCache) {
  const StepWork work = WorkOf({.rows = 1, .first_position = 9, .logit_rows = 1});
  const BenchWork sum = engine::Essential(work);
  EXPECT_EQ(sum.int8_macs, 2 * (64 * 64 + 2 * 32 * 64 + 64 * 64 + 3 * 64 * 96));
  EXPECT_EQ(sum.float_macs, 100 * 64);  // attention's are not among them
  const double layer = (4 + 2 + 2 + 4) * 2 * 544 + 2 * 6 * 2 * 544 + 4 * 3 * 544;
  EXPECT_EQ(sum.bytes, 2 * layer + 7 * 64 * 64 + 2 * 10 * 2 * 32 * 2);
}

}  // namespace
}  // namespace skald
