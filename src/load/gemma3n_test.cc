// What network_from_gguf.h makes of files of Gemma 3n.

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "load/network_file_for_test.h"

namespace skald::load {
namespace {

GgufBuilder Gemma3nFile(uint32_t layers = 6, uint32_t inner = 16) {
  return FileWith({.arch = "gemma3n", .layers = layers})
      .Key("gemma3n.attention.sliding_window", uint32_t{5})
      .Key("gemma3n.embedding_length_per_layer_input", inner);
}

const model::Gated& GatedOf(const model::Network& network, size_t layer) {
  return std::get<model::Gated>(network.layers[layer].feed_forward);
}

TEST(NetworkFromGguf, Gemma3nHasStreamsLaurelAndInputsInEveryLayer) {
  const Result<model::Network> network = Read(Gemma3nFile());
  ASSERT_TRUE(network.ok()) << network.status().message();
  EXPECT_EQ(network->streams.count, 4);
  EXPECT_EQ(network->head.soft_cap, 30);
  for (const model::Layer& layer : network->layers) {
    ASSERT_TRUE(layer.alt_up && layer.laurel && layer.input);
    EXPECT_EQ(layer.alt_up->streams, 4);
    EXPECT_EQ(layer.laurel->rank, 64);
    EXPECT_EQ(std::get<model::Gqa>(layer.mixer).scale, 1);
    EXPECT_EQ(std::get<model::Gqa>(layer.mixer).value_norm, model::ValueNorm::kRms);
  }
  EXPECT_EQ(First(*network).window, 5);
  EXPECT_EQ(std::get<model::Gqa>(network->layers[4].mixer).window, 0);
  EXPECT_EQ(std::get<model::Gqa>(network->layers[4].mixer).rope, 0u);
}

TEST(NetworkFromGguf, Gemma3nsLayersBeyondTwentyShareKeysAndValues) {
  const auto owner = [](const GgufBuilder& file, size_t layer) {
    return std::get<model::Gqa>(Read(file)->layers[layer].mixer).shared_kv;
  };
  EXPECT_EQ(owner(Gemma3nFile(22), 19), std::nullopt);
  EXPECT_EQ(owner(Gemma3nFile(22), 20), 18);
  EXPECT_EQ(owner(Gemma3nFile(25), 24), 19);
  const std::string key = "gemma3n.attention.shared_kv_layers";
  EXPECT_EQ(owner(Gemma3nFile(22).Key(key, uint32_t{1}), 20), std::nullopt);
  ExpectError(Gemma3nFile(22).Key(key, uint32_t{22}), ErrorCode::kBadModel,
              key + " is 22, expected 0 to 21");
  ExpectError(Gemma3nFile(6).Key(key, uint32_t{5}), ErrorCode::kBadModel,
              "found no layer of its kind before the 5 that share");
}

TEST(NetworkFromGguf, Gemma3nsGatesAreSparseWhereTheFileSaysOrInTheFirstTen) {
  const Result<model::Network> usual = Read(Gemma3nFile(12));
  EXPECT_NEAR(GatedOf(*usual, 9).sparsity, 1.6448536, 1e-6);
  EXPECT_EQ(GatedOf(*usual, 10).sparsity, 0);
  const std::string key = "gemma3n.activation_sparsity_scale";
  const float none = -HUGE_VALF;
  const GgufBuilder file = Gemma3nFile(3).Key(key, std::vector<float>{none, 0.5f, none});
  EXPECT_EQ(GatedOf(*Read(file), 0).sparsity, 0);
  EXPECT_EQ(GatedOf(*Read(file), 1).sparsity, 0.5f);
  EXPECT_EQ(GatedOf(*Read(file), 1).spread, model::Spread::kOfAll);
  EXPECT_EQ(GatedOf(*Read(file, Conventions::kLlamaCpp), 1).spread, model::Spread::kOfOneLess);
  for (const float wrong : {HUGE_VALF, std::nanf(""), -1.0f}) {
    ExpectError(Gemma3nFile(3).Key(key, std::vector<float>{none, wrong, none}),
                ErrorCode::kBadModel, key + " is ");
  }
  ExpectError(Gemma3nFile(3).Key(key, std::vector<float>{none}), ErrorCode::kBadModel,
              "has 1 numbers, expected one per layer (3)");
}

TEST(NetworkFromGguf, Gemma3nsStreamsAreSeveralAndTheFirstIsActive) {
  const std::string count = "gemma3n.altup.num_inputs";
  EXPECT_EQ(Read(Gemma3nFile().Key(count, uint32_t{2}))->streams.count, 2);
  for (const uint32_t wrong : {0u, 1u, 17u}) {
    ExpectError(Gemma3nFile().Key(count, wrong), ErrorCode::kBadModel,
                count + " is " + std::to_string(wrong) + ", expected 2 to 16");
  }
  ExpectError(Gemma3nFile().Key("gemma3n.altup.active_idx", uint32_t{1}), ErrorCode::kUnsupported,
              "gemma3n.altup.active_idx is 1, expected 0");
  ExpectError(Gemma3nFile(6, 0), ErrorCode::kBadModel,
              "gemma3n.embedding_length_per_layer_input is 0, expected 1 to");
}

}  // namespace
}  // namespace skald::load
