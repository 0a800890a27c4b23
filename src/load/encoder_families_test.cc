// What network_from_gguf.h makes of files of models that read a text both ways.

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "load/network_file_for_test.h"

namespace skald::load {
namespace {

GgufBuilder EncoderFile(const std::string& arch, uint32_t layers = 4, uint32_t heads = 4) {
  return FileWith({.arch = arch,
                   .layers = layers,
                   .embedding = 16 * heads,
                   .heads = heads,
                   .kv_heads = heads})
      .Key(arch + ".attention.layer_norm_epsilon", 1e-12f);
}

GgufBuilder With(GgufBuilder file, const std::string& tensor) {
  return file.Tensor({.name = tensor, .dims = {1}, .data = std::vector<std::byte>(4)});
}

const model::Gqa& Attention(const model::Network& network, size_t layer) {
  return std::get<model::Gqa>(network.layers[layer].mixer);
}

TEST(NetworkFromGguf, EncodersReadTextsBothWays) {
  for (const char* arch :
       {"bert", "gemma-embedding", "jina-bert-v2", "modern-bert", "nomic-bert"}) {
    SCOPED_TRACE(arch);
    const Result<model::Network> network = Read(EncoderFile(arch));
    ASSERT_TRUE(network.ok()) << network.status().message();
    EXPECT_TRUE(model::NeedsWholeTexts(*network));
    const std::string key = std::string(arch) + ".attention.causal";
    EXPECT_TRUE(Read(EncoderFile(arch).Key(key, false)).ok());
    ExpectError(EncoderFile(arch).Key(key, true), ErrorCode::kUnsupported,
                key + " is true, expected false");
    EXPECT_FALSE(network->rank_head.exists());
  }
}

TEST(NetworkFromGguf, ADecoderMayLackItsMask) {
  EXPECT_FALSE(model::NeedsWholeTexts(*Read(FileWith({.arch = "llama"}))));
  GgufBuilder file = FileWith({.arch = "llama"}).Key("llama.attention.causal", false);
  EXPECT_TRUE(model::NeedsWholeTexts(*Read(file)));
  EXPECT_EQ(First(*Read(file.Key("llama.attention.sliding_window", uint32_t{8}))).window, 5);
}

TEST(NetworkFromGguf, BertNormsItsSumsAndHasLearnedPositions) {
  const Result<model::Network> network = Read(EncoderFile("bert"));
  ASSERT_TRUE(network.ok()) << network.status().message();
  EXPECT_EQ(network->positions, model::Positions::kLearned);
  EXPECT_TRUE(network->ropes.empty());
  EXPECT_TRUE(network->embedding_norm.exists());
  EXPECT_FALSE(network->head.norm.exists());
  EXPECT_EQ(network->token_types, 0);
  for (const model::Layer& layer : network->layers) {
    EXPECT_EQ(layer.mixer_sum_norm.kind, model::NormKind::kLayer);
    EXPECT_EQ(layer.feed_forward_sum_norm.epsilon, 1e-12f);
    EXPECT_FALSE(layer.mixer_norm.exists() || layer.feed_forward_norm.exists());
  }
}

TEST(NetworkFromGguf, TokenTypesAreAsManyAsTheVocabularySays) {
  const std::string tensor = "token_types.weight";
  const std::string key = "tokenizer.ggml.token_type_count";
  EXPECT_EQ(Read(With(EncoderFile("bert").Key(key, uint32_t{2}), tensor))->token_types, 2);
  EXPECT_EQ(Read(EncoderFile("bert").Key(key, uint32_t{2}))->token_types, 0);
  ExpectError(With(EncoderFile("bert"), tensor), ErrorCode::kBadModel, key);
  ExpectError(With(EncoderFile("bert").Key(key, uint32_t{1025}), tensor), ErrorCode::kBadModel,
              "token type count is 1025, expected 0 to 1024");
  ExpectError(With(EncoderFile("bert").Key(key, uint64_t{1} << 60), tensor), ErrorCode::kBadModel,
              key + "' is 1152921504606846976, larger than any model");
}

TEST(NetworkFromGguf, GeluIsThatOfThePublisherUnlessAskedForTheOther) {
  const auto plain = [](Conventions conventions) {
    const auto network = Read(EncoderFile("bert"), conventions);
    return std::get<model::Plain>(network->layers[0].feed_forward).function;
  };
  EXPECT_EQ(plain(Conventions::kPublisher), model::Activation::kGeluErf);
  EXPECT_EQ(plain(Conventions::kLlamaCpp), model::Activation::kGelu);
  for (const char* arch : {"jina-bert-v2", "modern-bert"}) {
    const auto gate = [&](Conventions conventions) {
      const auto network = Read(EncoderFile(arch), conventions);
      return std::get<model::Gated>(network->layers[0].feed_forward).function;
    };
    EXPECT_EQ(gate(Conventions::kPublisher), model::Gate::kGeluErf);
    EXPECT_EQ(gate(Conventions::kLlamaCpp), model::Gate::kGelu);
  }
}

TEST(NetworkFromGguf, TensorsOfEncodersMayBeFused) {
  EXPECT_EQ(First(*Read(EncoderFile("bert"))).fusion, model::Fusion::kSeparate);
  EXPECT_EQ(First(*Read(With(EncoderFile("bert"), "blk.0.attn_qkv.weight"))).fusion,
            model::Fusion::kFused);
  const auto fusion = [](const GgufBuilder& file) {
    return std::get<model::Gated>(Read(file)->layers[0].feed_forward).fusion;
  };
  EXPECT_EQ(fusion(EncoderFile("jina-bert-v2")), model::Fusion::kFused);
  EXPECT_EQ(fusion(With(EncoderFile("jina-bert-v2"), "blk.0.ffn_gate.weight")),
            model::Fusion::kSeparate);
}

TEST(NetworkFromGguf, SlopesFallByHeadAlsoWhereHeadsAreNoPowerOfTwo) {
  using Slopes = std::vector<float>;
  EXPECT_EQ(First(*Read(EncoderFile("jina-bert-v2"))).slopes,
            (Slopes{0.25f, 0.0625f, 0.015625f, 0.00390625f}));
  // Those of 8 heads, then every other one of 16.
  EXPECT_EQ(First(*Read(EncoderFile("jina-bert-v2", 1, 12))).slopes,
            (Slopes{0.5f, 0.25f, 0.125f, 0.0625f, 0.03125f, 0.015625f, 0.0078125f, 0.00390625f,
                    0.70710678f, 0.35355339f, 0.17677669529f, 0.088388348f}));
  const std::string key = "jina-bert-v2.attention.max_alibi_bias";
  EXPECT_EQ(First(*Read(EncoderFile("jina-bert-v2", 1, 2).Key(key, 2.0f))).slopes,
            (Slopes{0.5f, 0.25f}));
  ExpectError(EncoderFile("jina-bert-v2").Key(key, 0.0f), ErrorCode::kBadModel, key + " is 0");
  ExpectError(
      EncoderFile("jina-bert-v2", 1, 0).Key("jina-bert-v2.attention.key_length", uint32_t{16}),
      ErrorCode::kBadModel, "jina-bert-v2.attention.head_count is 0");
  ExpectError(
      EncoderFile("jina-bert-v2", 1, 2048).Key("jina-bert-v2.attention.key_length", uint32_t{16}),
      ErrorCode::kBadModel, "jina-bert-v2.attention.head_count is 2048");
}

// Which layers of ModernBERT see a window: "w", or all: "a".
std::string Windows(const GgufBuilder& file) {
  const Result<model::Network> network = Read(file);
  EXPECT_TRUE(network.ok()) << network.status().message();
  std::string layers;
  for (size_t i = 0; i < network->layers.size(); ++i) {
    const bool sees_window = Attention(*network, i).window > 0;
    EXPECT_EQ(Attention(*network, i).rope, sees_window ? 1u : 0u);
    layers += sees_window ? 'w' : 'a';
  }
  return layers;
}

TEST(NetworkFromGguf, ModernBertsFirstLayerOfEachPeriodSeesAll) {
  const auto file = [] {
    return EncoderFile("modern-bert", 7).Key("modern-bert.attention.sliding_window", uint32_t{128});
  };
  const std::string key = "modern-bert.attention.sliding_window_pattern";
  EXPECT_EQ(Windows(file()), "awwawwa");
  EXPECT_EQ(Windows(file().Key(key, uint32_t{2})), "awawawa");
  EXPECT_EQ(Windows(file().Key(key, std::vector<uint32_t>{1, 1, 0, 0, 1, 1, 0})), "wwaawwa");
  ExpectError(file().Key(key, std::vector<uint32_t>{1, 0}), ErrorCode::kBadModel,
              "has 2 numbers, expected one per layer (7)");
  const Result<model::Network> network = Read(file());
  EXPECT_EQ(Attention(*network, 1).window, 65);  // 64 to each side, and its own
  EXPECT_FALSE(network->layers[0].mixer_norm.exists());
  EXPECT_TRUE(network->layers[1].mixer_norm.exists());
}

TEST(NetworkFromGguf, EmbeddingGemmasProjectionFitsTheWidthAndItself) {
  const auto file = [](uint32_t in, uint32_t inner, uint32_t second_in) {
    GgufBuilder built =
        With(With(EncoderFile("gemma-embedding"), "dense_2.weight"), "dense_3.weight");
    built.Key("gemma-embedding.dense_2_feat_in", in)
        .Key("gemma-embedding.dense_2_feat_out", inner)
        .Key("gemma-embedding.dense_3_feat_in", second_in)
        .Key("gemma-embedding.dense_3_feat_out", uint32_t{32});
    return built;
  };
  const Result<model::Network> network = Read(file(64, 96, 96));
  ASSERT_TRUE(network.ok()) << network.status().message();
  EXPECT_EQ(network->hidden_projection.inner, 96);
  EXPECT_EQ(model::HiddenWidth(*network), 32);
  EXPECT_EQ(model::HiddenWidth(*Read(EncoderFile("gemma-embedding"))), 64);
  ExpectError(file(48, 96, 96), ErrorCode::kBadModel,
              "gemma-embedding.dense_2_feat_in is 48, expected 64 to 64");
  ExpectError(file(64, 96, 95), ErrorCode::kBadModel,
              "gemma-embedding.dense_3_feat_in is 95, expected 96 to 96");
  ExpectError(file(64, 0, 0), ErrorCode::kBadModel,
              "gemma-embedding.dense_2_feat_out is 0, expected 1 to");
}

TEST(NetworkFromGguf, NomicsMixturesHaveNoGates) {
  const auto file = [](uint32_t used) {
    return With(EncoderFile("nomic-bert-moe", 2), "blk.1.ffn_gate_inp.weight")
        .Key("nomic-bert-moe.expert_count", uint32_t{8})
        .Key("nomic-bert-moe.expert_used_count", used);
  };
  const Result<model::Network> network = Read(file(2));
  ASSERT_TRUE(network.ok()) << network.status().message();
  EXPECT_EQ(std::get<model::Plain>(network->layers[0].feed_forward).hidden, 96);
  const auto& experts = std::get<model::Experts>(network->layers[1].feed_forward);
  EXPECT_EQ(experts.form, model::ExpertForm::kPlain);
  EXPECT_EQ(experts.activation, model::Activation::kGeluErf);
  EXPECT_EQ(experts.rule.sum, kernels::RouteSum::kAsItIs);
  ExpectError(file(0), ErrorCode::kBadModel, "used experts is 0");
  ExpectError(file(9), ErrorCode::kBadModel, "used experts is 9");
}

}  // namespace
}  // namespace skald::load
