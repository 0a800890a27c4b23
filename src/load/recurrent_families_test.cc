// What network_from_gguf.h makes of files whose layers carry a state.

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "load/network_file_for_test.h"

namespace skald::load {
namespace {

// LFM2 of two layers: a short convolution, then attention.
GgufBuilder ShortConvFile(uint32_t taps, const std::vector<uint32_t>& kv_heads = {0, 2}) {
  GgufBuilder file;
  file.Key("general.architecture", "lfm2")
      .Key("lfm2.block_count", uint32_t{2})
      .Key("lfm2.embedding_length", uint32_t{64})
      .Key("lfm2.attention.head_count", uint32_t{4})
      .Key("lfm2.attention.head_count_kv", kv_heads)
      .Key("lfm2.feed_forward_length", uint32_t{96})
      .Key("lfm2.context_length", uint32_t{128})
      .Key("lfm2.attention.layer_norm_rms_epsilon", 1e-5f)
      .Key("lfm2.shortconv.l_cache", taps)
      .Key("tokenizer.ggml.tokens", std::vector<std::string>{"a"});
  return file;
}

TEST(NetworkFromGguf, LayersWithoutKvHeadsAreShortConvolutions) {
  const Result<model::Network> network = Read(ShortConvFile(3));
  ASSERT_TRUE(network.ok()) << network.status().message();
  EXPECT_EQ(std::get<model::ShortConv>(network->layers[0].mixer).taps, 3);
  EXPECT_EQ(std::get<model::Gqa>(network->layers[1].mixer).kv_heads, 2);
  // Only layers with attention have K and V.
  EXPECT_EQ(model::KvLayoutOf(*network, kernels::KvType::kF16).layers.size(), 1u);
  EXPECT_EQ(model::StateFloatsOf(*network), 2 * 64);
  const Result<model::Network> alone = Read(ShortConvFile(8, {0, 0}));
  ASSERT_TRUE(alone.ok()) << alone.status().message();
  EXPECT_EQ(model::KvLayoutOf(*alone, kernels::KvType::kF16).page_bytes(), 0);
  EXPECT_EQ(model::StateFloatsOf(*alone), 2 * 7 * 64);
}

TEST(NetworkFromGguf, ShortConvolutionsOfNoLengthAreNamed) {
  for (const uint32_t taps : {0u, 1u, 9u, 1u << 31}) {
    ExpectError(ShortConvFile(taps), ErrorCode::kBadModel, "short convolution length is ");
  }
  ExpectError(ShortConvFile(3, {0, 2, 0}), ErrorCode::kBadModel, "one per layer (2)");
  ExpectError(FileWith({.arch = "lfm2"}), ErrorCode::kBadModel, "lfm2.shortconv.l_cache");
}

// Qwen3.5 of four layers; a test changes one of the numbers.
struct DeltaKeys {
  uint32_t taps = 4;
  uint32_t inner = 64;
  uint32_t state = 16;
  uint32_t value_heads = 4;
  uint32_t key_heads = 2;
  uint32_t interval = 4;
  uint32_t prediction = 0;
  uint32_t value_length = 32;
};

GgufBuilder DeltaFile(const DeltaKeys& keys) {
  GgufBuilder file;
  file.Key("general.architecture", "qwen35")
      .Key("qwen35.block_count", uint32_t{4})
      .Key("qwen35.embedding_length", uint32_t{64})
      .Key("qwen35.attention.head_count", uint32_t{4})
      .Key("qwen35.attention.head_count_kv", uint32_t{2})
      .Key("qwen35.attention.key_length", uint32_t{32})
      .Key("qwen35.attention.value_length", keys.value_length)
      .Key("qwen35.feed_forward_length", uint32_t{96})
      .Key("qwen35.context_length", uint32_t{128})
      .Key("qwen35.attention.layer_norm_rms_epsilon", 1e-5f)
      .Key("qwen35.ssm.conv_kernel", keys.taps)
      .Key("qwen35.ssm.inner_size", keys.inner)
      .Key("qwen35.ssm.state_size", keys.state)
      .Key("qwen35.ssm.time_step_rank", keys.value_heads)
      .Key("qwen35.ssm.group_count", keys.key_heads)
      .Key("qwen35.full_attention_interval", keys.interval)
      .Key("qwen35.nextn_predict_layers", keys.prediction)
      .Key("tokenizer.ggml.tokens", std::vector<std::string>{"a"});
  return file;
}

TEST(NetworkFromGguf, EveryFourthLayerOfADeltaHybridIsGatedAttention) {
  const Result<model::Network> network = Read(DeltaFile({}));
  ASSERT_TRUE(network.ok()) << network.status().message();
  for (size_t layer = 0; layer < 3; ++layer) {
    EXPECT_EQ(std::get<model::DeltaNet>(network->layers[layer].mixer).channels(), 128);
  }
  const auto& gqa = std::get<model::Gqa>(network->layers[3].mixer);
  EXPECT_EQ(gqa.output_gate, model::OutputGate::kSigmoid);
  EXPECT_EQ(gqa.query_rows(), 256);
  EXPECT_EQ(model::StateFloatsOf(*network), 3 * (4 * 16 * 16 + 3 * 128));
  const Result<model::Network> other = Read(DeltaFile({.interval = 2, .prediction = 1}));
  ASSERT_TRUE(other.ok()) << other.status().message();
  ASSERT_EQ(other->layers.size(), 3u);
  EXPECT_TRUE(std::holds_alternative<model::Gqa>(other->layers[1].mixer));
}

TEST(NetworkFromGguf, NumbersOfDeltaNetsThatMakeNoSenseAreNamed) {
  ExpectError(DeltaFile({.taps = 0}), ErrorCode::kBadModel, "convolution length is 0");
  ExpectError(DeltaFile({.taps = 9}), ErrorCode::kBadModel, "convolution length is 9");
  ExpectError(DeltaFile({.inner = 65}), ErrorCode::kBadModel, "qwen35.ssm.inner_size is 65");
  ExpectError(DeltaFile({.state = 0}), ErrorCode::kBadModel, "qwen35.ssm.state_size is 0");
  ExpectError(DeltaFile({.state = 1u << 31}), ErrorCode::kBadModel, "qwen35.ssm.state_size is");
  ExpectError(DeltaFile({.value_heads = 0}), ErrorCode::kBadModel, "qwen35.ssm.time_step_rank");
  ExpectError(DeltaFile({.key_heads = 0}), ErrorCode::kBadModel, "key head count of the delta");
  ExpectError(DeltaFile({.key_heads = 3}), ErrorCode::kBadModel, "not a multiple");
  ExpectError(DeltaFile({.interval = 0}), ErrorCode::kBadModel, "full_attention_interval is 0");
  ExpectError(DeltaFile({.prediction = 4}), ErrorCode::kBadModel, "nextn_predict_layers is 4");
  ExpectError(DeltaFile({.value_length = 16}), ErrorCode::kBadModel, "expected the key length 32");
  // 64 MiB of state in one layer.
  ExpectError(DeltaFile({.inner = 1u << 20, .state = 1024, .value_heads = 1024}),
              ErrorCode::kBadModel, "state of the delta rule is");
}

TEST(NetworkFromGguf, OlderFilesOfQwen3NextHaveOneTensorOfProjections) {
  GgufBuilder file = FileWith({.arch = "qwen3next", .layers = 4});
  file.Key("qwen3next.ssm.conv_kernel", uint32_t{4})
      .Key("qwen3next.ssm.inner_size", uint32_t{64})
      .Key("qwen3next.ssm.state_size", uint32_t{16})
      .Key("qwen3next.ssm.time_step_rank", uint32_t{4})
      .Key("qwen3next.ssm.group_count", uint32_t{2})
      .Key("qwen3next.expert_count", uint32_t{8})
      .Key("qwen3next.expert_used_count", uint32_t{2})
      .Key("qwen3next.expert_feed_forward_length", uint32_t{16});
  const auto first = [](const GgufBuilder& built) {
    return std::get<model::DeltaNet>(Read(built)->layers[0].mixer).projections;
  };
  EXPECT_EQ(first(file), model::Fusion::kSeparate);
  file.Tensor({.name = "blk.0.ssm_in.weight", .dims = {64, 192}});
  EXPECT_EQ(first(file), model::Fusion::kFused);
}

// Granite 4.0 H of two layers: Mamba-2, then attention.
struct MambaKeys {
  uint32_t taps = 4;
  uint32_t inner = 128;
  uint32_t state = 16;
  uint32_t heads = 4;
  uint32_t groups = 2;
};

GgufBuilder MambaFile(const MambaKeys& keys) {
  const std::string arch = "granitehybrid";
  GgufBuilder file;
  file.Key("general.architecture", arch)
      .Key(arch + ".block_count", uint32_t{2})
      .Key(arch + ".embedding_length", uint32_t{64})
      .Key(arch + ".attention.head_count", uint32_t{4})
      .Key(arch + ".attention.head_count_kv", std::vector<uint32_t>{0, 2})
      .Key(arch + ".feed_forward_length", uint32_t{96})
      .Key(arch + ".context_length", uint32_t{128})
      .Key(arch + ".attention.layer_norm_rms_epsilon", 1e-5f)
      .Key(arch + ".ssm.conv_kernel", keys.taps)
      .Key(arch + ".ssm.inner_size", keys.inner)
      .Key(arch + ".ssm.state_size", keys.state)
      .Key(arch + ".ssm.time_step_rank", keys.heads)
      .Key(arch + ".ssm.group_count", keys.groups)
      .Key("tokenizer.ggml.tokens", std::vector<std::string>{"a"});
  return file;
}

TEST(NetworkFromGguf, LayersOfGraniteHybridWithoutKvHeadsAreStateSpaces) {
  const Result<model::Network> network = Read(MambaFile({}));
  ASSERT_TRUE(network.ok()) << network.status().message();
  const auto& mamba = std::get<model::Mamba2>(network->layers[0].mixer);
  EXPECT_EQ(mamba.head_dim, 32);
  EXPECT_EQ(mamba.input_rows(), 128 + 192 + 4);
  EXPECT_EQ(model::StateFloatsOf(*network), 128 * 16 + 3 * 192);
  EXPECT_TRUE(std::holds_alternative<model::Gqa>(network->layers[1].mixer));
}

TEST(NetworkFromGguf, NumbersOfStateSpacesThatMakeNoSenseAreNamed) {
  ExpectError(MambaFile({.taps = 0}), ErrorCode::kBadModel, "convolution length is 0");
  ExpectError(MambaFile({.inner = 130}), ErrorCode::kBadModel, "ssm.inner_size is 130");
  ExpectError(MambaFile({.inner = 0}), ErrorCode::kBadModel, "head length of the state space");
  ExpectError(MambaFile({.inner = 1u << 30}), ErrorCode::kBadModel, "head length of the state");
  ExpectError(MambaFile({.state = 0}), ErrorCode::kBadModel,
              "state length of the state space is 0");
  ExpectError(MambaFile({.state = 1u << 31}), ErrorCode::kBadModel, "state length of the state");
  ExpectError(MambaFile({.heads = 0}), ErrorCode::kBadModel, "ssm.time_step_rank is 0");
  ExpectError(MambaFile({.groups = 0}), ErrorCode::kBadModel, "group count of the state space");
  ExpectError(MambaFile({.groups = 3}), ErrorCode::kBadModel, "not a multiple of its group count");
  ExpectError(MambaFile({.inner = 1u << 20, .state = 1024, .heads = 1024}), ErrorCode::kBadModel,
              "state of the state space is");
}

// The keys ssm.* of a file.
void AddStateSpace(const std::string& arch, GgufBuilder* file) {
  file->Key(arch + ".ssm.conv_kernel", uint32_t{4})
      .Key(arch + ".ssm.inner_size", uint32_t{128})
      .Key(arch + ".ssm.state_size", uint32_t{16})
      .Key(arch + ".ssm.time_step_rank", uint32_t{4})
      .Key(arch + ".ssm.group_count", uint32_t{2});
}

TEST(NetworkFromGguf, Mamba2HasNeitherAttentionNorFeedForwards) {
  GgufBuilder file;
  file.Key("general.architecture", "mamba2")
      .Key("mamba2.block_count", uint32_t{2})
      .Key("mamba2.embedding_length", uint32_t{64})
      .Key("mamba2.context_length", uint32_t{128})
      .Key("mamba2.attention.layer_norm_rms_epsilon", 1e-5f)
      .Key("tokenizer.ggml.tokens", std::vector<std::string>{"a"});
  ExpectError(file, ErrorCode::kBadModel, "mamba2.ssm.time_step_rank");
  AddStateSpace("mamba2", &file);
  const Result<model::Network> network = Read(file);
  ASSERT_TRUE(network.ok()) << network.status().message();
  EXPECT_TRUE(model::KvLayoutOf(*network, kernels::KvType::kF16).layers.empty());
  EXPECT_EQ(model::StateFloatsOf(*network), 2 * (128 * 16 + 3 * 192));
}

// Nemotron-H of three layers.
GgufBuilder NemotronFile(const std::string& arch, const std::vector<uint32_t>& kv_heads,
                         const std::vector<uint32_t>& feed_forward) {
  GgufBuilder file;
  file.Key("general.architecture", arch)
      .Key(arch + ".block_count", uint32_t{3})
      .Key(arch + ".embedding_length", uint32_t{64})
      .Key(arch + ".attention.head_count", uint32_t{4})
      .Key(arch + ".attention.head_count_kv", kv_heads)
      .Key(arch + ".feed_forward_length", feed_forward)
      .Key(arch + ".context_length", uint32_t{128})
      .Key(arch + ".attention.layer_norm_rms_epsilon", 1e-5f)
      .Key("tokenizer.ggml.tokens", std::vector<std::string>{"a"});
  AddStateSpace(arch, &file);
  return file;
}

TEST(NetworkFromGguf, EachLayerOfNemotronHIsOneBlock) {
  const Result<model::Network> network = Read(NemotronFile("nemotron_h", {0, 0, 2}, {0, 96, 0}));
  ASSERT_TRUE(network.ok()) << network.status().message();
  const std::vector<model::Layer>& layers = network->layers;
  EXPECT_TRUE(std::holds_alternative<model::Mamba2>(layers[0].mixer));
  EXPECT_FALSE(model::Exists(layers[0].feed_forward));
  EXPECT_FALSE(model::Exists(layers[1].mixer));
  EXPECT_EQ(std::get<model::Plain>(layers[1].feed_forward).function,
            model::Activation::kReluSquared);
  EXPECT_EQ(std::get<model::Gqa>(layers[2].mixer).rope, std::nullopt);
  EXPECT_FALSE(model::Exists(layers[2].feed_forward));
}

TEST(NetworkFromGguf, LayersOfNemotronHThatAreNoneOrTwoBlocksAreNamed) {
  ExpectError(NemotronFile("nemotron_h", {0, 2, 0}, {0, 96, 0}), ErrorCode::kBadModel,
              "layer 1 has 2 KV heads and a feed-forward");
  ExpectError(NemotronFile("nemotron_h", {0, 0, 0}, {96, 96, 96}), ErrorCode::kBadModel,
              "no layer with a mixer");
  ExpectError(NemotronFile("nemotron_h", {0, 0, 2}, {0, 96}), ErrorCode::kBadModel,
              "nemotron_h.feed_forward_length' has 2 numbers");
}

TEST(NetworkFromGguf, ExpertsOfNemotronHMayBeLatent) {
  const auto file = [](uint32_t latent, uint32_t experts, uint32_t used) {
    GgufBuilder built = NemotronFile("nemotron_h_moe", {0, 2, 0}, {0, 0, 16});
    built.Key("nemotron_h_moe.expert_count", experts)
        .Key("nemotron_h_moe.expert_used_count", used)
        .Key("nemotron_h_moe.expert_feed_forward_length", uint32_t{16})
        .Key("nemotron_h_moe.moe_latent_size", latent);
    return built;
  };
  const Result<model::Network> network = Read(file(32, 8, 3));
  ASSERT_TRUE(network.ok()) << network.status().message();
  const auto& experts = std::get<model::Experts>(network->layers[2].feed_forward);
  EXPECT_EQ(experts.expert_width(), 32);
  EXPECT_FALSE(experts.is_gated());
  ExpectError(file(1u << 31, 8, 3), ErrorCode::kBadModel, "latent length of the experts is");
  ExpectError(file(32, 0, 3), ErrorCode::kBadModel, "expert count is 0");
  ExpectError(file(32, 8, 9), ErrorCode::kBadModel, "used experts is 9");
}

TEST(NetworkFromGguf, LayersOfFalconH1HaveAttentionAndAStateSpace) {
  GgufBuilder file = FileWith({.arch = "falcon-h1"});
  AddStateSpace("falcon-h1", &file);
  const Result<model::Network> network = Read(file);
  ASSERT_TRUE(network.ok()) << network.status().message();
  for (const model::Layer& layer : network->layers) {
    EXPECT_EQ(std::get<model::Gqa>(layer.mixer).kv_heads, 2);
    EXPECT_EQ(std::get<model::Mamba2>(layer.beside).group_norm, model::GroupNorm::kNone);
  }
  EXPECT_EQ(model::KvLayoutOf(*network, kernels::KvType::kF16).layers.size(), 2u);
  EXPECT_EQ(model::StateFloatsOf(*network), 2 * (128 * 16 + 3 * 192));
}

}  // namespace
}  // namespace skald::load
