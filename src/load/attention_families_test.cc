// What network_from_gguf.h makes of families whose layers see, turn or weigh in different ways. A
// mistake in a switch that no key spells out shows here where no file of the family is.

#include <gtest/gtest.h>

#include <string>

#include "load/network_file_for_test.h"

namespace skald::load {
namespace {

const model::Gqa& LayerOf(const Result<model::Network>& network, size_t layer) {
  return std::get<model::Gqa>(network->layers[layer].mixer);
}

GgufBuilder MixtureFile(const std::string& arch, uint32_t experts) {
  GgufBuilder file = FileWith({.arch = arch, .layers = 4});
  file.Key(arch + ".expert_count", experts);
  file.Key(arch + ".expert_used_count", uint32_t{1});
  file.Key(arch + ".expert_feed_forward_length", uint32_t{32});
  return file;
}

TEST(AttentionOfFamilies, GptOssSeesAWindowInEverySecondLayerAndTurnsInAll) {
  const Result<model::Network> network =
      Read(MixtureFile("gpt-oss", 4).Key("gpt-oss.attention.sliding_window", uint32_t{7}));
  ASSERT_TRUE(network.ok()) << network.status().message();
  for (size_t layer = 0; layer < 4; ++layer) {
    EXPECT_EQ(LayerOf(network, layer).window, layer % 2 == 0 ? 7 : 0) << layer;
    EXPECT_EQ(LayerOf(network, layer).rope, 0) << layer;
    EXPECT_EQ(LayerOf(network, layer).bias, model::Presence::kRequired) << layer;
  }
}

// Published: attention_chunk_size 8192, floor_scale 8192, attn_scale 0.1, in layers without RoPE.
TEST(AttentionOfFamilies, Llama4SeesChunksOrLetsQueriesGrow) {
  const Result<model::Network> network = Read(MixtureFile("llama4", 16));
  ASSERT_TRUE(network.ok()) << network.status().message();
  for (size_t layer = 0; layer < 3; ++layer) {
    const model::Gqa& near = LayerOf(network, layer);
    EXPECT_EQ(near.chunk, 8192);
    EXPECT_EQ(near.rope, 0);
    EXPECT_EQ(near.head_norm, model::HeadNorm::kRmsWithoutWeight);
    EXPECT_EQ(near.head_norm_place, model::HeadNormPlace::kBehindRope);
    EXPECT_EQ(near.temperature.scale, 0);
  }
  const model::Gqa& far = LayerOf(network, 3);
  EXPECT_EQ(far.chunk, 0);
  EXPECT_FALSE(far.rope);
  EXPECT_EQ(far.head_norm, model::HeadNorm::kNone);
  EXPECT_EQ(far.temperature.scale, 0.1);
  EXPECT_EQ(far.temperature.length, 8192);
  EXPECT_EQ(far.temperature.shift, 1);
  // Maverick, with 128 experts, norms no heads.
  EXPECT_EQ(LayerOf(Read(MixtureFile("llama4", 128)), 0).head_norm, model::HeadNorm::kNone);
}

TEST(AttentionOfFamilies, Gemma2CapsScoresAndLogits) {
  const Result<model::Network> usual = Read(FileWith({.arch = "gemma2"}));
  ASSERT_TRUE(usual.ok()) << usual.status().message();
  EXPECT_EQ(LayerOf(usual, 0).soft_cap, 50);
  EXPECT_EQ(usual->head.soft_cap, 30);
  const Result<model::Network> given = Read(FileWith({.arch = "gemma2"})
                                                .Key("gemma2.attn_logit_softcapping", 4.0f)
                                                .Key("gemma2.final_logit_softcapping", 5.0f));
  EXPECT_EQ(LayerOf(given, 1).soft_cap, 4);
  EXPECT_EQ(given->head.soft_cap, 5);
}

TEST(AttentionOfFamilies, Gemma3TurnsByAnUnscaledBaseOfItsOwnWithinWindows) {
  const auto file = [] {
    return FileWith({.arch = "gemma3", .layers = 7})
        .Key("gemma3.attention.sliding_window", uint32_t{5})
        .Key("gemma3.rope.freq_base", 1e6f)
        .Key("gemma3.rope.scaling.type", "linear")
        .Key("gemma3.rope.scaling.factor", 8.0f);
  };
  const Result<model::Network> network = Read(file());
  ASSERT_TRUE(network.ok()) << network.status().message();
  ASSERT_EQ(network->ropes.size(), 2u);
  EXPECT_EQ(network->ropes[0].base, 1e6);
  EXPECT_EQ(network->ropes[0].scaling, model::RopeScaling::kLinear);
  EXPECT_EQ(network->ropes[1].base, 10000);
  EXPECT_EQ(network->ropes[1].scaling, model::RopeScaling::kNone);
  for (size_t layer = 0; layer < 7; ++layer) {
    EXPECT_EQ(LayerOf(network, layer).rope, layer == 5 ? 0 : 1) << layer;
  }
  EXPECT_EQ(Read(file().Key("gemma3.rope.freq_base_swa", 500.0f))->ropes[1].base, 500);
}

// Published: the layers with windows turn as they were trained, the others by YaRN.
TEST(AttentionOfFamilies, Olmo3StretchesTheContextWhereALayerSeesAll) {
  const Result<model::Network> network =
      Read(FileWith({.arch = "olmo2", .layers = 4})
               .Key("olmo2.attention.sliding_window", uint32_t{5})
               .Key("olmo2.rope.scaling.type", "yarn")
               .Key("olmo2.rope.scaling.factor", 8.0f)
               .Key("olmo2.rope.scaling.original_context_length", uint32_t{64}));
  ASSERT_TRUE(network.ok()) << network.status().message();
  ASSERT_EQ(network->ropes.size(), 2u);
  EXPECT_EQ(network->ropes[0].scaling, model::RopeScaling::kYarn);
  EXPECT_EQ(network->ropes[1].scaling, model::RopeScaling::kNone);
  EXPECT_EQ(ComputeRopeFrequencies(network->ropes[1]).magnitude, 1);
  for (size_t layer = 0; layer < 4; ++layer) {
    EXPECT_EQ(LayerOf(network, layer).rope, layer == 3 ? 0 : 1) << layer;
    EXPECT_EQ(LayerOf(network, layer).window, layer == 3 ? 0 : 5) << layer;
  }
}

}  // namespace
}  // namespace skald::load
