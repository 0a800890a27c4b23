#include "huggingface/hybrid_kinds.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "base/status_macros.h"
#include "huggingface/decoder_keys.h"
#include "huggingface/expert_keys.h"

namespace skald::huggingface {
namespace {

constexpr int64_t kMost = 65536;  // heads, and elements of one

Result<int64_t> Bounded(const Config& config, std::string_view name) {
  ASSIGN_OR_RETURN(const int64_t number, config.Int(name));
  if (number >= 1 && number <= kMost) return number;
  return ConfigError(name, fmt::format("is {}, expected 1 to {}", number, kMost));
}

// ---- gated delta nets ----

Status DeltaNetKeys(const Config& config, KeyWriter* keys) {
  ASSIGN_OR_RETURN(const int64_t taps, Bounded(config, "linear_conv_kernel_dim"));
  ASSIGN_OR_RETURN(const int64_t key_heads, Bounded(config, "linear_num_key_heads"));
  ASSIGN_OR_RETURN(const int64_t value_heads, Bounded(config, "linear_num_value_heads"));
  ASSIGN_OR_RETURN(const int64_t key_dim, Bounded(config, "linear_key_head_dim"));
  ASSIGN_OR_RETURN(const int64_t value_dim, Bounded(config, "linear_value_head_dim"));
  if (value_dim != key_dim) {
    return ConfigError(
        "linear_value_head_dim",
        fmt::format("is {}, expected {} as 'linear_key_head_dim'", value_dim, key_dim),
        ErrorCode::kUnsupported);
  }
  keys->Int("ssm.conv_kernel", taps);
  keys->Int("ssm.group_count", key_heads);
  keys->Int("ssm.time_step_rank", value_heads);
  keys->Int("ssm.state_size", key_dim);
  keys->Int("ssm.inner_size", value_heads * value_dim);
  return Ok();
}

// Which layers are delta nets: each by its name, or all but the last of every so many.
Status DeltaHybridKeys(const Config& config, KeyWriter* keys) {
  RETURN_IF_ERROR(ExpectTrue(config, "attn_output_gate"));
  RETURN_IF_ERROR(DeltaNetKeys(config, keys));
  ASSIGN_OR_RETURN(const std::vector<int64_t> recurrent,
                   LayerFlags(config, "linear_attention", "full_attention"));
  if (!recurrent.empty()) {
    keys->Ints("attention.recurrent_layers", recurrent);
    return Ok();
  }
  ASSIGN_OR_RETURN(const int64_t interval, config.IntOr("full_attention_interval", 4));
  keys->Int("full_attention_interval", interval);
  return Ok();
}

Status DeltaMixtureKeys(const Config& config, KeyWriter* keys) {
  RETURN_IF_ERROR(DeltaHybridKeys(config, keys));
  RETURN_IF_ERROR(ExpertsInEveryLayer(config));
  ASSIGN_OR_RETURN(const int64_t shared, config.Int("shared_expert_intermediate_size"));
  keys->Int("expert_shared_feed_forward_length", shared);
  return ExpertKeys(config, {.count = "num_experts"}, keys);
}

// ---- short convolutions ----

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
  constexpr int64_t kMostHidden = int64_t{1} << 32;
  if (hidden < 1 || hidden > kMostHidden || unit < 1 || unit > kMostHidden ||
      !(factor > 0 && factor <= kMost))
    return ConfigError(name, "and its 'block_...' members are no width");
  if (!adjusts) return hidden;
  hidden = static_cast<int64_t>(factor * static_cast<double>(2 * hidden / 3));
  return (hidden + unit - 1) / unit * unit;
}

Status ConvolutionKeys(const Config& config, KeyWriter* keys) {
  ASSIGN_OR_RETURN(const int64_t taps, Bounded(config, "conv_L_cache"));
  keys->Int("shortconv.l_cache", taps);
  return ExpectFalse(config, "conv_bias");
}

}  // namespace

Status Qwen35(const Config& config, KeyWriter* keys) { return DeltaHybridKeys(config, keys); }

Status Qwen35Moe(const Config& config, KeyWriter* keys) {
  RETURN_IF_ERROR(ExpectTrue(config, "norm_topk_prob"));
  return DeltaMixtureKeys(config, keys);
}

Status Qwen3Next(const Config& config, KeyWriter* keys) {
  ASSIGN_OR_RETURN(const bool sums_to_one, config.FlagOr("norm_topk_prob", true));
  keys->Flag("expert_weights_norm", sums_to_one);
  return DeltaMixtureKeys(config, keys);
}

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

}  // namespace skald::huggingface
