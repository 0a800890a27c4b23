#include "huggingface/encoder_kinds.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/status_macros.h"
#include "huggingface/decoder_keys.h"
#include "huggingface/expert_keys.h"

namespace skald::huggingface {
namespace {

// Members of which the family has one value only; others are null, or not there.
Status ExpectNone(const Config& config, std::string_view name) {
  if (!config.Contains(name)) return Ok();
  return ConfigError(name, "is something, which this version does not run",
                     ErrorCode::kUnsupported);
}

}  // namespace

Status RobertaShape(const Config& config, DecoderShape* shape) {
  ASSIGN_OR_RETURN(const int64_t before, PaddingRows(config));
  if (before >= shape->context)
    return ConfigError("pad_token_id", fmt::format("leaves none of {} positions", shape->context));
  shape->context -= before;
  return Ok();
}

Status NomicBertShape(const Config& config, DecoderShape* shape) {
  ASSIGN_OR_RETURN(const int64_t trained, config.IntOr("max_trained_positions", 2048));
  shape->context = std::min(shape->context, trained);
  return Ok();
}

Status Bert(const Config& config, KeyWriter* keys) {
  keys->Flag("attention.causal", false);
  ASSIGN_OR_RETURN(const std::string_view positions,
                   config.TextOr("position_embedding_type", "absolute"));
  if (positions == "absolute") return Ok();
  return ConfigError("position_embedding_type", "is not absolute", ErrorCode::kUnsupported);
}

Status NomicBert(const Config& config, KeyWriter* keys) {
  keys->Flag("attention.causal", false);
  for (const char* name : {"causal", "prenorm", "qkv_proj_bias", "mlp_fc1_bias", "mlp_fc2_bias",
                           "use_rms_norm", "rotary_emb_interleaved"})
    RETURN_IF_ERROR(ExpectFalse(config, name));
  for (const char* name : {"rotary_emb_scale_base", "rotary_scaling_factor"})
    RETURN_IF_ERROR(ExpectNone(config, name));
  ASSIGN_OR_RETURN(const double share, config.NumberOr("rotary_emb_fraction", 1));
  ASSIGN_OR_RETURN(const int64_t experts, config.IntOr("moe_every_n_layers", 0));
  if (share != 1) return ConfigError("rotary_emb_fraction", "is not 1", ErrorCode::kUnsupported);
  if (experts == 0) return Ok();
  return ConfigError("moe_every_n_layers", "is not 0", ErrorCode::kUnsupported);
}

Status ModernBert(const Config& config, KeyWriter* keys) {
  keys->Flag("attention.causal", false);
  for (const char* name : {"attention_bias", "mlp_bias", "norm_bias"})
    RETURN_IF_ERROR(ExpectFalse(config, name));
  ASSIGN_OR_RETURN(const int64_t window, config.Int("local_attention"));
  ASSIGN_OR_RETURN(const double near, NearRopeBase(config, 10000));
  keys->Int("attention.sliding_window", window);
  keys->Number("rope.freq_base_swa", near);
  return WindowPattern(config, "global_attn_every_n_layers", keys);
}

}  // namespace skald::huggingface
