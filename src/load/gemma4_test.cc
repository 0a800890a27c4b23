// What network_from_gguf.h makes of files of Gemma 4.

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "load/network_file_for_test.h"

namespace skald::load {
namespace {

GgufBuilder Gemma4File(uint32_t near_values = 32) {
  GgufBuilder file = FileWith({.arch = "gemma4", .layers = 3});
  file.Key("gemma4.attention.sliding_window", uint32_t{5});
  file.Key("gemma4.attention.sliding_window_pattern", std::vector<uint32_t>{1, 1, 0});
  file.Key("gemma4.attention.key_length", uint32_t{64});
  file.Key("gemma4.attention.value_length", uint32_t{64});
  file.Key("gemma4.attention.key_length_swa", uint32_t{32});
  file.Key("gemma4.attention.value_length_swa", near_values);
  file.Key("gemma4.rope.dimension_count", uint32_t{64});
  file.Key("gemma4.rope.dimension_count_swa", uint32_t{32});
  return file;
}

TEST(NetworkFromGguf, Gemma4sNearLayersHaveHeadsOfTheirOwn) {
  const Result<model::Network> network = Read(Gemma4File());
  ASSERT_TRUE(network.ok()) << network.status().message();
  EXPECT_EQ(First(*network).window, 5);
  EXPECT_EQ(std::get<model::Gqa>(network->layers[2].mixer).window, 0);
  EXPECT_EQ(First(*network).key_dim, 32);
  EXPECT_EQ(std::get<model::Gqa>(network->layers[2].mixer).value_dim, 64);
  EXPECT_EQ(network->ropes[1].rotated, 32);
  EXPECT_TRUE(network->ropes[1].factors_name.empty());
  EXPECT_EQ(network->ropes[0].factors_name, "rope_freqs.weight");
}

TEST(NetworkFromGguf, KeysOfGemma4ThatServeAsValuesHaveTheirLength) {
  // Without attn_v keys are values.
  ExpectError(Gemma4File(16), ErrorCode::kBadModel,
              "value length is 16, expected that of keys, 32");
}

TEST(NetworkFromGguf, Gemma4sMixtureStandsBesideTheGatedFeedForward) {
  const auto file = [](uint32_t count, uint32_t used) {
    GgufBuilder built = Gemma4File();
    built.Key("gemma4.expert_count", count)
        .Key("gemma4.expert_used_count", used)
        .Key("gemma4.expert_feed_forward_length", uint32_t{16});
    return built;
  };
  const Result<model::Network> network = Read(file(8, 2));
  ASSERT_TRUE(network.ok()) << network.status().message();
  const auto& both = std::get<model::GatedAndExperts>(network->layers[1].feed_forward);
  EXPECT_EQ(both.gated.hidden, 96);
  EXPECT_EQ(both.experts.hidden, 16);
  EXPECT_EQ(both.experts.score_scale, 0.125f);
  ExpectError(file(8, 0), ErrorCode::kBadModel, "used experts is 0");
  ExpectError(file(8, 9), ErrorCode::kBadModel, "used experts is 9");
}

// Four layers, every second with a window, of which the last `shared` share.
GgufBuilder SharingFile(uint32_t shared, const std::vector<uint32_t>& windows = {1, 0, 1, 0},
                        const std::vector<uint32_t>& kv_heads = {2, 1, 2, 1}) {
  GgufBuilder file;
  file.Key("general.architecture", "gemma4")
      .Key("gemma4.block_count", uint32_t{4})
      .Key("gemma4.embedding_length", uint32_t{64})
      .Key("gemma4.attention.head_count", uint32_t{4})
      .Key("gemma4.attention.head_count_kv", kv_heads)
      .Key("gemma4.feed_forward_length", uint32_t{96})
      .Key("gemma4.context_length", uint32_t{128})
      .Key("gemma4.attention.layer_norm_rms_epsilon", 1e-5f)
      .Key("gemma4.attention.sliding_window", uint32_t{5})
      .Key("gemma4.attention.sliding_window_pattern", windows)
      .Key("gemma4.attention.shared_kv_layers", shared)
      .Key("tokenizer.ggml.tokens", std::vector<std::string>{"a", "b", "c"});
  return file;
}

TEST(NetworkFromGguf, TheLastLayersOfGemma4MayShareKeysAndValues) {
  const Result<model::Network> network = Read(SharingFile(2));
  ASSERT_TRUE(network.ok()) << network.status().message();
  EXPECT_EQ(std::get<model::Gqa>(network->layers[1].mixer).shared_kv, std::nullopt);
  EXPECT_EQ(std::get<model::Gqa>(network->layers[2].mixer).shared_kv, 0);
  EXPECT_EQ(std::get<model::Gqa>(network->layers[3].mixer).shared_kv, 1);
  EXPECT_EQ(model::KvLayoutOf(*network, kernels::KvType::kF16).layers.size(), 2u);
  // The last layer of its kind among those that have some.
  const Result<model::Network> far = Read(SharingFile(1, {0, 0, 1, 0}, {1, 1, 2, 1}));
  ASSERT_TRUE(far.ok()) << far.status().message();
  EXPECT_EQ(std::get<model::Gqa>(far->layers[3].mixer).shared_kv, 1);
}

TEST(NetworkFromGguf, SharingThatMakesNoSenseIsNamed) {
  ExpectError(SharingFile(4), ErrorCode::kBadModel, "gemma4.attention.shared_kv_layers is 4");
  ExpectError(SharingFile(3), ErrorCode::kBadModel, "layer 1 shares keys and values");
  ExpectError(SharingFile(2, {1, 0, 1, 0}, {2, 1, 1, 1}), ErrorCode::kBadModel,
              "layer 2 reads the keys and values of another layer");
}

TEST(NetworkFromGguf, LayersOfGemma4MayBeToldOfTheToken) {
  const auto file = [](uint32_t inner) {
    GgufBuilder built = SharingFile(0);
    built.Key("gemma4.embedding_length_per_layer_input", inner);
    return built;
  };
  const Result<model::Network> network = Read(file(16));
  ASSERT_TRUE(network.ok()) << network.status().message();
  EXPECT_EQ(network->layer_inputs.row_width(), 64);
  EXPECT_EQ(network->layers[3].input->first, 48);
  EXPECT_FALSE(Read(file(0))->layers[0].input.has_value());
  ExpectError(file(1u << 31), ErrorCode::kBadModel,
              "embedding_length_per_layer_input is 2147483648");
  ExpectError(file(1u << 19), ErrorCode::kBadModel, "layer inputs of a token is");
}

}  // namespace
}  // namespace skald::load
