// Qwen3-Next and Qwen3.5: gated delta nets, and attention in every fourth layer.
#include <fmt/format.h>

#include <span>
#include <vector>

#include "base/status_macros.h"
#include "huggingface/architecture.h"
#include "huggingface/config.h"
#include "huggingface/decoder_keys.h"
#include "huggingface/expert_keys.h"
#include "skald/status.h"

namespace skald::huggingface {
namespace {

// Value heads that share a key head are neighbours here, and one of each key head in turn there.
constexpr NameRule kQwen35Names[] = {
    {"layers.#.post_attention_layernorm.weight", "blk.#.post_attention_norm.weight"},
    {"layers.#.linear_attn.in_proj_qkv.weight", "blk.#.attn_qkv.weight", Change::kTurnValueHeads},
    {"layers.#.linear_attn.in_proj_z.weight", "blk.#.attn_gate.weight", Change::kTurnValueHeads},
    {"layers.#.linear_attn.in_proj_a.weight", "blk.#.ssm_alpha.weight", Change::kTurnValueHeads},
    {"layers.#.linear_attn.in_proj_b.weight", "blk.#.ssm_beta.weight", Change::kTurnValueHeads},
    {"layers.#.linear_attn.conv1d.weight", "blk.#.ssm_conv1d.weight", Change::kTurnValueHeads},
    {"layers.#.linear_attn.dt_bias", "blk.#.ssm_dt.bias", Change::kTurnValueHeads},
    {"layers.#.linear_attn.A_log", "blk.#.ssm_a", Change::kTurnValueHeads, Values::kMinusExp},
    {"layers.#.linear_attn.norm.weight", "blk.#.ssm_norm.weight"},
    {"layers.#.linear_attn.out_proj.weight", "blk.#.ssm_out.weight", Change::kTurnValueColumns},
    {"layers.#.mlp.experts.gate_up_proj", "blk.#.ffn_gate_up_exps.weight"},
    {"layers.#.mlp.experts.down_proj", "blk.#.ffn_down_exps.weight"}};

constexpr NameRule kQwen3NextNames[] = {
    {"layers.#.post_attention_layernorm.weight", "blk.#.post_attention_norm.weight"},
    {"layers.#.linear_attn.in_proj_qkvz.weight", "blk.#.ssm_in.weight"},
    {"layers.#.linear_attn.in_proj_ba.weight", "blk.#.ssm_ba.weight"},
    {"layers.#.linear_attn.conv1d.weight", "blk.#.ssm_conv1d.weight"},
    {"layers.#.linear_attn.dt_bias", "blk.#.ssm_dt.bias"},
    {"layers.#.linear_attn.A_log", "blk.#.ssm_a", Change::kNone, Values::kMinusExp},
    {"layers.#.linear_attn.norm.weight", "blk.#.ssm_norm.weight"},
    {"layers.#.linear_attn.out_proj.weight", "blk.#.ssm_out.weight"}};

Status DeltaNetKeys(const Config& config, KeyWriter* keys) {
  ASSIGN_OR_RETURN(const int64_t taps, HeadSize(config, "linear_conv_kernel_dim"));
  ASSIGN_OR_RETURN(const int64_t key_heads, HeadSize(config, "linear_num_key_heads"));
  ASSIGN_OR_RETURN(const int64_t value_heads, HeadSize(config, "linear_num_value_heads"));
  ASSIGN_OR_RETURN(const int64_t key_dim, HeadSize(config, "linear_key_head_dim"));
  ASSIGN_OR_RETURN(const int64_t value_dim, HeadSize(config, "linear_value_head_dim"));
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

constexpr Architecture kKinds[] = {
    {.model_type = "qwen3_5",
     .other_type = "qwen3_5_text",
     .family = "qwen35",
     .rules = kQwen35Names,
     .adds_one = true,
     .rotated_share = 0.25,
     .write_keys = Qwen35},
    {.model_type = "qwen3_5_moe",
     .other_type = "qwen3_5_moe_text",
     .family = "qwen35moe",
     .rules = kQwen35Names,
     .adds_one = true,
     .rotated_share = 0.25,
     .write_keys = Qwen35Moe},
    {.model_type = "qwen3_next",
     .family = "qwen3next",
     .rules = kQwen3NextNames,
     .adds_one = true,
     .rotated_share = 0.25,
     .write_keys = Qwen3Next},
};

}  // namespace

std::span<const Architecture> Qwen35Folders() { return kKinds; }

}  // namespace skald::huggingface
