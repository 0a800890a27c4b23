// Gemma 4: layers of two shapes, a mixture beside the feed-forward, inputs of layers.
#include <fmt/format.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status_macros.h"
#include "formats/quote.h"
#include "huggingface/architecture.h"
#include "huggingface/config.h"
#include "huggingface/decoder_keys.h"
#include "huggingface/expert_keys.h"
#include "huggingface/rope_keys.h"
#include "skald/status.h"

namespace skald::huggingface {
namespace {

constexpr int64_t kMostHeadDim = 65536;

constexpr NameRule kGemma4Names[] = {
    {"embed_tokens_per_layer.weight", "per_layer_token_embd.weight"},
    {"per_layer_model_projection.weight", "per_layer_model_proj.weight"},
    {"per_layer_projection_norm.weight", "per_layer_proj_norm.weight"},
    {"layers.#.post_attention_layernorm.weight", "blk.#.post_attention_norm.weight"},
    {"layers.#.pre_feedforward_layernorm.weight", "blk.#.ffn_norm.weight"},
    {"layers.#.pre_feedforward_layernorm_2.weight", "blk.#.pre_ffw_norm_2.weight"},
    {"layers.#.post_feedforward_layernorm_1.weight", "blk.#.post_ffw_norm_1.weight"},
    {"layers.#.post_feedforward_layernorm_2.weight", "blk.#.post_ffw_norm_2.weight"},
    {"layers.#.layer_scalar", "blk.#.layer_output_scale.weight"},
    {"layers.#.per_layer_input_gate.weight", "blk.#.inp_gate.weight"},
    {"layers.#.per_layer_projection.weight", "blk.#.proj.weight"},
    {"layers.#.post_per_layer_input_norm.weight", "blk.#.post_norm.weight"},
    {"layers.#.router.proj.weight", "blk.#.ffn_gate_inp.weight"},
    {"layers.#.router.scale", "blk.#.ffn_gate_inp.scale"},
    {"layers.#.router.per_expert_scale", "blk.#.ffn_down_exps.scale"},
    {"layers.#.experts.gate_up_proj", "blk.#.ffn_gate_up_exps.weight"},
    {"layers.#.experts.down_proj", "blk.#.ffn_down_exps.weight"}};

// Which layers see a window: five of six where nothing is said. The last sees all whatever is said,
// as in the published code.
Result<std::vector<int64_t>> Windows(const Config& config, int64_t layers) {
  ASSIGN_OR_RETURN(std::vector<int64_t> windows,
                   LayerFlags(config, "sliding_attention", "full_attention"));
  for (int64_t i = static_cast<int64_t>(windows.size()); i < layers; ++i)
    windows.push_back((i + 1) % 6 != 0 ? 1 : 0);
  windows.back() = 0;
  return windows;
}

Result<int64_t> SharedLayers(const Config& config, int64_t layers) {
  constexpr std::string_view kName = "num_kv_shared_layers";
  ASSIGN_OR_RETURN(const int64_t shared, config.IntOr(kName, 0));
  if (shared >= 0 && shared < layers) return shared;
  return ConfigError(kName, fmt::format("is {}, expected 0 to {}", shared, layers - 1));
}

// What newer programs may write, and what asks for another network.
Status RefuseOthers(const Config& config) {
  if (config.Contains("per_layer_config"))
    return ConfigError("per_layer_config", "is not known to this version", ErrorCode::kUnsupported);
  ASSIGN_OR_RETURN(const std::string_view sees,
                   config.TextOr("use_bidirectional_attention", "vision"));
  if (sees == "vision") return Ok();  // texts are masked as ever
  return ConfigError("use_bidirectional_attention",
                     fmt::format("is {}, expected vision", formats::Quote(sees)),
                     ErrorCode::kUnsupported);
}

Status NearKeys(const Config& config, KeyWriter* keys) {
  ASSIGN_OR_RETURN(const int64_t window, config.Int("sliding_window"));
  ASSIGN_OR_RETURN(const int64_t head_dim, config.IntOr("head_dim", 256));
  ASSIGN_OR_RETURN(const double base, NearRopeBase(config, 10000));
  keys->Int("attention.sliding_window", window);
  keys->Int("attention.key_length_swa", head_dim);
  keys->Int("attention.value_length_swa", head_dim);
  keys->Int("rope.dimension_count_swa", head_dim);
  keys->Number("rope.freq_base_swa", base);
  return Ok();
}

Status MixtureKeys(const Config& config, KeyWriter* keys) {
  ASSIGN_OR_RETURN(const bool has_experts, config.FlagOr("enable_moe_block", false));
  if (!has_experts) return Ok();
  return ExpertKeys(config, {.count = "num_experts", .used = "top_k_experts"}, keys);
}

Status Gemma4Shape(const Config& config, DecoderShape* shape) {
  ASSIGN_OR_RETURN(shape->key_dim, config.IntOr("global_head_dim", 512));
  if (shape->key_dim < 1 || shape->key_dim > kMostHeadDim)
    return ConfigError("global_head_dim",
                       fmt::format("is {}, expected 1 to {}", shape->key_dim, kMostHeadDim));
  shape->value_dim = shape->rotated = shape->key_dim;
  const int64_t near_heads = shape->kv_heads.front();
  ASSIGN_OR_RETURN(const bool takes_keys, config.FlagOr("attention_k_eq_v", false));
  ASSIGN_OR_RETURN(const int64_t given, config.IntOr("num_global_key_value_heads", near_heads));
  ASSIGN_OR_RETURN(const std::vector<int64_t> windows, Windows(config, shape->layers));
  ASSIGN_OR_RETURN(const int64_t shared, SharedLayers(config, shape->layers));
  ASSIGN_OR_RETURN(const bool doubles, config.FlagOr("use_double_wide_mlp", false));
  ASSIGN_OR_RETURN(const int64_t hidden, config.Int("intermediate_size"));
  constexpr int64_t kMostHidden = int64_t{1} << 32;  // so that its double is a number
  if (hidden < 1 || hidden > kMostHidden)
    return ConfigError("intermediate_size",
                       fmt::format("is {}, expected 1 to {}", hidden, kMostHidden));
  shape->kv_heads.clear();
  shape->hidden.clear();
  for (int64_t i = 0; i < shape->layers; ++i) {
    const bool is_near = windows[static_cast<size_t>(i)] != 0;
    const bool is_wide = doubles && i >= shape->layers - shared;
    shape->kv_heads.push_back(is_near || !takes_keys ? near_heads : given);
    shape->hidden.push_back(hidden);
    if (is_wide) shape->hidden.back() = 2 * hidden;
  }
  return Ok();
}

Status Gemma4(const Config& config, KeyWriter* keys) {
  RETURN_IF_ERROR(RefuseOthers(config));
  RETURN_IF_ERROR(ExpectFalse(config, "attention_bias"));
  RETURN_IF_ERROR(NearKeys(config, keys));
  ASSIGN_OR_RETURN(const int64_t layers, config.Int("num_hidden_layers"));
  ASSIGN_OR_RETURN(const std::vector<int64_t> windows, Windows(config, layers));
  ASSIGN_OR_RETURN(const int64_t shared, SharedLayers(config, layers));
  ASSIGN_OR_RETURN(const int64_t inner, config.IntOr("hidden_size_per_layer_input", 256));
  ASSIGN_OR_RETURN(const double cap, config.NumberOr("final_logit_softcapping", 0));
  keys->Ints("attention.sliding_window_pattern", windows);
  keys->Int("attention.shared_kv_layers", shared);
  keys->Int("embedding_length_per_layer_input", inner);
  keys->Number("final_logit_softcapping", cap);
  return MixtureKeys(config, keys);
}

// Layers that see all may take their keys for values. What E2B and E4B share is known by a key.
Status NameGemma4(const Config& config, std::vector<std::string>* names) {
  ASSIGN_OR_RETURN(const int64_t layers, config.Int("num_hidden_layers"));
  ASSIGN_OR_RETURN(const std::vector<int64_t> windows, Windows(config, layers));
  ASSIGN_OR_RETURN(const bool takes_keys, config.FlagOr("attention_k_eq_v", false));
  for (size_t i = 0; i < windows.size(); ++i) {
    const bool has_values = windows[i] != 0 || !takes_keys;
    if (has_values) names->push_back(fmt::format("blk.{}.attn_v.weight", i));
    names->push_back(fmt::format("blk.{}.layer_output_scale.weight", i));
  }
  return Ok();
}

constexpr Architecture kKinds[] = {
    {.model_type = "gemma4",
     .other_type = "gemma4_text",
     .family = "gemma4",
     .rules = kGemma4Names,
     .ties_head = true,
     .activation = "gelu_pytorch_tanh",
     .characters_model = "gemma4",
     .change_shape = Gemma4Shape,
     .write_keys = Gemma4,
     .name_tensors = NameGemma4},
};

}  // namespace

std::span<const Architecture> Gemma4Folders() { return kKinds; }

}  // namespace skald::huggingface
