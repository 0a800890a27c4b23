// Promise 1 on what only Gemmas have (same_answer_test.cc says how): layers of two kinds that share
// K and V, what layers are told of a token, a mixture beside a feed-forward, several streams.

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>

#include "promises/any_schedule.h"
#include "support/random_model.h"

namespace skald {
namespace {

using promises::CheckLastRows;
using promises::CheckNetwork;

// Layers that keep different shapes of K and V, keys for values, a factor behind a layer.
TEST(Promise1, HoldsForGemma4) {
  CheckNetwork({.family = "gemma4",
                .dtype = tensor::DType::kQ8_0,
                .window = 9,
                .change =
                    [](model::Network& network) {
                      auto& far = std::get<model::Gqa>(network.layers[1].mixer);
                      far.kv_heads = 1;
                      far.key_dim = far.value_dim = 64;
                      far.window = 0;
                      far.rope = 0;
                      network.ropes[0].rotated = 64;
                      auto& near = std::get<model::Gqa>(network.layers[0].mixer);
                      near.values = model::ValueSource::kMatrix;
                      for (model::Layer& layer : network.layers) {
                        layer.scale = model::LayerScale::kLearned;
                      }
                    }},
               {300, 36, 1});
}

// A gated feed-forward and a mixture side by side, whose router has a norm of its own.
TEST(Promise1, HoldsForGemma4sMixture) {
  CheckNetwork({.family = "gemma4",
                .dtype = tensor::DType::kQ8_0,
                .embedding = 96,
                .feed_forward = 160,
                .window = 9,
                .experts = 7,
                .used_experts = 3,
                .change =
                    [](model::Network& network) {
                      for (model::Layer& layer : network.layers) {
                        auto& both = std::get<model::GatedAndExperts>(layer.feed_forward);
                        both.experts.hidden = 64;
                      }
                      auto& first =
                          std::get<model::GatedAndExperts>(network.layers[0].feed_forward);
                      first.experts.shared.hidden = 32;
                    }},
               {33, 64, 1});
}

// Each layer gets rows of its own of what is told of the token itself.
void TellLayersOfTokens(model::Network* network) {
  constexpr int64_t kInner = 32;
  network->layer_inputs = {.vocab = network->vocab,
                           .width = network->width,
                           .inner = kInner,
                           .layers = std::ssize(network->layers),
                           .norm = network->head.norm};
  int64_t first = 0;
  for (model::Layer& layer : network->layers) {
    layer.input = model::LayerInput{.width = network->width, .inner = kInner, .first = first};
    layer.input_output_norm = network->head.norm;
    first += kInner;
  }
}

// Layers that are told of the token itself; layers that read the keys and values of others.
TEST(Promise1, HoldsForGemma4sSmallOnes) {
  const auto change = [](model::Network& network) {
    network.layers.push_back(network.layers[0]);
    network.layers.push_back(network.layers[1]);
    for (const size_t owner : {0u, 1u}) {
      auto& gqa = std::get<model::Gqa>(network.layers[owner].mixer);
      gqa.values = model::ValueSource::kMatrix;
      gqa.kv_heads = owner == 0 ? 2 : 4;
      network.layers[owner + 2].mixer = gqa;
      std::get<model::Gqa>(network.layers[owner + 2].mixer).shared_kv = static_cast<int64_t>(owner);
    }
    TellLayersOfTokens(&network);
    for (model::Layer& layer : network.layers) layer.scale = model::LayerScale::kLearned;
  };
  CheckNetwork({.family = "gemma4", .dtype = tensor::DType::kQ8_0, .window = 9, .change = change},
               {100, 36, 1});
  CheckLastRows(change);
}

// Streams side by side, a residual of low rank, gates that are cut, layers that share.
TEST(Promise1, HoldsForGemma3n) {
  const auto change = [](model::Network& network) {
    network.layers.push_back(network.layers[0]);
    std::get<model::Gqa>(network.layers[2].mixer).shared_kv = 0;
    network.streams = {.width = network.width, .count = 3};
    TellLayersOfTokens(&network);
    for (model::Layer& layer : network.layers) {
      layer.alt_up =
          model::AltUp{.width = network.width, .streams = 3, .router_norm = network.head.norm};
      layer.laurel = model::Laurel{.width = network.width, .rank = 32, .norm = network.head.norm};
    }
    std::get<model::Gated>(network.layers[0].feed_forward).sparsity = 0.5f;
  };
  CheckNetwork({.family = "gemma3", .dtype = tensor::DType::kQ8_0, .window = 9, .change = change},
               {100, 36, 1});
  CheckLastRows(change);
}

}  // namespace
}  // namespace skald
