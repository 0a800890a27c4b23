#include "model/work.h"

#include <gtest/gtest.h>

#include "model/blocks/linear.h"
#include "model/transformer.h"

namespace skald::model {
namespace {

using kernels::PackedMatrix;
using kernels::PanelType;

// Two layers, two KV heads of four query heads, the LM head in floats. Work depends on shapes only,
// so the matrices have no bytes.
class WorkTest : public testing::Test {
 protected:
  static constexpr int64_t kWidth = 64;
  static constexpr int64_t kHeadDim = 16;
  static constexpr int64_t kHidden = 96;
  static constexpr int64_t kVocab = 100;

  static PackedMatrix Matrix(PanelType type, int64_t rows, int64_t cols) {
    return {.type = type, .rows = rows, .cols = cols, .panels = nullptr};
  }
  static Network Make(int64_t window) {
    Gqa gqa = {.width = kWidth,
               .heads = 4,
               .kv_heads = 2,
               .key_dim = kHeadDim,
               .value_dim = kHeadDim,
               .window = window};
    gqa.query = gqa.output = Matrix(PanelType::kQ8, 64, 64);
    gqa.key = gqa.value = Matrix(PanelType::kQ8, 32, 64);
    Gated gated = {.width = kWidth, .hidden = kHidden};
    gated.gate = gated.up = Matrix(PanelType::kQ8, kHidden, 64);
    gated.down = Matrix(PanelType::kQ8, 64, kHidden);
    Network network;
    network.vocab = kVocab;
    network.width = kWidth;
    network.embedding = Matrix(PanelType::kF32, kVocab, kWidth);
    network.head.weights = Matrix(PanelType::kF32, kVocab, kWidth);
    network.layers.assign(2, {.mixer = gqa, .feed_forward = gated});
    return network;
  }
  static StepWork WorkOf(const StepShape& shape, int64_t window = 0) {
    const Network network = Make(window);
    StepWork work;
    AddWork(network, KvLayoutOf(network, kernels::KvType::kF16), shape, work);
    return work;
  }
};

TEST_F(WorkTest, CountsMatrices) {
  const StepWork work = WorkOf({.rows = 3, .logit_rows = 1});
  EXPECT_EQ(work[Phase::kQkv].int8_macs, 2 * 3 * (64 * 64 + 2 * 32 * 64));
  // Behind K and V of the last of the two layers only one row goes on.
  EXPECT_EQ(work[Phase::kGateUp].int8_macs, (3 + 1) * 2 * 96 * 64);
  EXPECT_EQ(work[Phase::kGateUp].float_macs, 0);
  // 544 bytes for 16 rows and 32 columns, whatever the rows of the step.
  EXPECT_EQ(work[Phase::kDown].bytes, 2 * 4 * 3 * 544);
  // Floats, one row; 100 rows are 7 panels.
  EXPECT_EQ(work[Phase::kHead].float_macs, 100 * 64);
  EXPECT_EQ(work[Phase::kHead].int8_macs, 0);
  EXPECT_EQ(work[Phase::kHead].bytes, 7 * 64 * 16 * 4);
}

TEST_F(WorkTest, CountsBFloat16ByItself) {
  const Work work = MultiplyWork(Matrix(PanelType::kBF16, 40, 50), 3);
  EXPECT_EQ(work.bfloat16_macs, 3 * 40 * 50);
  EXPECT_EQ(work.int8_macs, 0);
  EXPECT_EQ(work.float_macs, 0);
  EXPECT_EQ(work.bytes, 3 * 2 * 1024) << "3 panels of 2 units";
  EXPECT_FALSE(work.IsNone());
}

TEST_F(WorkTest, NoLogitsNoHead) {
  const StepWork work = WorkOf({.rows = 3, .logit_rows = 0});
  EXPECT_EQ(work[Phase::kQkv].int8_macs, 2 * 3 * (64 * 64 + 2 * 32 * 64));
  EXPECT_EQ(work[Phase::kGateUp].int8_macs, 3 * 2 * 96 * 64);  // the first layer alone
  EXPECT_EQ(work[Phase::kHead].float_macs, 0);
  EXPECT_EQ(work[Phase::kHead].bytes, 0);
}

TEST_F(WorkTest, AttentionSeesWhatIsBefore) {
  // Rows at positions 5, 6, 7 see 6 + 7 + 8 positions: 4 heads of 16 + 16.
  // In the last layer only the row at 7 does.
  const StepWork prefill = WorkOf({.rows = 3, .first_position = 5, .logit_rows = 1});
  EXPECT_EQ(prefill[Phase::kAttention].float_macs, (21 + 8) * 4 * 32);
  // 8 positions of 2 heads of 32 halves, read once a layer.
  EXPECT_EQ(prefill[Phase::kAttention].bytes, 2 * 8 * 2 * 32 * 2);
  // Three sequences with one row at position 5 each.
  const StepWork decode = WorkOf({.rows = 3, .sequences = 3, .first_position = 5, .logit_rows = 3});
  EXPECT_EQ(decode[Phase::kAttention].float_macs, 2 * 3 * 6 * 4 * 32);
  EXPECT_EQ(decode[Phase::kAttention].bytes, 2 * 3 * 6 * 2 * 32 * 2);
}

TEST_F(WorkTest, AWindowBoundsWhatAttentionSees) {
  // Window 4: rows at 5, 6, 7 see 4 each, together the positions 2 .. 7.
  const StepWork prefill = WorkOf({.rows = 3, .first_position = 5, .logit_rows = 3}, 4);
  EXPECT_EQ(prefill[Phase::kAttention].float_macs, 2 * 12 * 4 * 32);
  EXPECT_EQ(prefill[Phase::kAttention].bytes, 2 * 6 * 2 * 32 * 2);
}

// Three heads: queries and scores of 32 + 8, sums of 32, values of 16.
TEST_F(WorkTest, LatentAttentionReadsOneLatentForAllHeads) {
  Mla mla = {.width = kWidth,
             .heads = 3,
             .nope_dim = 24,
             .rope_dim = 8,
             .value_dim = 16,
             .rank = 32,
             .query_rank = 48};
  mla.query_down = Matrix(PanelType::kQ8, 48, kWidth);
  mla.query = Matrix(PanelType::kF32, 96, 48);
  mla.latent = Matrix(PanelType::kQ8, 40, kWidth);
  mla.key_up.assign(3, Matrix(PanelType::kF32, 32, 24));
  mla.value_up.assign(3, Matrix(PanelType::kQ8, 16, 32));
  mla.output = Matrix(PanelType::kF32, kWidth, 48);
  const StepShape step = {.rows = 3, .first_position = 5, .logit_rows = 1};
  const kv::KvLayout layout = {.types = kernels::KvType::kF16};
  StepWork work;
  AddWork(mla, {step, 3, layout}, work);
  EXPECT_EQ(work[Phase::kQkv].int8_macs, 3 * (48 + 40) * 64);
  EXPECT_EQ(work[Phase::kQkv].float_macs, 3 * 96 * 48);
  EXPECT_EQ(work[Phase::kAttention].float_macs, 21 * 3 * (40 + 32) + 3 * 3 * 32 * 24);
  EXPECT_EQ(work[Phase::kAttention].int8_macs, 3 * 3 * 16 * 32);
  EXPECT_EQ(work[Phase::kAttention].bytes, 8 * 40 * 2 + 3 * (2 * 24 * 64 + 544));
  StepWork last;
  AddWork(mla, {step, 1, layout}, last);
  EXPECT_EQ(last[Phase::kQkv].float_macs, 96 * 48);
  EXPECT_EQ(last[Phase::kOutput].float_macs, 64 * 48);
}

TEST_F(WorkTest, AMixtureCountsTheExpertsThatRowsUse) {
  Experts experts = {.width = kWidth, .hidden = kHidden, .count = 4, .used = 2};
  experts.router = Matrix(PanelType::kF32, 4, kWidth);
  experts.gate.assign(4, Matrix(PanelType::kQ8, kHidden, 64));
  experts.up = experts.gate;
  experts.down.assign(4, Matrix(PanelType::kQ8, 64, kHidden));
  StepWork work;
  AddWork(experts, 2, work);
  EXPECT_EQ(work[Phase::kRoute].float_macs, 2 * 4 * 64);
  EXPECT_EQ(work[Phase::kGateUp].int8_macs, 2 * 2 * 2 * 96 * 64);
  // Two rows that choose two of four each read three, as a mean.
  EXPECT_DOUBLE_EQ(work[Phase::kDown].bytes, 3 * 4 * 3 * 544);
  StepWork one;
  AddWork(experts, 1, one);
  EXPECT_DOUBLE_EQ(one[Phase::kDown].bytes, 2 * 4 * 3 * 544);
}

TEST_F(WorkTest, EssentialIsMatricesAndCache) {
  const StepWork work = WorkOf({.rows = 1, .first_position = 9, .logit_rows = 1});
  const Work sum = Essential(work);
  EXPECT_EQ(sum.int8_macs, 2 * (64 * 64 + 2 * 32 * 64 + 64 * 64 + 3 * 64 * 96));
  EXPECT_EQ(sum.float_macs, 100 * 64);  // attention's are not among them
  const double layer = (4 + 2 + 2 + 4) * 2 * 544 + 2 * 6 * 2 * 544 + 4 * 3 * 544;
  EXPECT_EQ(sum.bytes, 2 * layer + 7 * 64 * 64 + 2 * 10 * 2 * 32 * 2);
}

}  // namespace
}  // namespace skald::model
