#include "huggingface/mixture_kinds.h"

#include <fmt/format.h>

#include "base/status_macros.h"
#include "huggingface/expert_keys.h"

namespace skald::huggingface {
namespace {

constexpr int64_t kMostHeadDim = 65536;

Result<int64_t> HeadPart(const Config& config, std::string_view name) {
  ASSIGN_OR_RETURN(const int64_t length, config.Int(name));
  if (length >= 1 && length <= kMostHeadDim) return length;
  return ConfigError(name, fmt::format("is {}, expected 1 to {}", length, kMostHeadDim));
}

// The lengths of heads once more: without tensors nobody could tell in which form they are.
Status LatentKeys(const Config& config, KeyWriter* keys) {
  DecoderShape shape;
  RETURN_IF_ERROR(LatentShape(config, &shape));
  keys->Int("attention.key_length_mla", shape.key_dim);
  keys->Int("attention.value_length_mla", shape.value_dim);
  ASSIGN_OR_RETURN(const int64_t rank, config.Int("kv_lora_rank"));
  keys->Int("attention.kv_lora_rank", rank);
  if (config.Contains("q_lora_rank")) {
    ASSIGN_OR_RETURN(const int64_t query_rank, config.Int("q_lora_rank"));
    keys->Int("attention.q_lora_rank", query_rank);
  }
  return ExpectTrue(config, "rope_interleave");
}

}  // namespace

Status LatentShape(const Config& config, DecoderShape* shape) {
  ASSIGN_OR_RETURN(const int64_t nope, HeadPart(config, "qk_nope_head_dim"));
  ASSIGN_OR_RETURN(shape->rotated, HeadPart(config, "qk_rope_head_dim"));
  ASSIGN_OR_RETURN(shape->value_dim, HeadPart(config, "v_head_dim"));
  shape->key_dim = nope + shape->rotated;
  return Ok();
}

// Its published code scales weights only where it does not make their sum 1.
Status DeepSeek2(const Config& config, KeyWriter* keys) {
  RETURN_IF_ERROR(LatentKeys(config, keys));
  RETURN_IF_ERROR(ExpectFalse(config, "norm_topk_prob"));
  return RouterKeys(config, RoutingFunction::kSoftmax, keys);
}

Status DeepSeek3(const Config& config, KeyWriter* keys) {
  RETURN_IF_ERROR(LatentKeys(config, keys));
  return RouterKeys(config, RoutingFunction::kSigmoid, keys);
}

Status Glm4Moe(const Config& config, KeyWriter* keys) {
  return RouterKeys(config, RoutingFunction::kSigmoid, keys);
}

}  // namespace skald::huggingface
