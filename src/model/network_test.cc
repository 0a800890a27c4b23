#include "model/network.h"

#include <gtest/gtest.h>

namespace skald::model {
namespace {

// Two layers, valid.
Network SmallNetwork() {
  Network network;
  network.vocab = 10;
  network.width = 64;
  network.context = 128;
  network.layers.assign(2, {.mixer = Gqa{.width = 64,
                                         .heads = 4,
                                         .kv_heads = 2,
                                         .key_dim = 16,
                                         .value_dim = 8,
                                         .scale = 0.25f},
                            .feed_forward = Gated{.width = 64, .hidden = 96}});
  network.ropes.push_back({.rotated = 16});
  return network;
}

Gqa& GqaOf(Network& network, size_t layer) { return std::get<Gqa>(network.layers[layer].mixer); }

std::string Problem(const Network& network) { return Validate(network).message(); }

const TensorSlot* Find(const std::vector<TensorSlot>& slots, std::string_view name) {
  for (const TensorSlot& slot : slots) {
    if (slot.name == name) return &slot;
  }
  return nullptr;
}

TEST(TensorsOf, NamesEachTensorOnceInTheOrderOfUse) {
  Network network = SmallNetwork();
  std::vector<std::string> names;
  for (const TensorSlot& slot : TensorsOf(network)) {
    if (slot.name.starts_with("blk.1.")) names.push_back(slot.name.substr(6));
  }
  EXPECT_EQ(names, (std::vector<std::string>{
                       "attn_norm.weight", "attn_q.weight", "attn_k.weight", "attn_v.weight",
                       "attn_q.bias", "attn_k.bias", "attn_v.bias", "attn_output.weight",
                       "attn_output.bias", "ffn_norm.weight", "ffn_gate.weight", "ffn_up.weight",
                       "ffn_down.weight", "ffn_down.bias"}));
}

TEST(TensorsOf, ShapesAndPlacesAreThoseOfTheBlock) {
  Network network = SmallNetwork();
  const std::vector<TensorSlot> slots = TensorsOf(network);
  const TensorSlot* value = Find(slots, "blk.1.attn_v.weight");
  ASSERT_NE(value, nullptr);
  EXPECT_EQ(value->rows, 2 * 8);
  EXPECT_EQ(value->cols, 64);
  EXPECT_EQ(value->matrices().data(), &GqaOf(network, 1).value);
  EXPECT_FALSE(value->is_optional());
  const TensorSlot* factors = Find(slots, "rope_freqs.weight");
  ASSERT_NE(factors, nullptr);
  EXPECT_EQ(factors->cols, 8);
  EXPECT_EQ(&factors->vector(), &network.ropes[0].factors);
  EXPECT_TRUE(factors->is_optional());
  EXPECT_TRUE(Find(slots, "output.weight")->is_optional());
  EXPECT_TRUE(Find(slots, "blk.0.attn_q.bias")->is_optional());
}

TEST(TensorsOf, HeadNormsAndRequiredBiasesAreOfALayer) {
  Network network = SmallNetwork();
  GqaOf(network, 1).head_norm = HeadNorm::kRms;
  GqaOf(network, 1).bias = Presence::kRequired;
  const std::vector<TensorSlot> slots = TensorsOf(network);
  EXPECT_EQ(Find(slots, "blk.0.attn_q_norm.weight"), nullptr);
  ASSERT_NE(Find(slots, "blk.1.attn_q_norm.weight"), nullptr);
  EXPECT_EQ(Find(slots, "blk.1.attn_q_norm.weight")->cols, 16);
  EXPECT_FALSE(Find(slots, "blk.1.attn_q.bias")->is_optional());
}

TEST(TensorsOf, ExpertsAreSlicesOfOneTensor) {
  Network network = SmallNetwork();
  network.layers[1].feed_forward = Experts{.width = 64, .hidden = 24, .count = 5, .used = 2};
  const std::vector<TensorSlot> slots = TensorsOf(network);
  const TensorSlot* down = Find(slots, "blk.1.ffn_down_exps.weight");
  ASSERT_NE(down, nullptr);
  EXPECT_EQ(down->slices, 5);
  EXPECT_EQ(down->rows, 64);
  EXPECT_EQ(down->cols, 24);
  const auto& experts = std::get<Experts>(network.layers[1].feed_forward);
  EXPECT_TRUE(experts.down.empty());
  EXPECT_EQ(down->matrices().size(), 5u);
  EXPECT_EQ(down->matrices().data(), experts.down.data());
}

TEST(TensorsOf, FusedMatricesAreRowsOfOneTensor) {
  Network network = SmallNetwork();
  GqaOf(network, 0).fusion = Fusion::kFused;
  std::get<Gated>(network.layers[0].feed_forward).fusion = Fusion::kFused;
  std::vector<std::string> parts;
  for (const TensorSlot& slot : TensorsOf(network)) {
    if (slot.all_rows == 0) continue;
    const int64_t rows = slot.is_vector() ? slot.cols : slot.rows;
    parts.push_back(slot.name.substr(6) + " " + std::to_string(slot.first_row) + " + " +
                    std::to_string(rows) + " of " + std::to_string(slot.all_rows));
  }
  EXPECT_EQ(parts, (std::vector<std::string>{
                       "attn_qkv.weight 0 + 64 of 112", "attn_qkv.weight 64 + 32 of 112",
                       "attn_qkv.weight 96 + 16 of 112", "attn_qkv.bias 0 + 64 of 112",
                       "attn_qkv.bias 64 + 32 of 112", "attn_qkv.bias 96 + 16 of 112",
                       "ffn_up.weight 0 + 96 of 192", "ffn_up.weight 96 + 96 of 192"}));
}

TEST(TensorsOf, NormsStandWhereALayerHasThem) {
  Network network = SmallNetwork();
  network.layers[1].mixer_norm.kind = NormKind::kNone;
  network.layers[1].mixer_output_norm.kind = NormKind::kRms;
  network.layers[1].feed_forward_output_norm.kind = NormKind::kLayer;
  const std::vector<TensorSlot> slots = TensorsOf(network);
  EXPECT_EQ(Find(slots, "blk.1.attn_norm.weight"), nullptr);
  EXPECT_EQ(Find(slots, "blk.0.post_attention_norm.weight"), nullptr);
  EXPECT_NE(Find(slots, "blk.1.post_attention_norm.weight"), nullptr);
  EXPECT_EQ(Find(slots, "blk.1.post_attention_norm.bias"), nullptr);
  EXPECT_NE(Find(slots, "blk.1.post_ffw_norm.weight"), nullptr);
  ASSERT_NE(Find(slots, "blk.1.post_ffw_norm.bias"), nullptr);
  EXPECT_TRUE(Find(slots, "blk.1.post_ffw_norm.bias")->is_optional());
}

TEST(ValidateNetwork, FactorsAreNumbersAboveZero) {
  Network network = SmallNetwork();
  network.residual_scale = 0;
  EXPECT_EQ(Problem(network), "residual scale is 0.000000, expected a positive number");
  network = SmallNetwork();
  network.head.soft_cap = -1;
  EXPECT_EQ(Problem(network), "logit soft cap is -1.000000, expected a number of at least 0");
  network = SmallNetwork();
  GqaOf(network, 1).scale = NAN;
  EXPECT_EQ(Problem(network), "layer 1: attention scale is nan, expected a positive number");
}

TEST(TensorsOf, ANormMayHaveAnotherName) {
  Network network = SmallNetwork();
  network.layers[1].feed_forward_norm.name = "post_attention_norm";
  const std::vector<TensorSlot> slots = TensorsOf(network);
  EXPECT_NE(Find(slots, "blk.0.ffn_norm.weight"), nullptr);
  EXPECT_EQ(Find(slots, "blk.1.ffn_norm.weight"), nullptr);
  ASSERT_NE(Find(slots, "blk.1.post_attention_norm.weight"), nullptr);
  EXPECT_EQ(&Find(slots, "blk.1.post_attention_norm.weight")->vector(),
            &network.layers[1].feed_forward_norm.weight);
}

TEST(ValidateNetwork, NamesTheLayer) {
  Network network = SmallNetwork();
  EXPECT_EQ(Problem(network), "");
  GqaOf(network, 1).heads = 3;
  EXPECT_EQ(Problem(network), "layer 1: head count 3 is not a multiple of KV head count 2");
  network = SmallNetwork();
  std::get<Gated>(network.layers[1].feed_forward).hidden = 0;
  EXPECT_EQ(Problem(network), "layer 1: feed forward length is 0, expected 1 to 1048576");
}

TEST(ValidateNetwork, LayersMayDifferInWhatTheyKeepToo) {
  Network network = SmallNetwork();
  GqaOf(network, 1).heads = 6;
  GqaOf(network, 1).window = 7;
  EXPECT_EQ(Problem(network), "");
  GqaOf(network, 1).kv_heads = 3;
  GqaOf(network, 1).value_dim = 24;
  EXPECT_EQ(Problem(network), "");
  const kv::KvLayout layout = KvLayoutOf(network, kernels::KvType::kF16);
  EXPECT_EQ(layout.position_bytes(), 2 * (2 * (16 + 16) + 3 * (16 + 32)));
  GqaOf(network, 1).values = ValueSource::kKeys;
  EXPECT_EQ(Problem(network),
            "layer 1: value length is 24, expected that of keys, 16, which serve as values");
}

// A layer keeps what the furthest of those that read its keys and values sees.
TEST(KvLayoutOf, LayersWithWindowsAreAGroup) {
  constexpr kernels::KvType kType = kernels::KvType::kF16;
  Network network = SmallNetwork();
  EXPECT_EQ(KvLayoutOf(network, kType).window, 0);
  GqaOf(network, 1).window = 7;
  EXPECT_EQ(KvLayoutOf(network, kType).layers[0].group, kv::PageGroup::kFull);
  EXPECT_EQ(KvLayoutOf(network, kType).layers[1].group, kv::PageGroup::kWindow);
  EXPECT_EQ(KvLayoutOf(network, kType).window, 7);
  GqaOf(network, 1).chunk = 5;
  EXPECT_EQ(KvLayoutOf(network, kType).window, 5);
  GqaOf(network, 0).chunk = 9;
  EXPECT_EQ(KvLayoutOf(network, kType).window, 9);
  GqaOf(network, 0) = GqaOf(network, 1);
  GqaOf(network, 1).shared_kv = 0;
  GqaOf(network, 1).chunk = 0;
  EXPECT_EQ(KvLayoutOf(network, kType).window, 7);
  GqaOf(network, 1).window = 0;
  EXPECT_EQ(KvLayoutOf(network, kType).layers[0].group, kv::PageGroup::kFull);
  GqaOf(network, 1).window = 7;
  GqaOf(network, 0).mask = Mask::kNone;
  EXPECT_EQ(KvLayoutOf(network, kType).layers[0].group, kv::PageGroup::kFull);
}

TEST(TensorsOf, ALayerMayHaveAFactorAndTakeItsKeysForValues) {
  Network network = SmallNetwork();
  network.layers[1].scale = LayerScale::kLearned;
  GqaOf(network, 1).value_dim = 16;
  GqaOf(network, 1).values = ValueSource::kKeys;
  const std::vector<TensorSlot> slots = TensorsOf(network);
  EXPECT_EQ(Find(slots, "blk.0.layer_output_scale.weight"), nullptr);
  ASSERT_NE(Find(slots, "blk.1.layer_output_scale.weight"), nullptr);
  EXPECT_EQ(Find(slots, "blk.1.layer_output_scale.weight")->cols, 1);
  EXPECT_NE(Find(slots, "blk.0.attn_v.weight"), nullptr);
  EXPECT_EQ(Find(slots, "blk.1.attn_v.weight"), nullptr);
  EXPECT_EQ(Find(slots, "blk.1.attn_v.bias"), nullptr);
}

TEST(ValidateNetwork, ARopeMustFitTheHeadsItTurns) {
  Network network = SmallNetwork();
  network.ropes[0].rotated = 18;
  EXPECT_EQ(Problem(network), "layer 0: rope dimension is 18, expected 2 to 16");
  network.ropes[0].rotated = 15;
  EXPECT_EQ(Problem(network), "rope dimension is 15, expected an even number");
}

// Blocks run one after another in the same memory.
TEST(Workspace, HoldsTheLargestBlockOnce) {
  constexpr StepLimits kLimits = {.rows = 64, .logit_rows = 1, .threads = 1};
  Network network = SmallNetwork();
  const int64_t small = Workspace::Create(network, kLimits)->bytes();
  network.layers.resize(3, network.layers[0]);
  EXPECT_EQ(Workspace::Create(network, kLimits)->bytes(), small);
  std::get<Gated>(network.layers[2].feed_forward).hidden = 960;
  EXPECT_GT(Workspace::Create(network, kLimits)->bytes(), small);
}

}  // namespace
}  // namespace skald::model
