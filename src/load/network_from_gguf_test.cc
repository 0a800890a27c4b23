#include "load/network_from_gguf.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>

#include "formats/gguf.h"
#include "formats/gguf_builder.h"
#include "load/network_file_for_test.h"
#include "model/families/families.h"

namespace skald::load {
namespace {

TEST(NetworkFromGguf, ReadsAPlainLlama) {
  const Result<model::Network> network = Read(FileWith({}));
  ASSERT_TRUE(network.ok()) << network.status().message();
  EXPECT_EQ(network->family, "llama");
  EXPECT_EQ(network->layers.size(), 2u);
  EXPECT_EQ(First(*network).key_dim, 16);
  EXPECT_EQ(First(*network).value_dim, 16);
  EXPECT_EQ(network->ropes[0].rotated, 16);
  EXPECT_EQ(network->ropes[0].base, 10000);
  EXPECT_EQ(First(*network).group(), 2);
  EXPECT_EQ(network->vocab, 3);
  EXPECT_EQ(First(*network).window, 0);
}

TEST(NetworkFromGguf, KeyLengthNeedNotBeEmbeddingOverHeads) {
  GgufBuilder file = FileWith({.arch = "qwen3"});
  file.Key("qwen3.attention.key_length", uint32_t{32});
  const Result<model::Network> network = Read(file);
  ASSERT_TRUE(network.ok()) << network.status().message();
  EXPECT_EQ(First(*network).key_dim, 32);
  EXPECT_EQ(First(*network).value_dim, 32);
  EXPECT_EQ(First(*network).query_width(), 128);
}

TEST(NetworkFromGguf, ReadsYarnScaling) {
  GgufBuilder file = FileWith({});
  file.Key("llama.rope.scaling.type", "yarn");
  file.Key("llama.rope.scaling.factor", 4.0f);
  file.Key("llama.rope.scaling.original_context_length", uint32_t{32});
  const Result<model::Network> network = Read(file);
  ASSERT_TRUE(network.ok()) << network.status().message();
  EXPECT_EQ(network->ropes[0].scaling, model::RopeScaling::kYarn);
  EXPECT_EQ(network->ropes[0].factor, 4);
  EXPECT_EQ(network->ropes[0].original_context, 32);
}

GgufBuilder YarnFile(const std::string& arch) {
  GgufBuilder file = FileWith({.arch = arch});
  file.Key(arch + ".rope.scaling.type", "yarn");
  file.Key(arch + ".rope.scaling.factor", 8.0f);
  file.Key(arch + ".rope.scaling.original_context_length", uint32_t{64});
  return file;
}

// The published factor of OLMo 3 is what YaRN gives anyway: 1 + 0.1 ln 8.
TEST(NetworkFromGguf, YarnsAttentionFactorReplacesTheMagnitude) {
  for (const double factor : {1.2079441541679836, 1.0}) {
    GgufBuilder file = YarnFile("olmo2");
    file.Key("olmo2.rope.scaling.yarn_attn_factor", factor);
    const Result<model::Network> network = Read(file);
    ASSERT_TRUE(network.ok()) << network.status().message();
    EXPECT_NEAR(ComputeRopeFrequencies(network->ropes[0]).magnitude, 1.2079441541679836, 1e-12);
  }
  GgufBuilder file = YarnFile("olmo2");
  file.Key("olmo2.rope.scaling.yarn_attn_factor", 1.5f);
  EXPECT_EQ(ComputeRopeFrequencies(Read(file)->ropes[0]).magnitude, 1.5);
  file.Key("olmo2.rope.scaling.attn_factor", 2.0f);  // another key: it multiplies
  EXPECT_EQ(ComputeRopeFrequencies(Read(file)->ropes[0]).magnitude, 3.0);
  GgufBuilder hostile = YarnFile("olmo2");
  hostile.Key("olmo2.rope.scaling.yarn_attn_factor", -1.0f);
  ExpectError(hostile, ErrorCode::kBadModel, "rope magnitude is -1.0");
}

TEST(NetworkFromGguf, YarnsBetasAreReadUnlessLlamaCppsReadingIsWanted) {
  GgufBuilder file = YarnFile("llama");
  file.Key("llama.rope.scaling.yarn_beta_fast", 1.0f);
  file.Key("llama.rope.scaling.yarn_beta_slow", 0.5f);
  const Result<model::Network> published = Read(file);
  EXPECT_EQ(published->ropes[0].beta_fast, 1);
  EXPECT_EQ(published->ropes[0].beta_slow, 0.5);
  const Result<model::Network> other = Read(file, Conventions::kLlamaCpp);
  EXPECT_EQ(other->ropes[0].beta_fast, 32);
  EXPECT_EQ(other->ropes[0].beta_slow, 1);
}

TEST(NetworkFromGguf, GemmasEmbeddingScaleIsABFloat16AsPublished) {
  struct Case {
    uint32_t width;
    float published;
  };
  for (const Case& c : {Case{5376, 73.5f}, Case{2816, 53.0f}, Case{2560, 50.5f}, Case{1152, 34.0f},
                        Case{640, 25.25f}, Case{2304, 48.0f}, Case{128, 11.3125f}}) {
    for (const char* arch : {"gemma2", "gemma3"}) {
      GgufBuilder file = FileWith({.arch = arch, .embedding = c.width});
      file.Key(std::string(arch) + ".attention.key_length", uint32_t{64});
      EXPECT_EQ(Read(file)->embedding_scale, c.published) << c.width;
      EXPECT_EQ(Read(file, Conventions::kLlamaCpp)->embedding_scale,
                std::sqrt(static_cast<float>(c.width)));
    }
  }
}

// A file of seven layers with windows.
GgufBuilder WindowFile(const std::string& arch) {
  GgufBuilder file = FileWith({.arch = arch, .layers = 7});
  file.Key(arch + ".attention.sliding_window", uint32_t{5});
  file.Key(arch + ".attention.layer_norm_epsilon", 1e-5f);
  return file;
}

// A letter for each layer: it sees a window, or all and turns, or all and turns nothing.
std::string Pattern(const GgufBuilder& file) {
  const Result<model::Network> network = Read(file);
  if (!network.ok()) return network.status().message();
  std::string pattern;
  for (const model::Layer& layer : network->layers) {
    const auto& gqa = std::get<model::Gqa>(layer.mixer);
    pattern += gqa.window > 0 ? 'w' : gqa.rope ? 'a' : 'n';
  }
  return pattern;
}

// Published: 2047 positions in all layers of the 4k models. Others give the context, or more.
TEST(NetworkFromGguf, Phi3HasAWindowWhereThePublisherHasOne) {
  const auto window = [](uint32_t value, Conventions conventions) {
    GgufBuilder file = FileWith({.arch = "phi3"});
    file.Key("phi3.attention.sliding_window", value);
    return First(*Read(file, conventions)).window;
  };
  EXPECT_EQ(window(47, Conventions::kPublisher), 47);
  EXPECT_EQ(window(128, Conventions::kPublisher), 0);
  EXPECT_EQ(window(262144, Conventions::kPublisher), 0);
  EXPECT_EQ(window(47, Conventions::kLlamaCpp), 0);
}

TEST(NetworkFromGguf, GptOssHasThePublishedRampAndSinks) {
  const auto file = [] {
    GgufBuilder builder = YarnFile("gpt-oss");
    builder.Key("gpt-oss.expert_count", uint32_t{4});
    builder.Key("gpt-oss.expert_used_count", uint32_t{2});
    builder.Key("gpt-oss.expert_feed_forward_length", uint32_t{32});
    return builder;
  };
  const Result<model::Network> network = Read(file());
  ASSERT_TRUE(network.ok()) << network.status().message();
  EXPECT_EQ(network->ropes[0].ramp, model::YarnRamp::kExact);
  EXPECT_EQ(First(*network).sinks, model::Sinks::kOnePerHead);
  EXPECT_EQ(Read(file(), Conventions::kLlamaCpp)->ropes[0].ramp, model::YarnRamp::kWholePairs);
}

TEST(NetworkFromGguf, Mistral3sTemperatureAndMagnitude) {
  GgufBuilder file = YarnFile("mistral3");
  file.Key("mistral3.rope.scaling.yarn_beta_fast", 0.25f);
  file.Key("mistral3.attention.temperature_scale", 0.5f);
  const Result<model::Network> plain = Read(file, Conventions::kLlamaCpp);
  ASSERT_TRUE(plain.ok()) << plain.status().message();
  EXPECT_EQ(First(*plain).temperature.scale, 0.5);
  EXPECT_EQ(First(*plain).temperature.length, 64);
  EXPECT_EQ(plain->ropes[0].beta_fast, 0.25);
  EXPECT_NEAR(ComputeRopeFrequencies(plain->ropes[0]).magnitude, 1 + 0.1 * std::log(8), 1e-12);
  file.Key("mistral3.rope.scaling.yarn_log_multiplier", 1.0f);
  EXPECT_NEAR(ComputeRopeFrequencies(Read(file)->ropes[0]).magnitude, 1, 1e-12);
  GgufBuilder negative = FileWith({.arch = "mistral3"});
  negative.Key("mistral3.attention.temperature_scale", -0.5f);
  ExpectError(negative, ErrorCode::kBadModel, "attention temperature scale is -0.5");
  GgufBuilder nowhere = FileWith({.arch = "mistral3"});
  nowhere.Key("mistral3.attention.temperature_scale", 0.5f);
  nowhere.Key("mistral3.rope.scaling.original_context_length", uint32_t{0});
  ExpectError(nowhere, ErrorCode::kBadModel, "attention temperature length is 0");
}

TEST(NetworkFromGguf, LayersWithWindowsAreTheFamilysOrTheFiles) {
  EXPECT_EQ(Pattern(WindowFile("gemma2")), "wawawaw");
  EXPECT_EQ(Pattern(WindowFile("gemma3")), "wwwwwaw");
  EXPECT_EQ(Pattern(WindowFile("olmo2")), "wwwawww");
  EXPECT_EQ(Pattern(WindowFile("cohere2")), "wwwnwww");
  EXPECT_EQ(Pattern(WindowFile("exaone4")), "wwwnwww");
  EXPECT_EQ(Pattern(FileWith({.arch = "exaone4"})), "aa");
  EXPECT_EQ(Pattern(FileWith({.arch = "gemma3"})), "aa");
  const std::string key = "gemma2.attention.sliding_window_pattern";
  EXPECT_EQ(Pattern(WindowFile("gemma2").Key(key, uint32_t{3})), "wwawwaw");
  EXPECT_EQ(Pattern(WindowFile("gemma2").Key(key, std::vector<uint32_t>{1, 0, 0, 1, 1, 0, 1})),
            "waawwaw");
  ExpectError(
      WindowFile("gemma2").Key(key, std::vector<uint32_t>{1, 0, 0}), ErrorCode::kBadModel,
      "'gemma2.attention.sliding_window_pattern' has 3 numbers, expected one per layer (7)");
}

TEST(NetworkFromGguf, TheLargestGemmasScaleByTheShareOfAHeadInTheWidth) {
  const auto scale = [](const std::string& arch, uint32_t layers) {
    GgufBuilder file = FileWith({.arch = arch, .layers = layers});
    file.Key(arch + ".attention.key_length", uint32_t{8});
    return First(*Read(file)).scale;
  };
  EXPECT_EQ(scale("gemma2", 26), model::DefaultAttentionScale(8));
  EXPECT_EQ(scale("gemma2", 46), model::DefaultAttentionScale(16));
  EXPECT_EQ(scale("gemma3", 62), model::DefaultAttentionScale(16));
  GgufBuilder none = FileWith({.arch = "gemma3", .layers = 62, .heads = 0});
  none.Key("gemma3.attention.key_length", uint32_t{8});
  ExpectError(none, ErrorCode::kBadModel, "head count is 0");
}

TEST(NetworkFromGguf, FactorsThatMakeNoSenseAreNamed) {
  const auto problem = [](const std::string& key, float value) {
    GgufBuilder file = FileWith({.arch = "granite"});
    file.Key("granite." + key, value);
    return Read(file).status().message();
  };
  const GgufBuilder fine = FileWith({.arch = "granite"}).Key("granite.embedding_scale", 12.0f);
  EXPECT_EQ(Read(fine)->embedding_scale, 12.0f);
  for (const char* key : {"embedding_scale", "residual_scale", "logit_scale", "attention.scale"}) {
    for (const float value : {0.0f, -1.0f, std::numeric_limits<float>::infinity(), std::nanf("")}) {
      EXPECT_NE(problem(key, value).find("expected a positive number"), std::string::npos)
          << key << " " << value << ": " << problem(key, value);
    }
  }
}

TEST(NetworkFromGguf, GraniteMayBeTrainedWithoutRope) {
  const GgufBuilder file =
      FileWith({.arch = "granite"}).Key("granite.rope.scaling.finetuned", false);
  EXPECT_FALSE(First(*Read(file)).rope.has_value());
  EXPECT_TRUE(First(*Read(FileWith({.arch = "granite"}))).rope.has_value());
}

TEST(NetworkFromGguf, ReadsTheOldSpellingOfLinearScaling) {
  GgufBuilder file = FileWith({});
  file.Key("llama.rope.scale_linear", 2.0f);
  const Result<model::Network> network = Read(file);
  ASSERT_TRUE(network.ok()) << network.status().message();
  EXPECT_EQ(network->ropes[0].scaling, model::RopeScaling::kLinear);
  EXPECT_EQ(network->ropes[0].factor, 2);
}

TEST(NetworkFromGguf, UnknownArchitectureListsTheSupportedOnes) {
  ExpectError(FileWith({.arch = "mamba"}), ErrorCode::kUnsupported,
              "(supported: " + model::FamilyNames() + "; docs/models.md says what of each)");
  EXPECT_NE(model::FamilyNames().find(", llama, "), std::string::npos);
}

TEST(NetworkFromGguf, MixtureOfExpertsIsNotSupportedWhereNoneIsPublished) {
  GgufBuilder file = FileWith({.arch = "qwen2"});
  file.Key("qwen2.expert_count", uint32_t{8});
  ExpectError(file, ErrorCode::kUnsupported, "8 experts");
}

struct ExpertKeys {
  uint32_t count = 8;
  uint32_t used = 2;
  uint32_t hidden = 48;
};

GgufBuilder MixtureWith(const ExpertKeys& keys) {
  return FileWith({.arch = "qwen3moe"})
      .Key("qwen3moe.expert_count", keys.count)
      .Key("qwen3moe.expert_used_count", keys.used)
      .Key("qwen3moe.expert_feed_forward_length", keys.hidden);
}

TEST(NetworkFromGguf, ReadsMixturesOfExperts) {
  const Result<model::Network> network = Read(MixtureWith({}));
  ASSERT_TRUE(network.ok()) << network.status().message();
  for (const model::Layer& layer : network->layers) {
    const auto& experts = std::get<model::Experts>(layer.feed_forward);
    EXPECT_EQ(experts.count, 8);
    EXPECT_EQ(experts.used, 2);
    EXPECT_EQ(experts.hidden, 48);
  }
  GgufBuilder mixtral = FileWith({});
  mixtral.Key("llama.expert_count", uint32_t{4}).Key("llama.expert_used_count", uint32_t{4});
  const Result<model::Network> same_width = Read(mixtral);
  ASSERT_TRUE(same_width.ok()) << same_width.status().message();
  EXPECT_EQ(std::get<model::Experts>(same_width->layers[1].feed_forward).hidden, 96);
}

TEST(NetworkFromGguf, NumbersOfExpertsThatMakeNoSenseAreNamed) {
  ExpectError(MixtureWith({.count = 0}), ErrorCode::kBadModel, "expert count is 0");
  ExpectError(MixtureWith({.count = 1025}), ErrorCode::kBadModel, "expert count is 1025");
  ExpectError(MixtureWith({.used = 0}), ErrorCode::kBadModel, "used experts is 0, expected 1 to 8");
  ExpectError(MixtureWith({.used = 9}), ErrorCode::kBadModel, "used experts is 9, expected 1 to 8");
  ExpectError(MixtureWith({.hidden = 0}), ErrorCode::kBadModel, "feed forward length is 0");
  ExpectError(MixtureWith({.hidden = 1u << 31}), ErrorCode::kBadModel,
              "feed forward length is 2147483648");
  ExpectError(FileWith({.arch = "qwen3moe"}), ErrorCode::kBadModel, "qwen3moe.expert_count");
  GgufBuilder unused = FileWith({});
  unused.Key("llama.expert_count", uint32_t{4});
  ExpectError(unused, ErrorCode::kBadModel, "llama.expert_used_count");
}

// A mixture of the family that has most of the keys.
GgufBuilder Glm() {
  return FileWith({.arch = "glm4moe", .layers = 3})
      .Key("glm4moe.expert_count", uint32_t{8})
      .Key("glm4moe.expert_used_count", uint32_t{2})
      .Key("glm4moe.expert_feed_forward_length", uint32_t{48});
}

const model::Experts& LastExperts(const model::Network& network) {
  return std::get<model::Experts>(network.layers.back().feed_forward);
}

TEST(NetworkFromGguf, ReadsHowAMixtureChooses) {
  const Result<model::Network> plain = Read(Glm());
  ASSERT_TRUE(plain.ok()) << plain.status().message();
  EXPECT_EQ(LastExperts(*plain).rule.weights, kernels::RouteWeights::kSigmoid);  // GLM's own
  EXPECT_EQ(LastExperts(*plain).rule.sum, kernels::RouteSum::kOne);
  EXPECT_EQ(LastExperts(*plain).rule.scale, 1.0f);
  EXPECT_EQ(LastExperts(*plain).rule.groups, 1);
  EXPECT_FALSE(LastExperts(*plain).has_shared());
  GgufBuilder file = Glm();
  file.Key("glm4moe.expert_gating_func", uint32_t{1}).Key("glm4moe.expert_weights_norm", false);
  file.Key("glm4moe.expert_weights_scale", 1.5f).Key("glm4moe.expert_group_count", uint32_t{4});
  file.Key("glm4moe.expert_group_used_count", uint32_t{2});
  file.Key("glm4moe.expert_shared_count", uint32_t{3});
  const Result<model::Network> network = Read(file);
  ASSERT_TRUE(network.ok()) << network.status().message();
  EXPECT_EQ(LastExperts(*network).rule.weights, kernels::RouteWeights::kSoftmax);
  EXPECT_EQ(LastExperts(*network).rule.sum, kernels::RouteSum::kAsItIs);
  EXPECT_EQ(LastExperts(*network).rule.scale, 1.5f);
  EXPECT_EQ(LastExperts(*network).rule.groups, 4);
  EXPECT_EQ(LastExperts(*network).rule.used_groups, 2);
  EXPECT_EQ(LastExperts(*network).shared.hidden, 3 * 48);
  file.Key("glm4moe.expert_shared_feed_forward_length", uint32_t{40});
  EXPECT_EQ(LastExperts(*Read(file)).shared.hidden, 40);
}

TEST(NetworkFromGguf, AScaleOfZeroIsNone) {
  EXPECT_EQ(LastExperts(*Read(Glm().Key("glm4moe.expert_weights_scale", 0.0f))).rule.scale, 1.0f);
}

TEST(NetworkFromGguf, LayersOfAMixtureMayBeDense) {
  const auto dense = [](uint32_t leading, uint32_t step) {
    GgufBuilder file = Glm();
    file.Key("glm4moe.leading_dense_block_count", leading);
    file.Key("glm4moe.interleave_moe_layer_step", step);
    const Result<model::Network> network = Read(file);
    std::string layers;
    for (const model::Layer& layer : network->layers) {
      layers += std::holds_alternative<model::Gated>(layer.feed_forward) ? 'd' : 'm';
    }
    return layers;
  };
  EXPECT_EQ(dense(0, 1), "mmm");
  EXPECT_EQ(dense(2, 1), "ddm");
  EXPECT_EQ(dense(3, 1), "ddd");
  EXPECT_EQ(dense(0, 2), "dmd");
  EXPECT_EQ(dense(2, 2), "ddd");
}

TEST(NetworkFromGguf, LayersThatOnlyPredictAreNoneOfTheNetwork) {
  const Result<model::Network> network =
      Read(Glm().Key("glm4moe.nextn_predict_layers", uint32_t{1}));
  ASSERT_TRUE(network.ok()) << network.status().message();
  EXPECT_EQ(network->layers.size(), 2u);
  EXPECT_EQ(network->prediction_layers, 1);
  ExpectError(Glm().Key("glm4moe.nextn_predict_layers", uint32_t{3}), ErrorCode::kBadModel,
              "glm4moe.nextn_predict_layers is 3, expected 0 to 2");
}

TEST(NetworkFromGguf, RoutingThatMakesNoSenseIsNamed) {
  ExpectError(Glm().Key("glm4moe.expert_gating_func", uint32_t{4}), ErrorCode::kUnsupported,
              "glm4moe.expert_gating_func is 4");
  for (const float scale :
       {std::numeric_limits<float>::quiet_NaN(), -1.0f, std::numeric_limits<float>::infinity()}) {
    ExpectError(Glm().Key("glm4moe.expert_weights_scale", scale), ErrorCode::kBadModel,
                "expert weights scale is ");
  }
  ExpectError(Glm().Key("glm4moe.expert_group_count", uint32_t{4}), ErrorCode::kBadModel,
              "glm4moe.expert_group_used_count");
  const auto groups = [](uint32_t count, uint32_t used) {
    return Glm()
        .Key("glm4moe.expert_group_count", count)
        .Key("glm4moe.expert_group_used_count", used);
  };
  ExpectError(groups(3, 1), ErrorCode::kBadModel, "8 is not a multiple of expert group count 3");
  ExpectError(groups(4, 5), ErrorCode::kBadModel, "used expert groups is 5, expected 1 to 4");
  ExpectError(groups(4, 0), ErrorCode::kBadModel, "used expert groups is 0");
  ExpectError(groups(8, 1), ErrorCode::kBadModel, "used experts is 2, expected 1 to 1");
  ExpectError(groups(128, 1), ErrorCode::kBadModel, "expert group count is 128");
  ExpectError(Glm().Key("glm4moe.expert_weights_norm", uint32_t{1}), ErrorCode::kBadModel,
              "glm4moe.expert_weights_norm");
}

TEST(NetworkFromGguf, MixturesOfImpossibleShapeAreNamed) {
  ExpectError(Glm().Key("glm4moe.leading_dense_block_count", uint32_t{4}), ErrorCode::kBadModel,
              "glm4moe.leading_dense_block_count is 4, expected 0 to 3");
  ExpectError(Glm().Key("glm4moe.interleave_moe_layer_step", uint32_t{0}), ErrorCode::kBadModel,
              "glm4moe.interleave_moe_layer_step is 0");
  ExpectError(Glm().Key("glm4moe.expert_shared_count", uint32_t{1025}), ErrorCode::kBadModel,
              "glm4moe.expert_shared_count is 1025");
  ExpectError(Glm().Key("glm4moe.expert_shared_feed_forward_length", uint32_t{1u << 31}),
              ErrorCode::kBadModel, "shared expert feed forward length is 2147483648");
  GgufBuilder per_layer = FileWith({.arch = "glm4moe", .layers = 3});
  per_layer.Key("glm4moe.expert_count", uint32_t{8}).Key("glm4moe.expert_used_count", uint32_t{2});
  per_layer.Key("glm4moe.expert_feed_forward_length", std::vector<uint32_t>{48, 48});
  ExpectError(per_layer, ErrorCode::kBadModel, "has 2 numbers, expected one per layer (3)");
}

TEST(NetworkFromGguf, UnknownRopeScalingIsNotSupported) {
  GgufBuilder file = FileWith({});
  file.Key("llama.rope.scaling.type", "longrope");
  ExpectError(file, ErrorCode::kUnsupported, "longrope");
}

TEST(NetworkFromGguf, NumbersThatMakeNoSenseAreNamed) {
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

TEST(NetworkFromGguf, RopeNumbersThatMakeNoSenseAreNamed) {
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

// The keys of FileWith, two layers, without head counts.
GgufBuilder FileWithoutHeads() {
  return GgufBuilder()
      .Key("general.architecture", "llama")
      .Key("llama.block_count", uint32_t{2})
      .Key("llama.embedding_length", uint32_t{64})
      .Key("llama.feed_forward_length", std::vector<uint32_t>{96, 32})
      .Key("llama.context_length", uint32_t{128})
      .Key("llama.attention.layer_norm_rms_epsilon", 1e-5f)
      .Key("tokenizer.ggml.tokens", std::vector<std::string>{"a"});
}

TEST(NetworkFromGguf, NumbersPerLayerMustMatchTheLayers) {
  GgufBuilder file = FileWithoutHeads();
  file.Key("llama.attention.head_count", std::vector<uint32_t>{4, 4, 4});
  ExpectError(file, ErrorCode::kBadModel, "one per layer (2)");
}

TEST(NetworkFromGguf, LayersMayDifferInQueryHeadsAndHiddenWidth) {
  GgufBuilder file = FileWithoutHeads();
  file.Key("llama.attention.head_count", std::vector<uint32_t>{4, 2});
  file.Key("llama.attention.head_count_kv", uint32_t{2});
  file.Key("llama.attention.key_length", uint32_t{16});
  const Result<model::Network> network = Read(file);
  ASSERT_TRUE(network.ok()) << network.status().message();
  EXPECT_EQ(First(*network).heads, 4);
  EXPECT_EQ(std::get<model::Gqa>(network->layers[1].mixer).heads, 2);
  EXPECT_EQ(std::get<model::Gated>(network->layers[0].feed_forward).hidden, 96);
  EXPECT_EQ(std::get<model::Gated>(network->layers[1].feed_forward).hidden, 32);
}

TEST(NetworkFromGguf, LayersMayDifferInTheShapeOfKeysAndValues) {
  GgufBuilder file = FileWithoutHeads();
  file.Key("llama.attention.head_count", std::vector<uint32_t>{4, 2});
  file.Key("llama.attention.head_count_kv", std::vector<uint32_t>{2, 1});
  file.Key("llama.rope.dimension_count", uint32_t{16});
  const Result<model::Network> network = Read(file);
  ASSERT_TRUE(network.ok()) << network.status().message();
  const kv::KvLayout layout = KvLayoutOf(*network, kernels::KvType::kF16);
  ASSERT_EQ(layout.layers.size(), 2u);
  EXPECT_EQ(layout.layers[0].kv_heads, 2);
  EXPECT_EQ(layout.layers[0].key_dim, 16);
  EXPECT_EQ(layout.layers[1].kv_heads, 1);
  EXPECT_EQ(layout.layers[1].key_dim, 32);
}

TEST(NetworkFromGguf, MissingKeysAreNamed) {
  GgufBuilder file;
  file.Key("general.architecture", "llama");
  ExpectError(file, ErrorCode::kBadModel, "llama.block_count");
}

TEST(NetworkFromGguf, KeysOfTheWrongTypeAreNamed) {
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
  EXPECT_EQ(pooling(2), Pooling::kFirst);
  EXPECT_EQ(pooling(3), Pooling::kLast);
  EXPECT_EQ(pooling(4), Pooling::kNone);  // ranks
}

}  // namespace
}  // namespace skald::load
