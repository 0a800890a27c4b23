// Promise 1 on the forward pass: a row's logits are the same bits whatever the chunks its prompt
// was cut into, the sequences beside it, the pages it lies in, the threads, the tiles and the
// instruction set. The reference is the plainest run there is: scalar kernels, one thread, one
// token at a time, alone.

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "promises/any_schedule.h"
#include "support/random_model.h"

namespace skald {
namespace {

using promises::CheckLastMixer;
using promises::CheckLastRows;
using promises::CheckNetwork;
using promises::RandomPrompts;
using promises::RunAll;
using promises::Runner;

// Rows whose hidden states are wanted stand beside rows whose logits are, and beside rows of which
// nothing is: each has the bits that the LM head is given for it.
TEST(Promise1, HiddenStatesAreWhatTheHeadIsGiven) {
  const model::Transformer network = support::MakeRandomModel({.dtype = tensor::DType::kQ4_K});
  const std::vector<TokenId> tokens = RandomPrompts({40}, network.network().vocab).front();
  const std::vector<kv::PageId> pages = {0, 1};
  const std::vector<model::SequenceRows> rows = {{40, 0, pages}};
  std::vector<int32_t> all(tokens.size());
  std::iota(all.begin(), all.end(), 0);
  Runner head(network, {}, kernels::KvType::kF16);
  head.Forward({.tokens = tokens, .sequences = rows, .logit_rows = all});
  for (const size_t logits : {0u, 1u, 17u}) {
    const auto logit_rows = std::span(all).first(logits);
    const auto hidden_rows = std::span(all).subspan(logits + 2);
    Runner mixed(network, {.threads = 2}, kernels::KvType::kF16);
    mixed.Forward({.tokens = tokens,
                   .sequences = rows,
                   .logit_rows = logit_rows,
                   .hidden_rows = hidden_rows});
    for (size_t i = 0; i < logit_rows.size(); ++i) {
      EXPECT_EQ(mixed.LogitRow(static_cast<int64_t>(i)), head.LogitRow(logit_rows[i]));
    }
    for (size_t i = 0; i < hidden_rows.size(); ++i) {
      EXPECT_EQ(mixed.HiddenRow(static_cast<int64_t>(i)), head.HiddenRow(hidden_rows[i]));
    }
  }
}

model::Mamba2 StateSpace(const model::Network& network) {
  return {
      .width = network.width, .heads = 4, .head_dim = 32, .state_dim = 16, .groups = 2, .taps = 4};
}

TEST(Promise1, RowsOfWhichNothingIsWantedChangeTheStateAllTheSame) {
  CheckLastMixer(model::ShortConv{.width = 256, .taps = 3});
  CheckLastMixer(model::DeltaNet{
      .width = 256, .key_heads = 2, .value_heads = 4, .key_dim = 16, .value_dim = 32, .taps = 4});
  CheckLastMixer(model::Kda{.width = 256, .heads = 3, .head_dim = 24, .taps = 4});
  CheckLastMixer(model::Mamba2{
      .width = 256, .heads = 4, .head_dim = 32, .state_dim = 16, .groups = 2, .taps = 4});
  CheckLastMixer(model::Mamba2{.width = 256,
                               .heads = 4,
                               .head_dim = 32,
                               .state_dim = 16,
                               .groups = 2,
                               .taps = 4,
                               .group_norm = model::GroupNorm::kNone});
}

// The same of a layer with two mixers, and where layers without any stand behind the last mixer.
TEST(Promise1, RowsGoOnAloneBehindTheLastMixer) {
  CheckLastRows([](model::Network& network) {
    network.layers.back().beside = StateSpace(network);
    network.layers.back().order = model::LayerOrder::kParallel;
    network.layers.back().feed_forward_norm.kind = model::NormKind::kNone;
  });
  CheckLastRows(
      [](model::Network& network) { network.layers.back().beside = StateSpace(network); });
  CheckLastRows([](model::Network& network) {
    network.layers.back().mixer = model::None{};
    network.layers.back().mixer_norm.kind = model::NormKind::kNone;
  });
}

// The queries of latent attention move before they are multiplied, or behind.
TEST(Promise1, RowsOfWhichNothingIsWantedLeaveTheirLatents) {
  for (const int64_t query_rank : {0, 32}) {
    CheckLastMixer(model::Mla{.width = 256,
                              .heads = 3,
                              .nope_dim = 24,
                              .rope_dim = 32,
                              .value_dim = 8,
                              .rank = 32,
                              .query_rank = query_rank,
                              .scale = 0.2f});
  }
}

class EveryWeightType : public testing::TestWithParam<tensor::DType> {};

TEST_P(EveryWeightType, GivesTheSameBitsUnderAnySchedule) {
  CheckNetwork({.dtype = GetParam()}, {45, 1, 70});
}

INSTANTIATE_TEST_SUITE_P(
    Promise1, EveryWeightType,
    testing::Values(tensor::DType::kF32, tensor::DType::kF16, tensor::DType::kBF16,
                    tensor::DType::kQ8_0, tensor::DType::kQ4_0, tensor::DType::kQ4_1,
                    tensor::DType::kQ5_0, tensor::DType::kQ5_1, tensor::DType::kQ2_K,
                    tensor::DType::kQ3_K, tensor::DType::kQ4_K, tensor::DType::kQ5_K,
                    tensor::DType::kQ6_K, tensor::DType::kIQ4_NL, tensor::DType::kIQ4_XS,
                    tensor::DType::kMXFP4, tensor::DType::kIQ2_XXS, tensor::DType::kIQ2_XS,
                    tensor::DType::kIQ2_S, tensor::DType::kIQ3_XXS, tensor::DType::kIQ3_S,
                    tensor::DType::kIQ1_S, tensor::DType::kIQ1_M, tensor::DType::kTQ1_0,
                    tensor::DType::kTQ2_0, tensor::DType::kQ1_0, tensor::DType::kQ2_0,
                    tensor::DType::kNVFP4),
    [](const auto& instance) { return std::string(tensor::InfoOf(instance.param).name); });

TEST(Promise1, HoldsAcrossAttentionPartitions) {
  CheckNetwork({.dtype = tensor::DType::kQ8_0,
                .embedding = 64,
                .heads = 2,
                .kv_heads = 1,
                .feed_forward = 96},
               {600, 257, 255});
}

TEST(Promise1, HoldsForQwen2WithBiases) {
  CheckNetwork({.family = "qwen2", .dtype = tensor::DType::kQ4_K}, {33, 64});
}

TEST(Promise1, HoldsForQwen3WithHeadNorms) {
  CheckNetwork({.family = "qwen3", .dtype = tensor::DType::kQ6_K}, {33, 64});
}

TEST(Promise1, HoldsForLayersOfDifferentShapes) {
  CheckNetwork({.dtype = tensor::DType::kQ8_0,
                .change =
                    [](model::Network& network) {
                      std::get<model::Gqa>(network.layers[0].mixer).rope.reset();
                      auto& second = std::get<model::Gqa>(network.layers[1].mixer);
                      second.heads = 4;
                      second.window = 9;
                      second.rope = network.ropes.size();
                      network.ropes.push_back(network.ropes[0]);
                      network.ropes.back().base = 100;
                      std::get<model::Gated>(network.layers[0].feed_forward).hidden = 96;
                    }},
               {33, 64});
}

// States lie in slots that others have used, or full of NaN, and rows pass over them in any chunks.
TEST(Promise1, HoldsForShortConvolutions) {
  for (const int64_t taps : {2, 3, 4}) {
    CheckNetwork({.dtype = taps == 3 ? tensor::DType::kQ4_K : tensor::DType::kF32,
                  .change =
                      [taps](model::Network& network) {
                        network.layers.push_back(network.layers[0]);
                        for (const size_t layer : {0u, 2u}) {
                          network.layers[layer].mixer =
                              model::ShortConv{.width = network.width, .taps = taps};
                        }
                      }},
                 {33, 64, 1});
  }
}

// As many key heads as value heads or fewer, in either order, gates in two tensors or one, and
// gated attention behind it.
TEST(Promise1, HoldsForDeltaNets) {
  for (const int64_t key_heads : {1, 2, 4}) {
    CheckNetwork(
        {.dtype = key_heads == 2 ? tensor::DType::kQ4_K : tensor::DType::kF32,
         .change =
             [key_heads](model::Network& network) {
               std::get<model::Gqa>(network.layers[1].mixer).output_gate =
                   model::OutputGate::kSigmoid;
               network.layers.insert(network.layers.begin() + 1, network.layers[0]);
               for (const size_t layer : {0u, 1u}) {
                 network.layers[layer].mixer = model::DeltaNet{
                     .width = network.width,
                     .key_heads = key_heads,
                     .value_heads = 4,
                     .key_dim = 24,
                     .value_dim = 64,
                     .taps = 4,
                     .order = layer == 0 ? model::KeyHeadOrder::kModulo
                                         : model::KeyHeadOrder::kNeighbours,
                     .projections =
                         key_heads == 2 ? model::Fusion::kFused : model::Fusion::kSeparate,
                     .gates = layer == 0 ? model::Fusion::kSeparate : model::Fusion::kFused,
                     .norm_epsilon = 1e-5f};
               }
             }},
        {33, 64, 1});
  }
}

// As the delta nets, where each element of the keys decays; heads that are no multiple of a panel.
TEST(Promise1, HoldsForKimiDeltaAttention) {
  for (const int64_t head_dim : {32, 20}) {
    CheckNetwork({.dtype = head_dim == 32 ? tensor::DType::kQ8_0 : tensor::DType::kF32,
                  .change =
                      [head_dim](model::Network& network) {
                        network.layers.push_back(network.layers[0]);
                        for (const size_t layer : {0u, 2u}) {
                          network.layers[layer].mixer = model::Kda{.width = network.width,
                                                                   .heads = 3,
                                                                   .head_dim = head_dim,
                                                                   .taps = 4,
                                                                   .norm_epsilon = 1e-5f};
                        }
                      }},
                 {33, 64, 1});
  }
}

TEST(Promise1, HoldsForStateSpaces) {
  for (const int64_t groups : {1, 2, 4}) {
    CheckNetwork({.dtype = groups == 2 ? tensor::DType::kQ4_K : tensor::DType::kF32,
                  .change =
                      [groups](model::Network& network) {
                        network.layers.push_back(network.layers[0]);
                        for (const size_t layer : {0u, 2u}) {
                          network.layers[layer].mixer = model::Mamba2{.width = network.width,
                                                                      .heads = 4,
                                                                      .head_dim = 64,
                                                                      .state_dim = 24,
                                                                      .groups = groups,
                                                                      .taps = 4,
                                                                      .norm_epsilon = 1e-5f};
                        }
                      }},
                 {33, 64, 1});
  }
}

// Attention and a state space side by side, also where the rows are cut.
TEST(Promise1, HoldsForTwoMixersInALayer) {
  for (const bool parallel : {false, true}) {
    CheckNetwork({.dtype = tensor::DType::kQ8_0,
                  .change =
                      [parallel](model::Network& network) {
                        for (model::Layer& layer : network.layers) {
                          layer.beside = StateSpace(network);
                          if (!parallel) continue;
                          layer.order = model::LayerOrder::kParallel;
                          layer.feed_forward_norm.kind = model::NormKind::kNone;
                        }
                      }},
                 {33, 64, 1});
  }
}

// Layers of one block: state spaces alone, and all three kinds by turns, a feed-forward without a
// gate before the first mixer and behind the last.
TEST(Promise1, HoldsForLayersOfOneBlock) {
  const auto alone = [](model::Network& network) {
    for (model::Layer& layer : network.layers) {
      layer.mixer = StateSpace(network);
      layer.feed_forward = model::None{};
      layer.feed_forward_norm.kind = model::NormKind::kNone;
    }
    network.ropes.clear();
  };
  CheckNetwork({.change = alone}, {33, 64, 1});
  const auto by_turns = [](model::Network& network) {
    model::Layer mixing = network.layers[0];
    mixing.feed_forward = model::None{};
    mixing.feed_forward_norm.kind = model::NormKind::kNone;
    model::Layer feeding = network.layers[0];
    feeding.mixer = model::None{};
    feeding.mixer_norm.kind = model::NormKind::kNone;
    feeding.feed_forward_norm.name = "attn_norm";
    feeding.feed_forward = model::Plain{
        .width = network.width, .hidden = 160, .function = model::Activation::kReluSquared};
    network.layers = {feeding, mixing, mixing, feeding, feeding};
    network.layers[2].mixer = StateSpace(network);
  };
  CheckNetwork({.dtype = tensor::DType::kQ8_0, .change = by_turns}, {33, 64, 1});
}

// Experts without a gate, on the rows of the stream and on narrower ones.
TEST(Promise1, HoldsForExpertsWithoutAGateAndLatentOnes) {
  for (const int64_t latent : {0, 64}) {
    CheckNetwork({.family = "qwen3moe",
                  .dtype = tensor::DType::kQ8_0,
                  .feed_forward = 96,
                  .experts = 7,
                  .used_experts = 3,
                  .change =
                      [latent](model::Network& network) {
                        for (model::Layer& layer : network.layers) {
                          auto& experts = std::get<model::Experts>(layer.feed_forward);
                          experts.latent = latent;
                          experts.form = model::ExpertForm::kPlain;
                          experts.shared.hidden = 128;
                        }
                        std::get<model::Experts>(network.layers[1].feed_forward).form =
                            model::ExpertForm::kGated;
                      }},
                 {33, 64, 1});
  }
}

TEST(Promise1, HoldsForMixturesOfExperts) {
  CheckNetwork({.family = "qwen3moe",
                .dtype = tensor::DType::kQ4_K,
                .feed_forward = 256,
                .experts = 7,
                .used_experts = 3},
               {33, 64});
  CheckNetwork({.family = "llama",
                .dtype = tensor::DType::kQ8_0,
                .embedding = 96,
                .heads = 3,
                .kv_heads = 1,
                .feed_forward = 32,
                .experts = 40,
                .used_experts = 2},
               {100, 31});
}

// What stands before and behind the blocks, factors, and layers whose blocks read the same norm.
TEST(Promise1, HoldsForNormsAndFactorsOfEveryKind) {
  for (const char* family : {"olmo2", "glm4", "granite", "command-r", "cohere2", "starcoder2",
                             "exaone4", "stablelm", "phi2", "gemma2", "gemma3", "gpt2"}) {
    SCOPED_TRACE(family);
    CheckNetwork({.family = family,
                  .dtype = tensor::DType::kQ8_0,
                  .embedding = 96,
                  .heads = 6,
                  .kv_heads = 3,
                  .head_dim = 16,
                  .feed_forward = 160,
                  .window = 9,
                  .optional_biases = true},
                 {33, 64});
  }
}

TEST(Promise1, HoldsWithSinksAndSoftCaps) {
  CheckNetwork({.dtype = tensor::DType::kQ8_0,
                .embedding = 64,
                .change =
                    [](model::Network& network) {
                      for (model::Layer& layer : network.layers) {
                        auto& gqa = std::get<model::Gqa>(layer.mixer);
                        gqa.sinks = model::Sinks::kOnePerHead;
                        gqa.soft_cap = 2;
                        std::get<model::Gated>(layer.feed_forward).function = model::Gate::kGelu;
                      }
                      network.head.soft_cap = 1.5f;
                      network.embedding_scale = 3;
                    }},
               {300, 36, 1});
}

// Shared experts of another width than the others, biased choices, groups, dense layers between.
class MixtureFamily : public testing::TestWithParam<const char*> {};
TEST_P(MixtureFamily, GivesTheSameBitsUnderAnySchedule) {
  CheckNetwork({.family = GetParam(),
                .dtype = tensor::DType::kQ8_0,
                .embedding = 96,
                .heads = 3,
                .kv_heads = 1,
                .feed_forward = 64,
                .window = 9,
                .experts = 12,
                .used_experts = 3,
                .optional_biases = true,
                .change =
                    [](model::Network& network) {
                      int64_t shared_hidden = 32;
                      for (model::Layer& layer : network.layers) {
                        auto& experts = std::get<model::Experts>(layer.feed_forward);
                        experts.shared.hidden = shared_hidden;
                        experts.rule.groups = 4;
                        experts.rule.used_groups = 2;
                        experts.rule.scale = 2.5f;
                        shared_hidden += 64;
                      }
                    }},
               {33, 64});
}
INSTANTIATE_TEST_SUITE_P(Promise1, MixtureFamily,
                         testing::Values("afmoe", "bailingmoe2", "deepseek", "dots1",
                                         "ernie4_5-moe", "exaone-moe", "glm4moe", "granitemoe",
                                         "hunyuan-moe", "hy_v3", "mimo2", "minimax-m2", "olmoe",
                                         "qwen2moe", "step35"),
                         [](const auto& instance) {
                           std::string name = instance.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(Promise1, HoldsForWeightsOfInputsAndSoftmaxOfTheChosen) {
  CheckNetwork({.family = "qwen3moe",
                .dtype = tensor::DType::kQ8_0,
                .embedding = 96,
                .heads = 3,
                .kv_heads = 1,
                .feed_forward = 64,
                .experts = 6,
                .used_experts = 2,
                .change =
                    [](model::Network& network) {
                      auto& first = std::get<model::Experts>(network.layers[0].feed_forward);
                      first.weight = model::ExpertWeight::kOfInput;
                      first.rule.weights = kernels::RouteWeights::kSigmoid;
                      first.rule.sum = kernels::RouteSum::kAsItIs;
                      first.shared.hidden = 32;
                      auto& second = std::get<model::Experts>(network.layers[1].feed_forward);
                      second.rule.weights = kernels::RouteWeights::kSoftmaxOfChosen;
                    }},
               {33, 64});
}

// Sinks and windows in turn, experts with biases; queries that grow; fused tensors.
TEST(Promise1, HoldsForGptOssMistral3AndPhi3) {
  CheckNetwork({.family = "gpt-oss",
                .dtype = tensor::DType::kQ8_0,
                .embedding = 96,
                .heads = 6,
                .kv_heads = 3,
                .head_dim = 16,
                .feed_forward = 64,
                .window = 9,
                .experts = 5,
                .used_experts = 2,
                .optional_biases = true},
               {33, 64});
  for (const char* family : {"mistral3", "phi3"}) {
    CheckNetwork({.family = family,
                  .dtype = tensor::DType::kQ4_K,
                  .change =
                      [](model::Network& network) {
                        for (model::Layer& layer : network.layers) {
                          auto& gqa = std::get<model::Gqa>(layer.mixer);
                          gqa.temperature = {.scale = 0.5, .length = 16};
                        }
                      }},
                 {33, 64});
  }
}

// Chunks of positions, norms without a weight behind RoPE, queries that grow.
TEST(Promise1, HoldsForLlama4InShortChunks) {
  CheckNetwork({.family = "llama4",
                .dtype = tensor::DType::kQ8_0,
                .embedding = 96,
                .heads = 3,
                .kv_heads = 1,
                .feed_forward = 64,
                .experts = 6,
                .used_experts = 1,
                .change =
                    [](model::Network& network) {
                      std::get<model::Gqa>(network.layers[0].mixer).chunk = 37;
                      auto& second = std::get<model::Gqa>(network.layers[1].mixer);
                      second.chunk = 0;
                      second.temperature = {.scale = 0.1, .length = 16, .shift = 1};
                    }},
               {290, 37, 38, 1});
}

// Latent attention in one layer, plain attention in the other.
model::Mla LatentAttention(const model::Network& network) {
  return {.width = network.width,
          .heads = 5,
          .nope_dim = 32,
          .rope_dim = 16,
          .value_dim = 32,
          .rank = 64,
          .query_rank = 96,
          .scale = 0.15f,
          .rope = 1,
          .query_norm = {.epsilon = 1e-6f},
          .latent_norm = {.epsilon = 1e-6f}};
}

// Heads that are no multiple of those of a unit; with a latent of queries and without; queries that
// grow; no rope. Partitions of attention, and units of few and of many tokens.
TEST(Promise1, HoldsForLatentAttention) {
  for (const auto dtype : {tensor::DType::kQ8_0, tensor::DType::kF32}) {
    CheckNetwork({.dtype = dtype,
                  .embedding = 64,
                  .heads = 2,
                  .kv_heads = 1,
                  .change =
                      [dtype](model::Network& network) {
                        network.ropes.push_back(network.ropes[0]);
                        network.ropes[1].rotated = 16;
                        model::Mla first = LatentAttention(network);
                        // As long as no panel, where no block needs whole ones.
                        if (dtype == tensor::DType::kF32) first.value_dim = first.rank = 20;
                        first.temperature = {.scale = 0.5, .length = 16};
                        model::Mla last = LatentAttention(network);
                        last.heads = 19;
                        last.query_rank = 0;
                        last.rope.reset();
                        network.layers.push_back(network.layers[1]);
                        network.layers[0].mixer = first;
                        network.layers[2].mixer = last;
                      }},
                 {290, 45, 1});
  }
}

// As the families put it together: mixtures behind latent attention, and all positions that their
// indexers may pick.
TEST(Promise1, HoldsForFamiliesWithLatentAttention) {
  for (const char* family : {"deepseek32", "glm-dsa"}) {
    SCOPED_TRACE(family);
    CheckNetwork({.family = family,
                  .dtype = tensor::DType::kQ8_0,
                  .embedding = 96,
                  .heads = 3,
                  .kv_heads = 1,
                  .head_dim = 64,
                  .feed_forward = 64,
                  .experts = 12,
                  .used_experts = 3,
                  .latent_rank = 32},
                 {20, 9});
  }
}

// The sizes of DeepSeek V3, Kimi K2 and Mistral Large 3, but for the width: 128 heads of 128 + 64.
TEST(Promise1, HoldsForLatentAttentionOfRealSize) {
  CheckNetwork({.dtype = tensor::DType::kQ8_0,
                .embedding = 64,
                .heads = 2,
                .kv_heads = 1,
                .change =
                    [](model::Network& network) {
                      network.ropes.push_back(network.ropes[0]);
                      network.ropes[1].rotated = 64;
                      model::Mla mla = LatentAttention(network);
                      mla.heads = 128;
                      mla.nope_dim = mla.value_dim = 128;
                      mla.rope_dim = 64;
                      mla.rank = 512;
                      mla.query_rank = 256;
                      network.layers[0].mixer = mla;
                    }},
               {18, 2});
}

// Gates of heads from a matrix of their own, LayerNorm of each head, scaled values, limited gates.
TEST(Promise1, HoldsForGatesAndNormsOfHeads) {
  for (const auto gate :
       {model::OutputGate::kSigmoidOfMatrix, model::OutputGate::kSigmoidOfHeads}) {
    const auto change = [gate](model::Network& network) {
      for (model::Layer& layer : network.layers) {
        auto& gqa = std::get<model::Gqa>(layer.mixer);
        gqa.output_gate = gate;
        gqa.head_norm = model::HeadNorm::kLayerOfEachHead;
        gqa.value_dim = 48;
        gqa.value_scale = 0.7f;
        std::get<model::Gated>(layer.feed_forward).limit = 0.3f;
      }
    };
    CheckNetwork({.dtype = tensor::DType::kQ8_0, .embedding = 96, .change = change}, {33, 64, 1});
    CheckLastRows(change);
  }
}

TEST(Promise1, HoldsForLearnedPositions) {
  CheckNetwork({.dtype = tensor::DType::kQ8_0,
                .embedding = 64,
                .change =
                    [](model::Network& network) {
                      network.positions = model::Positions::kLearned;
                      for (model::Layer& layer : network.layers) {
                        std::get<model::Gqa>(layer.mixer).rope.reset();
                      }
                      network.ropes.clear();
                    }},
               {100, 36, 1});
}

// Texts that are read both ways, several in a step; windows to both sides, slopes, norms of sums.
class EncoderFamily : public testing::TestWithParam<const char*> {
 protected:
  static support::RandomModelSpec Spec() {
    const bool is_mixture = std::string_view(GetParam()).ends_with("moe");
    return {.family = GetParam(),
            .dtype = tensor::DType::kQ8_0,
            .embedding = 96,
            .heads = 6,
            .kv_heads = 6,
            .head_dim = 16,
            .feed_forward = 160,
            .window = 9,
            .experts = is_mixture ? 5 : 0,
            .used_experts = is_mixture ? 2 : 0,
            .optional_biases = true,
            .change = [](model::Network& network) {
              network.token_types = 2;
              if (network.head.norm.kind != model::NormKind::kRms) return;
              network.hidden_projection = {.width = network.width, .inner = 64, .output = 128};
            }};
  }
};
TEST_P(EncoderFamily, GivesTheSameBitsUnderAnySchedule) { CheckNetwork(Spec(), {33, 300, 1, 64}); }
// Behind the last mixer go on only the rows that are wanted.
TEST_P(EncoderFamily, StatesAreTheSameHoweverFewAreWanted) {
  const model::Transformer network = support::MakeRandomModel(Spec());
  const std::vector<TokenId> tokens = RandomPrompts({40}, network.network().vocab).front();
  const std::vector<kv::PageId> pages = {0, 1};
  const std::vector<model::SequenceRows> rows = {{40, 0, pages}};
  std::vector<int32_t> all(tokens.size());
  std::iota(all.begin(), all.end(), 0);
  Runner every(network, {}, kernels::KvType::kF16);
  every.Forward({.tokens = tokens, .sequences = rows, .logit_rows = {}, .hidden_rows = all});
  const std::vector<int32_t> wanted = {0, 7, 39};
  Runner few(network, {.threads = 2}, kernels::KvType::kF16);
  few.Forward({.tokens = tokens, .sequences = rows, .logit_rows = {}, .hidden_rows = wanted});
  for (size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_EQ(few.HiddenRow(static_cast<int64_t>(i)), every.HiddenRow(wanted[i]));
  }
}
// What is behind a token changes it, as far as a window lets it see.
TEST_P(EncoderFamily, TokensSeeThoseBehindThem) {
  const model::Transformer network = support::MakeRandomModel(Spec());
  auto prompts = RandomPrompts({40}, network.network().vocab);
  const auto before = RunAll(network, {}, kernels::KvType::kF16, prompts);
  prompts[0].back() = (prompts[0].back() + 1) % 100;
  const auto after = RunAll(network, {}, kernels::KvType::kF16, prompts);
  EXPECT_NE(before[0][36], after[0][36]);
}
INSTANTIATE_TEST_SUITE_P(Promise1, EncoderFamily,
                         testing::Values("bert", "gemma-embedding", "jina-bert-v2", "modern-bert",
                                         "nomic-bert", "nomic-bert-moe"),
                         [](const auto& instance) {
                           std::string name = instance.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// Limits of the experts and of the shared one.
TEST(Promise1, HoldsForLimitedExperts) {
  CheckNetwork({.family = "qwen3moe",
                .dtype = tensor::DType::kQ8_0,
                .feed_forward = 96,
                .experts = 7,
                .used_experts = 3,
                .change =
                    [](model::Network& network) {
                      auto& experts = std::get<model::Experts>(network.layers[0].feed_forward);
                      experts.limit = 0.2f;
                      experts.shared = {.hidden = 64, .limit = 0.1f};
                    }},
               {33, 64, 1});
}

TEST(Promise1, HoldsForMultiQueryAttentionAndFloatCache) {
  CheckNetwork({.heads = 6, .kv_heads = 1, .head_dim = 24}, {50, 31}, kernels::KvType::kF32);
}

struct QuantizedCase {
  std::string name;
  kernels::KvTypes types;
};

class QuantizedKv : public testing::TestWithParam<QuantizedCase> {};
TEST_P(QuantizedKv, GivesTheSameBitsUnderAnySchedule) {
  const kernels::KvTypes types = GetParam().types;
  CheckNetwork({.dtype = tensor::DType::kQ4_0}, {300, 31, 1}, types);
  CheckNetwork({.heads = 6, .kv_heads = 1, .head_dim = 24}, {50, 31}, types);
  CheckNetwork({.embedding = 40, .heads = 5, .kv_heads = 5, .head_dim = 10, .feed_forward = 172},
               {50, 31}, types);
  CheckNetwork({.dtype = tensor::DType::kQ8_0,
                .embedding = 64,
                .window = 37,
                .change =
                    [](model::Network& network) {
                      for (model::Layer& layer : network.layers) {
                        auto& gqa = std::get<model::Gqa>(layer.mixer);
                        gqa.sinks = model::Sinks::kOnePerHead;
                        gqa.soft_cap = 2;
                      }
                    }},
               {300, 36, 38}, types);
}
INSTANTIATE_TEST_SUITE_P(
    Promise1, QuantizedKv,
    testing::Values(
        QuantizedCase{.name = "q8", .types = kernels::KvType::kQ8},
        QuantizedCase{.name = "q4", .types = kernels::KvType::kQ4},
        QuantizedCase{.name = "q8_f16", .types = {kernels::KvType::kQ8, kernels::KvType::kF16}},
        QuantizedCase{.name = "f32_q4", .types = {kernels::KvType::kF32, kernels::KvType::kQ4}}),
    [](const auto& instance) { return instance.param.name; });

TEST(Promise1, HoldsForEveryHeadItsOwnKvAndOddWidths) {
  CheckNetwork({.embedding = 40, .heads = 5, .kv_heads = 5, .head_dim = 8, .feed_forward = 172},
               {50, 31});
}

TEST(Promise1, HoldsWithASlidingWindow) {
  CheckNetwork({.dtype = tensor::DType::kQ4_0, .embedding = 64, .window = 37}, {300, 36, 38});
}

// A power of two is lost nowhere: rows of the embedding, products before their bias, experts,
// latent attention.
TEST(MatrixFactor, OfAllMatricesGivesTheBitsOfWeightsThatHaveIt) {
  const auto prompts = RandomPrompts({40}, 100);
  for (support::RandomModelSpec spec :
       {support::RandomModelSpec{.family = "qwen2", .optional_biases = true},
        support::RandomModelSpec{.experts = 4, .used_experts = 2},
        support::RandomModelSpec{.change = [](model::Network& network) {
          network.layers.back().mixer = model::Mla{.width = 256,
                                                   .heads = 3,
                                                   .nope_dim = 24,
                                                   .rope_dim = 32,
                                                   .value_dim = 8,
                                                   .rank = 32,
                                                   .query_rank = 32,
                                                   .scale = 0.2f};
        }}}) {
    const model::Transformer plain = support::MakeRandomModel(spec);
    spec.factor = 8;
    const model::Transformer factored = support::MakeRandomModel(spec);
    EXPECT_EQ(RunAll(plain, {}, kernels::KvType::kF32, prompts),
              RunAll(factored, {}, kernels::KvType::kF32, prompts));
  }
}

// The test can fail: a different position of one token changes bits.
TEST(Promise1, DetectsARealDifference) {
  const model::Transformer network = support::MakeRandomModel({});
  auto prompts = RandomPrompts({40}, 100);
  const auto before = RunAll(network, {}, kernels::KvType::kF16, prompts);
  std::swap(prompts[0][3], prompts[0][4]);
  ASSERT_NE(prompts[0][3], prompts[0][4]);
  const auto after = RunAll(network, {}, kernels::KvType::kF16, prompts);
  EXPECT_EQ(before[0][2], after[0][2]);
  EXPECT_NE(before[0][39], after[0][39]);
}

}  // namespace
}  // namespace skald
