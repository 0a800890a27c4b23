#include "load/config_from_gguf.h"

#include <gtest/gtest.h>

#include <limits>
#include <optional>

#include "formats/gguf.h"
#include "formats/gguf_builder.h"
#include "model/arch/arch_list.h"

namespace skald::load {
namespace {

using formats::GgufBuilder;

// The keys every file of the family has; a test changes some of them.
struct Keys {
  std::string arch = "llama";
  uint32_t layers = 2;
  uint32_t embedding = 64;
  uint32_t heads = 4;
  uint32_t kv_heads = 2;
  uint32_t feed_forward = 96;
  uint32_t context = 128;
  float epsilon = 1e-5f;
};

GgufBuilder FileWith(const Keys& keys) {
  GgufBuilder file;
  file.Key("general.architecture", keys.arch);
  file.Key(keys.arch + ".block_count", keys.layers);
  file.Key(keys.arch + ".embedding_length", keys.embedding);
  file.Key(keys.arch + ".attention.head_count", keys.heads);
  file.Key(keys.arch + ".attention.head_count_kv", keys.kv_heads);
  file.Key(keys.arch + ".feed_forward_length", keys.feed_forward);
  file.Key(keys.arch + ".context_length", keys.context);
  file.Key(keys.arch + ".attention.layer_norm_rms_epsilon", keys.epsilon);
  file.Key("tokenizer.ggml.tokens", std::vector<std::string>{"a", "b", "c"});
  return file;
}

Result<model::ModelConfig> Read(const GgufBuilder& file) {
  Result<formats::GgufFile> parsed = formats::ParseGguf(file.BuildSource());
  if (!parsed.ok()) return std::move(parsed).status();
  return ConfigFromMetadata(parsed->metadata);
}

void ExpectError(const GgufBuilder& file, ErrorCode code, std::string_view part) {
  const Result<model::ModelConfig> config = Read(file);
  ASSERT_FALSE(config.ok());
  EXPECT_EQ(ErrorCodeName(config.status().code()), ErrorCodeName(code));
  EXPECT_NE(config.status().message().find(part), std::string::npos) << config.status().message();
}

TEST(ConfigFromGguf, ReadsAPlainLlama) {
  const Result<model::ModelConfig> config = Read(FileWith({}));
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(config->family, &model::kLlama);
  EXPECT_EQ(config->layers, 2);
  EXPECT_EQ(config->key_dim, 16);
  EXPECT_EQ(config->value_dim, 16);
  EXPECT_EQ(config->rope.rotated, 16);
  EXPECT_EQ(config->rope.base, 10000);
  EXPECT_EQ(config->group(), 2);
  EXPECT_EQ(config->vocab, 3);
  EXPECT_EQ(config->window, 0);
}

TEST(ConfigFromGguf, KeyLengthNeedNotBeEmbeddingOverHeads) {
  GgufBuilder file = FileWith({.arch = "qwen3"});
  file.Key("qwen3.attention.key_length", uint32_t{32});
  const Result<model::ModelConfig> config = Read(file);
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(config->key_dim, 32);
  EXPECT_EQ(config->value_dim, 32);
  EXPECT_EQ(config->query_width(), 128);
}

TEST(ConfigFromGguf, ReadsYarnScaling) {
  GgufBuilder file = FileWith({});
  file.Key("llama.rope.scaling.type", "yarn");
  file.Key("llama.rope.scaling.factor", 4.0f);
  file.Key("llama.rope.scaling.original_context_length", uint32_t{32});
  const Result<model::ModelConfig> config = Read(file);
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(config->rope.scaling, model::RopeScaling::kYarn);
  EXPECT_EQ(config->rope.factor, 4);
  EXPECT_EQ(config->rope.original_context, 32);
}

TEST(ConfigFromGguf, ReadsTheOldSpellingOfLinearScaling) {
  GgufBuilder file = FileWith({});
  file.Key("llama.rope.scale_linear", 2.0f);
  const Result<model::ModelConfig> config = Read(file);
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(config->rope.scaling, model::RopeScaling::kLinear);
  EXPECT_EQ(config->rope.factor, 2);
}

TEST(ConfigFromGguf, UnknownArchitectureListsTheSupportedOnes) {
  ExpectError(FileWith({.arch = "mamba"}), ErrorCode::kUnsupported, "llama, qwen2, qwen3");
}

TEST(ConfigFromGguf, MixtureOfExpertsIsNotSupported) {
  GgufBuilder file = FileWith({});
  file.Key("llama.expert_count", uint32_t{8});
  ExpectError(file, ErrorCode::kUnsupported, "8 experts");
}

TEST(ConfigFromGguf, UnknownRopeScalingIsNotSupported) {
  GgufBuilder file = FileWith({});
  file.Key("llama.rope.scaling.type", "longrope");
  ExpectError(file, ErrorCode::kUnsupported, "longrope");
}

TEST(ConfigFromGguf, NumbersThatMakeNoSenseAreNamed) {
  ExpectError(FileWith({.layers = 0}), ErrorCode::kBadModel, "block count is 0");
  ExpectError(FileWith({.layers = 513}), ErrorCode::kBadModel, "block count is 513");
  ExpectError(FileWith({.heads = 0}), ErrorCode::kBadModel, "head count");
  ExpectError(FileWith({.kv_heads = 0}), ErrorCode::kBadModel, "KV head count is 0");
  ExpectError(FileWith({.kv_heads = 8}), ErrorCode::kBadModel, "KV head count is 8");
  ExpectError(FileWith({.kv_heads = 3}), ErrorCode::kBadModel, "not a multiple");
  ExpectError(FileWith({.embedding = 66}), ErrorCode::kBadModel, "not a multiple of head count");
  ExpectError(FileWith({.context = 0}), ErrorCode::kBadModel, "context length is 0");
  ExpectError(FileWith({.epsilon = -1}), ErrorCode::kBadModel, "norm epsilon");
  ExpectError(FileWith({.epsilon = std::numeric_limits<float>::quiet_NaN()}), ErrorCode::kBadModel,
              "norm epsilon");
}

TEST(ConfigFromGguf, RopeNumbersThatMakeNoSenseAreNamed) {
  for (const float base : {0.0f, -1.0f, std::numeric_limits<float>::quiet_NaN(),
                           std::numeric_limits<float>::infinity()}) {
    GgufBuilder file = FileWith({});
    file.Key("llama.rope.freq_base", base);
    ExpectError(file, ErrorCode::kBadModel, "rope frequency base");
  }
  for (const uint32_t dimension : {0u, 1u, 15u, 18u}) {
    GgufBuilder file = FileWith({});
    file.Key("llama.rope.dimension_count", dimension);
    ExpectError(file, ErrorCode::kBadModel, "rope dimension");
  }
}

TEST(ConfigFromGguf, PerLayerHeadCountsMustMatchTheLayersAndBeEqual) {
  Keys keys;
  GgufBuilder wrong;
  wrong.Key("general.architecture", "llama");
  wrong.Key("llama.block_count", uint32_t{2});
  wrong.Key("llama.embedding_length", uint32_t{64});
  wrong.Key("llama.feed_forward_length", uint32_t{96});
  wrong.Key("llama.context_length", uint32_t{128});
  wrong.Key("tokenizer.ggml.tokens", std::vector<std::string>{"a"});
  GgufBuilder three = wrong;
  three.Key("llama.attention.head_count", std::vector<uint32_t>{4, 4, 4});
  ExpectError(three, ErrorCode::kBadModel, "one per layer (2)");
  GgufBuilder uneven = wrong;
  uneven.Key("llama.attention.head_count", std::vector<uint32_t>{4, 2});
  ExpectError(uneven, ErrorCode::kUnsupported, "differs between layers");
}

TEST(ConfigFromGguf, MissingKeysAreNamed) {
  GgufBuilder file;
  file.Key("general.architecture", "llama");
  ExpectError(file, ErrorCode::kBadModel, "llama.block_count");
}

TEST(ConfigFromGguf, KeysOfTheWrongTypeAreNamed) {
  GgufBuilder file;
  file.Key("general.architecture", "llama");
  file.Key("llama.block_count", 2.0f);
  ExpectError(file, ErrorCode::kBadModel, "llama.block_count");
  GgufBuilder negative;
  negative.Key("general.architecture", "llama");
  negative.Key("llama.block_count", int32_t{-1});
  ExpectError(negative, ErrorCode::kBadModel, "llama.block_count");
}

TEST(PoolingFromGguf, IsWhatTheFileSays) {
  const auto pooling = [](std::optional<uint32_t> type) {
    GgufBuilder file = FileWith({.arch = "qwen3"});
    if (type) file.Key("qwen3.pooling_type", *type);
    return *PoolingFromMetadata(formats::ParseGguf(file.BuildSource())->metadata);
  };
  EXPECT_EQ(pooling({}), std::nullopt);
  EXPECT_EQ(pooling(0), std::nullopt);
  EXPECT_EQ(pooling(1), Pooling::kMean);
  EXPECT_EQ(pooling(2), Pooling::kNone);  // the first token
  EXPECT_EQ(pooling(3), Pooling::kLast);
  EXPECT_EQ(pooling(4), Pooling::kNone);  // ranks
}

}  // namespace
}  // namespace skald::load
