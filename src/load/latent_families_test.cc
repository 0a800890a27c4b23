// What network_from_gguf.h makes of files with latent attention.

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "load/network_file_for_test.h"

namespace skald::load {
namespace {

// A file with latent attention of today's form, in which a test changes some numbers.
struct LatentKeys {
  std::string arch = "deepseek2";
  uint32_t rank = 32;
  uint32_t query_rank = 48;
  uint32_t key = 40;
  uint32_t rope = 16;
  uint32_t value = 24;
};

GgufBuilder LatentFile(const LatentKeys& keys) {
  GgufBuilder file = FileWith({.arch = keys.arch, .heads = 4, .kv_heads = 1});
  const std::string arch = keys.arch + ".";
  file.Key(arch + "attention.kv_lora_rank", keys.rank);
  file.Key(arch + "attention.q_lora_rank", keys.query_rank);
  file.Key(arch + "attention.key_length", keys.rank + keys.rope);
  file.Key(arch + "attention.value_length", keys.rank);
  file.Key(arch + "attention.key_length_mla", keys.key);
  file.Key(arch + "attention.value_length_mla", keys.value);
  file.Key(arch + "rope.dimension_count", keys.rope);
  file.Key(arch + "expert_count", uint32_t{8});
  file.Key(arch + "expert_used_count", uint32_t{2});
  file.Key(arch + "expert_feed_forward_length", uint32_t{16});
  return file;
}

// With YaRN, and its multiplier as files have it: a tenth.
GgufBuilder LatentYarnFile(const std::string& arch, float multiplier) {
  GgufBuilder file = LatentFile({.arch = arch});
  file.Key(arch + ".rope.scaling.type", "yarn");
  file.Key(arch + ".rope.scaling.factor", 8.0f);
  file.Key(arch + ".rope.scaling.original_context_length", uint32_t{64});
  if (multiplier != 0) file.Key(arch + ".rope.scaling.yarn_log_multiplier", multiplier);
  return file;
}

const model::Mla& FirstMla(const Result<model::Network>& network) {
  return std::get<model::Mla>(network->layers.front().mixer);
}

// One tensor of keys and values, with the lengths of heads under the usual names.
GgufBuilder OldLatentFile() {
  GgufBuilder file = FileWith({.arch = "deepseek2", .heads = 4, .kv_heads = 4});
  file.Key("deepseek2.attention.kv_lora_rank", uint32_t{32});
  file.Key("deepseek2.attention.key_length", uint32_t{40});
  file.Key("deepseek2.attention.value_length", uint32_t{24});
  file.Key("deepseek2.rope.dimension_count", uint32_t{16});
  file.Key("deepseek2.expert_count", uint32_t{8});
  file.Key("deepseek2.expert_used_count", uint32_t{2});
  file.Key("deepseek2.expert_feed_forward_length", uint32_t{16});
  return file;
}

formats::BuiltTensor Named(const std::string& name) {
  return {.name = name, .dims = {1}, .data = std::vector<std::byte>(4)};
}

TEST(NetworkFromGguf, ReadsLatentAttentionOfBothForms) {
  const Result<model::Network> network = Read(LatentFile({}));
  ASSERT_TRUE(network.ok()) << network.status().message();
  const model::Mla& mla = FirstMla(network);
  EXPECT_EQ(mla.heads, 4);
  EXPECT_EQ(mla.nope_dim, 24);
  EXPECT_EQ(mla.value_dim, 24);
  EXPECT_EQ(mla.query_rank, 48);
  EXPECT_EQ(mla.key_value, model::Fusion::kSeparate);
  EXPECT_EQ(mla.scale, static_cast<float>(1 / std::sqrt(40.0)));
  // A position is its latent and its turned key, whatever the heads.
  EXPECT_EQ(model::KvLayoutOf(*network, kernels::KvType::kF16).position_bytes(), 2 * 48 * 2);

  const Result<model::Network> old = Read(OldLatentFile().Tensor(Named("blk.0.attn_kv_b.weight")));
  ASSERT_TRUE(old.ok()) << old.status().message();
  EXPECT_EQ(FirstMla(old).key_value, model::Fusion::kFused);
  EXPECT_EQ(FirstMla(old).nope_dim, 24);
  EXPECT_EQ(FirstMla(old).value_dim, 24);
  EXPECT_EQ(FirstMla(old).query_rank, 0);
}

TEST(NetworkFromGguf, NumbersOfLatentAttentionThatMakeNoSenseAreNamed) {
  ExpectError(OldLatentFile(), ErrorCode::kBadModel, "deepseek2.attention.key_length_mla");
  ExpectError(LatentFile({.rank = 0}), ErrorCode::kBadModel, "attention.kv_lora_rank");
  ExpectError(LatentFile({.rank = 1u << 30}), ErrorCode::kBadModel, "attention.kv_lora_rank");
  ExpectError(LatentFile({.query_rank = 1u << 30}), ErrorCode::kBadModel,
              "query rank is 1073741824");
  ExpectError(LatentFile({.rope = 40}), ErrorCode::kBadModel,
              "deepseek2.rope.dimension_count is 40, expected 1 to 39");
  ExpectError(LatentFile({.rope = 0}), ErrorCode::kBadModel, "rope.dimension_count is 0");
  ExpectError(LatentFile({.rope = 15}), ErrorCode::kBadModel, "rope dimension is 15");
  ExpectError(LatentFile({.key = 0}), ErrorCode::kBadModel, "rope.dimension_count");
  ExpectError(LatentFile({.key = 1u << 31}), ErrorCode::kBadModel, "that is not turned is");
  ExpectError(LatentFile({.value = 0}), ErrorCode::kBadModel, "value length is 0");
  ExpectError(LatentFile({})
                  .Key("deepseek2.expert_group_count", uint32_t{3})
                  .Key("deepseek2.expert_group_used_count", uint32_t{2}),
              ErrorCode::kBadModel, "group");
  ExpectError(LatentYarnFile("deepseek2", -0.1f), ErrorCode::kBadModel, "yarn_log_multiplier");
  ExpectError(LatentFile({}).Key("deepseek2.attention.temperature_scale", 0.5f),
              ErrorCode::kBadModel, "attention temperature length is 0");
}

// Scores are multiplied by the square of a magnitude; cosine and sine by what is left.
TEST(NetworkFromGguf, YarnOfLatentAttentionMultipliesTheScores) {
  const double usual = 1 + 0.1 * std::log(8);
  const auto check = [](const GgufBuilder& file, double magnitude, double of_scores) {
    const Result<model::Network> network = Read(file);
    ASSERT_TRUE(network.ok()) << network.status().message();
    EXPECT_NEAR(ComputeRopeFrequencies(network->ropes[0]).magnitude, magnitude, 1e-7);
    EXPECT_NEAR(FirstMla(network).scale, of_scores / std::sqrt(40.0), 1e-7);
  };
  const double half = 1 + 0.05 * std::log(8);
  check(LatentYarnFile("deepseek2", 0.1f), 1, usual * usual);
  check(LatentYarnFile("deepseek2", 0.05f), 1, half * half);
  check(LatentYarnFile("deepseek2", 0), usual, usual * usual);
  check(LatentYarnFile("mistral4", 0.1f), 1, usual * usual);
  check(LatentYarnFile("mistral4", 0.05f), usual / half, usual * usual);
}

// DeepSeek V3: (0.1 ln 40 + 1)^2 / sqrt(192), as its inference code has it.
TEST(NetworkFromGguf, TheScaleOfDeepSeekV3IsThePublished) {
  GgufBuilder file = LatentFile({.rank = 512, .key = 192, .rope = 64});
  file.Key("deepseek2.rope.scaling.type", "yarn");
  file.Key("deepseek2.rope.scaling.factor", 40.0f);
  file.Key("deepseek2.rope.scaling.original_context_length", uint32_t{4096});
  file.Key("deepseek2.rope.scaling.yarn_log_multiplier", 0.1f);
  EXPECT_NEAR(FirstMla(Read(file)).scale, 0.1352337788608801, 1e-8);
}

// Mistral Large 3 and Small 4: the published models have YaRN without a factor of the scores.
TEST(NetworkFromGguf, LatentAttentionWhoseQueriesGrowHasTheScaleOfItsHeads) {
  for (const char* arch : {"deepseek2", "mistral4"}) {
    GgufBuilder file = LatentYarnFile(arch, 0.1f);
    file.Key(std::string(arch) + ".attention.temperature_scale", 0.5f);
    file.Key(std::string(arch) + ".attention.temperature_length", uint32_t{16});
    EXPECT_EQ(FirstMla(Read(file)).scale, static_cast<float>(1 / std::sqrt(40.0)));
    EXPECT_EQ(FirstMla(Read(file)).temperature.length, 16);
    const double usual = 1 + 0.1 * std::log(8);
    EXPECT_NEAR(FirstMla(Read(file, Conventions::kLlamaCpp)).scale, usual * usual / std::sqrt(40.0),
                1e-7);
  }
}

TEST(NetworkFromGguf, NormsOfLatentsHaveThePublishedEpsilon) {
  EXPECT_EQ(FirstMla(Read(LatentFile({}))).latent_norm.epsilon, 1e-6f);
  EXPECT_EQ(FirstMla(Read(LatentFile({}))).query_norm.epsilon, 1e-6f);
  const auto other = Read(LatentFile({}), Conventions::kLlamaCpp);
  EXPECT_EQ(FirstMla(other).latent_norm.epsilon, 1e-5f);
}

// Without a key for it: V2 has shares of all experts; a choice bias comes with sigmoids.
TEST(NetworkFromGguf, MixturesOfDeepSeekChooseAsTheirTensorsSay) {
  const auto rule = [](const GgufBuilder& file, Conventions conventions) {
    return std::get<model::Experts>(Read(file, conventions)->layers[1].feed_forward).rule;
  };
  const GgufBuilder file = LatentFile({})
                               .Key("deepseek2.leading_dense_block_count", uint32_t{1})
                               .Key("deepseek2.expert_group_count", uint32_t{4})
                               .Key("deepseek2.expert_group_used_count", uint32_t{2});
  const auto published = rule(file, Conventions::kPublisher);
  EXPECT_EQ(published.weights, kernels::RouteWeights::kSoftmax);
  EXPECT_EQ(published.sum, kernels::RouteSum::kAsItIs);
  EXPECT_EQ(published.group_score, kernels::GroupScore::kPublished);
  EXPECT_EQ(rule(file, Conventions::kLlamaCpp).group_score, kernels::GroupScore::kBestTwo);
  EXPECT_EQ(rule(GgufBuilder(file).Tensor(Named("blk.1.exp_probs_b.bias")), Conventions::kPublisher)
                .weights,
            kernels::RouteWeights::kSigmoid);
}

TEST(NetworkFromGguf, ContextsEndWhereAnIndexerWouldPick) {
  for (const std::string arch : {"deepseek32", "glm-dsa"}) {
    const std::string key = arch + ".attention.indexer.top_k";
    const GgufBuilder file = LatentFile({.arch = arch});
    const auto context = [&](uint32_t picked) {
      const Result<model::Network> network = Read(GgufBuilder(file).Key(key, picked));
      EXPECT_TRUE(network.ok()) << network.status().message();
      return network.ok() ? network->context : 0;
    };
    EXPECT_EQ(context(6), 6);
    EXPECT_EQ(context(1), 1);
    EXPECT_EQ(context(1u << 20), Read(LatentFile({}))->context);
    ExpectError(GgufBuilder(file), ErrorCode::kBadModel, key);
    for (const uint32_t impossible : {0u, 1u << 31})
      ExpectError(GgufBuilder(file).Key(key, impossible), ErrorCode::kBadModel, key);
  }
}

// Kimi Linear of four layers, the last of them with latent attention.
struct KdaKeys {
  uint32_t head_dim = 16;
  uint32_t taps = 4;
  uint32_t heads = 4;
};

GgufBuilder KdaFile(const KdaKeys& keys) {
  const std::string arch = "kimi-linear";
  GgufBuilder file;
  file.Key("general.architecture", arch)
      .Key(arch + ".block_count", uint32_t{4})
      .Key(arch + ".embedding_length", uint32_t{64})
      .Key(arch + ".context_length", uint32_t{128})
      .Key(arch + ".feed_forward_length", uint32_t{96})
      .Key(arch + ".attention.head_count", keys.heads)
      .Key(arch + ".attention.head_count_kv", std::vector<uint32_t>{0, 0, 0, 1})
      .Key(arch + ".attention.key_length", uint32_t{40})
      .Key(arch + ".attention.value_length", uint32_t{32})
      .Key(arch + ".attention.key_length_mla", uint32_t{24})
      .Key(arch + ".attention.value_length_mla", uint32_t{16})
      .Key(arch + ".attention.kv_lora_rank", uint32_t{32})
      .Key(arch + ".attention.layer_norm_rms_epsilon", 1e-5f)
      .Key(arch + ".rope.dimension_count", uint32_t{8})
      .Key(arch + ".ssm.conv_kernel", keys.taps)
      .Key(arch + ".kda.head_dim", keys.head_dim)
      .Key(arch + ".leading_dense_block_count", uint32_t{1})
      .Key(arch + ".expert_count", uint32_t{8})
      .Key(arch + ".expert_used_count", uint32_t{3})
      .Key(arch + ".expert_feed_forward_length", uint32_t{16})
      .Key("tokenizer.ggml.tokens", std::vector<std::string>{"a"});
  return file;
}

TEST(NetworkFromGguf, LayersOfKimiLinearWithoutKvHeadsAreDeltaAttention) {
  const Result<model::Network> network = Read(KdaFile({}));
  ASSERT_TRUE(network.ok()) << network.status().message();
  const auto& kda = std::get<model::Kda>(network->layers[0].mixer);
  EXPECT_EQ(kda.inner(), 64);
  EXPECT_EQ(model::StateFloatsOf(*network), 3 * (4 * 16 * 16 + 3 * 3 * 64));
  const auto& mla = std::get<model::Mla>(network->layers[3].mixer);
  EXPECT_FALSE(mla.rope) << "positions turn nothing";
  EXPECT_EQ(mla.scale, static_cast<float>(1 / std::sqrt(24.0)));
  EXPECT_EQ(model::KvLayoutOf(*network, kernels::KvType::kF16).position_bytes(), 40 * 2);
  const auto& rule = std::get<model::Experts>(network->layers[1].feed_forward).rule;
  EXPECT_EQ(rule.weights, kernels::RouteWeights::kSigmoid);
  EXPECT_EQ(rule.sum, kernels::RouteSum::kOne);
}

TEST(NetworkFromGguf, NumbersOfKimiLinearThatMakeNoSenseAreNamed) {
  ExpectError(KdaFile({.head_dim = 0}), ErrorCode::kBadModel, "head length of the delta rule is 0");
  ExpectError(KdaFile({.head_dim = 1u << 31}), ErrorCode::kBadModel, "head length of the delta");
  ExpectError(KdaFile({.taps = 1}), ErrorCode::kBadModel, "convolution length is 1");
  ExpectError(KdaFile({.taps = 1u << 31}), ErrorCode::kBadModel, "convolution length is");
  ExpectError(KdaFile({.heads = 0}), ErrorCode::kBadModel, "head count");
  // 512 MiB of state in one layer.
  ExpectError(KdaFile({.head_dim = 1024, .heads = 128}), ErrorCode::kBadModel,
              "state of the delta rule is");
}

}  // namespace
}  // namespace skald::load
