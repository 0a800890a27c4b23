// What network_from_gguf.h makes of files of Gemma 4.

#include <gtest/gtest.h>

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

TEST(NetworkFromGguf, WhatGemma4sOthersHaveIsRefused) {
  GgufBuilder inputs = Gemma4File();
  inputs.Key("gemma4.embedding_length_per_layer_input", uint32_t{256});
  ExpectError(inputs, ErrorCode::kUnsupported, "'gemma4.embedding_length_per_layer_input' is 256");
  GgufBuilder shared = Gemma4File();
  shared.Key("gemma4.attention.shared_kv_layers", uint32_t{1});
  ExpectError(shared, ErrorCode::kUnsupported, "'gemma4.attention.shared_kv_layers' is 1");
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

}  // namespace
}  // namespace skald::load
