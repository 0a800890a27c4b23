// What network_from_gguf.h makes of files of Trinity, Step 3.5, MiMo-V2 and GPT-2, and of those
// whose heads have LayerNorms.

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "load/network_file_for_test.h"

namespace skald::load {
namespace {

// Four layers with experts, behind a dense one where no tensor tells.
GgufBuilder SparseFile(const std::string& arch) {
  GgufBuilder file = FileWith({.arch = arch, .layers = 4});
  file.Key(arch + ".attention.sliding_window", uint32_t{5})
      .Key(arch + ".leading_dense_block_count", uint32_t{1})
      .Key(arch + ".expert_count", uint32_t{8})
      .Key(arch + ".expert_used_count", uint32_t{2})
      .Key(arch + ".expert_feed_forward_length", uint32_t{16})
      .Key(arch + ".expert_shared_count", uint32_t{1});
  return file;
}

const model::Gqa& Attention(const model::Network& network, size_t layer) {
  return std::get<model::Gqa>(network.layers[layer].mixer);
}

TEST(NetworkFromGguf, TrinityGatesItsHeads) {
  const Result<model::Network> network = Read(SparseFile("afmoe"));
  ASSERT_TRUE(network.ok()) << network.status().message();
  EXPECT_EQ(network->embedding_scale, 8.0f);
  EXPECT_EQ(Attention(*network, 0).output_gate, model::OutputGate::kSigmoidOfMatrix);
  EXPECT_EQ(Attention(*network, 0).window, 5);
  EXPECT_EQ(Attention(*network, 3).window, 0);
  EXPECT_EQ(Attention(*network, 3).rope, std::nullopt);
  EXPECT_EQ(std::get<model::Experts>(network->layers[1].feed_forward).shared.hidden, 16);
}

GgufBuilder StepFile(const std::vector<float>& limits) {
  GgufBuilder file = SparseFile("step35");
  file.Key("step35.attention.sliding_window_pattern", std::vector<uint32_t>{0, 1, 1, 0})
      .Key("step35.rope.freq_base_swa", 100.0f)
      .Key("step35.swiglu_clamp_shexp", limits);
  return file;
}

TEST(NetworkFromGguf, LayersOfStepThatSeeAllTurnHalfAsMuch) {
  const Result<model::Network> network = Read(StepFile({0, 0, 0.5f, 1}));
  ASSERT_TRUE(network.ok()) << network.status().message();
  EXPECT_EQ(network->ropes[0].rotated, 8);
  EXPECT_EQ(network->ropes[0].factor_count(), 8);
  EXPECT_EQ(network->ropes[1].rotated, 16);
  EXPECT_EQ(network->ropes[1].base, 100);
  EXPECT_EQ(Attention(*network, 1).rope, 1u);
  EXPECT_EQ(Attention(*network, 3).gate_width(), 4);
  // No tensor of this file is a router: all layers are dense.
  EXPECT_EQ(std::get<model::Gated>(network->layers[2].feed_forward).limit, 0.5f);
}

TEST(NetworkFromGguf, LimitsThatMakeNoSenseAreNamed) {
  ExpectError(StepFile({0, 0, 1}), ErrorCode::kBadModel,
              "'step35.swiglu_clamp_shexp' has 3 numbers, expected one per layer (4)");
  ExpectError(StepFile({0, -1, 0, 0}), ErrorCode::kBadModel, "limit of the gates is -1");
  GgufBuilder odd = StepFile({0, 0, 0, 0});
  odd.Key("step35.rope.dimension_count", uint32_t{2});
  ExpectError(odd, ErrorCode::kBadModel, "rope dimension is 1");
}

TEST(NetworkFromGguf, LayersOfMimoWithWindowsHaveSinks) {
  GgufBuilder file = SparseFile("mimo2");
  file.Key("mimo2.attention.sliding_window_pattern", std::vector<uint32_t>{0, 1, 1, 0})
      .Key("mimo2.attention.value_scale", 0.5f);
  const Result<model::Network> network = Read(file);
  ASSERT_TRUE(network.ok()) << network.status().message();
  EXPECT_EQ(Attention(*network, 0).sinks, model::Sinks::kNone);
  EXPECT_EQ(Attention(*network, 1).sinks, model::Sinks::kOnePerHead);
  EXPECT_EQ(Attention(*network, 1).value_scale, 0.5f);
  GgufBuilder zero = SparseFile("mimo2");
  zero.Key("mimo2.attention.value_scale", 0.0f);
  ExpectError(zero, ErrorCode::kBadModel, "attention value scale is 0");
}

TEST(NetworkFromGguf, Gpt2HasLearnedPositions) {
  GgufBuilder file = FileWith({.arch = "gpt2"});
  file.Key("gpt2.attention.layer_norm_epsilon", 1e-5f);
  Result<model::Network> network = Read(file);
  ASSERT_TRUE(network.ok()) << network.status().message();
  EXPECT_TRUE(network->ropes.empty());
  bool found = false;
  for (const model::TensorSlot& slot : model::TensorsOf(*network)) {
    if (slot.name != "position_embd.weight") continue;
    found = true;
    EXPECT_EQ(slot.rows, 128);  // its trained context
    EXPECT_EQ(slot.cols, 64);
  }
  EXPECT_TRUE(found);
}

TEST(NetworkFromGguf, HeadsHaveLayerNormsWhereTheFileHasTheirWeights) {
  for (const std::string arch : {"command-r", "stablelm"}) {
    GgufBuilder file = FileWith({.arch = arch});
    file.Key(arch + ".attention.layer_norm_epsilon", 1e-5f);
    EXPECT_EQ(First(*Read(file)).head_norm, model::HeadNorm::kNone);
    file.Tensor({.name = "blk.0.attn_q_norm.weight", .dims = {16, 4}});
    EXPECT_EQ(First(*Read(file)).head_norm, model::HeadNorm::kLayerOfEachHead);
  }
}

}  // namespace
}  // namespace skald::load
