// LFM2 and its mixture: short convolutions and attention.
#include <fmt/format.h>

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/status_macros.h"
#include "huggingface/architecture.h"
#include "huggingface/config.h"
#include "huggingface/decoder_keys.h"
#include "huggingface/expert_keys.h"
#include "skald/status.h"

namespace skald::huggingface {
namespace {

constexpr NameRule kLfm2Names[] = {
    {"embedding_norm.weight", "token_embd_norm.weight"},
    {"layers.#.operator_norm.weight", "blk.#.attn_norm.weight"},
    {"layers.#.ffn_norm.weight", "blk.#.ffn_norm.weight"},
    {"layers.#.self_attn.out_proj.weight", "blk.#.attn_output.weight"},
    {"layers.#.self_attn.q_layernorm.weight", "blk.#.attn_q_norm.weight"},
    {"layers.#.self_attn.k_layernorm.weight", "blk.#.attn_k_norm.weight"},
    {"layers.#.conv.in_proj.weight", "blk.#.shortconv.in_proj.weight"},
    {"layers.#.conv.conv.weight", "blk.#.shortconv.conv.weight"},
    {"layers.#.conv.out_proj.weight", "blk.#.shortconv.out_proj.weight"},
    {"layers.#.feed_forward.w1.weight", "blk.#.ffn_gate.weight"},
    {"layers.#.feed_forward.w2.weight", "blk.#.ffn_down.weight"},
    {"layers.#.feed_forward.w3.weight", "blk.#.ffn_up.weight"},
    {"layers.#.feed_forward.gate.weight", "blk.#.ffn_gate_inp.weight"},
    {"layers.#.feed_forward.expert_bias", "blk.#.exp_probs_b.bias"},
    {"layers.#.feed_forward.experts.#.w1.weight", "blk.#.ffn_gate_exps.weight"},
    {"layers.#.feed_forward.experts.#.w2.weight", "blk.#.ffn_down_exps.weight"},
    {"layers.#.feed_forward.experts.#.w3.weight", "blk.#.ffn_up_exps.weight"}};

constexpr MemberName kLfm2Members[] = {{"rms_norm_eps", "norm_eps"}};

// The layers with attention, by the name of each, or by a list of their numbers.
Result<std::vector<int64_t>> AttentionLayers(const Config& config, int64_t layers) {
  ASSIGN_OR_RETURN(std::vector<int64_t> flags, LayerFlags(config, "full_attention", "conv"));
  if (!flags.empty()) return flags;
  constexpr std::string_view kList = "full_attn_idxs";
  const std::optional<JsonValue> list = config.Find(kList);
  if (!list || !list->IsArray()) return ConfigError("layer_types", "is missing");
  flags.resize(static_cast<size_t>(layers));
  for (const JsonValue each : *list) {
    const std::optional<int64_t> index = each.AsInt();
    if (!index || *index < 0 || *index >= layers)
      return ConfigError(kList, fmt::format("holds something else than 0 to {}", layers - 1));
    flags[static_cast<size_t>(*index)] = 1;
  }
  return flags;
}

// What is published is the width before it is cut to two thirds and rounded up.
Result<int64_t> AdjustedHidden(const Config& config) {
  const char* name = config.Contains("block_ff_dim") ? "block_ff_dim" : "intermediate_size";
  ASSIGN_OR_RETURN(int64_t hidden, config.Int(name));
  ASSIGN_OR_RETURN(const bool adjusts, config.FlagOr("block_auto_adjust_ff_dim", true));
  ASSIGN_OR_RETURN(const double factor, config.NumberOr("block_ffn_dim_multiplier", 1));
  ASSIGN_OR_RETURN(const int64_t unit, config.IntOr("block_multiple_of", 256));
  // So that their product is a number.
  constexpr int64_t kMostHidden = int64_t{1} << 32;
  constexpr double kMostFactor = 65536;
  if (hidden < 1 || hidden > kMostHidden || unit < 1 || unit > kMostHidden ||
      !(factor > 0 && factor <= kMostFactor))
    return ConfigError(name, "and its 'block_...' members are no width");
  if (!adjusts) return hidden;
  hidden = static_cast<int64_t>(factor * static_cast<double>(2 * hidden / 3));
  return (hidden + unit - 1) / unit * unit;
}

// No KV heads in layers with a convolution.
Status Lfm2MoeShape(const Config& config, DecoderShape* shape) {
  ASSIGN_OR_RETURN(const std::vector<int64_t> attends, AttentionLayers(config, shape->layers));
  const int64_t kv_heads = shape->kv_heads.front();
  shape->kv_heads.clear();
  for (const int64_t has : attends) shape->kv_heads.push_back(has * kv_heads);
  return Ok();
}

Status Lfm2Shape(const Config& config, DecoderShape* shape) {
  RETURN_IF_ERROR(Lfm2MoeShape(config, shape));
  ASSIGN_OR_RETURN(const int64_t hidden, AdjustedHidden(config));
  shape->hidden = {hidden};
  return Ok();
}

Status ConvolutionKeys(const Config& config, KeyWriter* keys) {
  ASSIGN_OR_RETURN(const int64_t taps, HeadSize(config, "conv_L_cache"));
  keys->Int("shortconv.l_cache", taps);
  return ExpectFalse(config, "conv_bias");
}

Status Lfm2(const Config& config, KeyWriter* keys) { return ConvolutionKeys(config, keys); }

// Its router adds a bias to choose, unless the folder says that it has none.
Status Lfm2Moe(const Config& config, KeyWriter* keys) {
  RETURN_IF_ERROR(ConvolutionKeys(config, keys));
  RETURN_IF_ERROR(ExpectTrue(config, "use_expert_bias"));
  ASSIGN_OR_RETURN(const int64_t dense, config.IntOr("num_dense_layers", 0));
  ASSIGN_OR_RETURN(const bool sums_to_one, config.FlagOr("norm_topk_prob", true));
  ASSIGN_OR_RETURN(const double scale, config.NumberOr("routed_scaling_factor", 1));
  keys->Int("leading_dense_block_count", dense);
  keys->Flag("expert_weights_norm", sums_to_one);
  keys->Number("expert_weights_scale", scale);
  return ExpertKeys(config, {.count = "num_experts"}, keys);
}

constexpr Architecture kKinds[] = {
    {.model_type = "lfm2",
     .family = "lfm2",
     .rules = kLfm2Names,
     .members = kLfm2Members,
     .ties_head = true,
     .change_shape = Lfm2Shape,
     .write_keys = Lfm2},
    {.model_type = "lfm2_moe",
     .family = "lfm2moe",
     .rules = kLfm2Names,
     .members = kLfm2Members,
     .ties_head = true,
     .change_shape = Lfm2MoeShape,
     .write_keys = Lfm2Moe},
};

}  // namespace

std::span<const Architecture> Lfm2Folders() { return kKinds; }

}  // namespace skald::huggingface
