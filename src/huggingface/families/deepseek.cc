// DeepSeek V2 and V3, Kimi K2: latent attention, and a mixture with shared experts.
#include <span>

#include "base/status_macros.h"
#include "huggingface/architecture.h"
#include "huggingface/config.h"
#include "huggingface/decoder_keys.h"
#include "huggingface/expert_keys.h"
#include "skald/status.h"

namespace skald::huggingface {
namespace {

// Keys and values of all heads stand in one tensor, as in the first GGUF files.
constexpr NameRule kDeepSeekNames[] = {
    {"layers.#.self_attn.q_a_proj.weight", "blk.#.attn_q_a.weight"},
    {"layers.#.self_attn.q_a_layernorm.weight", "blk.#.attn_q_a_norm.weight"},
    {"layers.#.self_attn.q_b_proj.weight", "blk.#.attn_q_b.weight"},
    {"layers.#.self_attn.kv_a_proj_with_mqa.weight", "blk.#.attn_kv_a_mqa.weight"},
    {"layers.#.self_attn.kv_a_layernorm.weight", "blk.#.attn_kv_a_norm.weight"},
    {"layers.#.self_attn.kv_b_proj.weight", "blk.#.attn_kv_b.weight"},
    {"layers.#.mlp.gate.e_score_correction_bias", "blk.#.exp_probs_b.bias"},
    {"layers.#.mlp.shared_experts.gate_proj.weight", "blk.#.ffn_gate_shexp.weight"},
    {"layers.#.mlp.shared_experts.up_proj.weight", "blk.#.ffn_up_shexp.weight"},
    {"layers.#.mlp.shared_experts.down_proj.weight", "blk.#.ffn_down_shexp.weight"}};

// Keys of two parts, of which one turns; values of another length.
Status LatentShape(const Config& config, DecoderShape* shape) {
  ASSIGN_OR_RETURN(const int64_t nope, HeadSize(config, "qk_nope_head_dim"));
  ASSIGN_OR_RETURN(shape->rotated, HeadSize(config, "qk_rope_head_dim"));
  ASSIGN_OR_RETURN(shape->value_dim, HeadSize(config, "v_head_dim"));
  shape->key_dim = nope + shape->rotated;
  return Ok();
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

constexpr Architecture kKinds[] = {
    {.model_type = "deepseek_v2",
     .family = "deepseek2",
     .rules = kDeepSeekNames,
     .latent = true,
     .change_shape = LatentShape,
     .write_keys = DeepSeek2},
    {.model_type = "deepseek_v3",
     .other_type = "kimi_k2",
     .family = "deepseek2",
     .rules = kDeepSeekNames,
     .latent = true,
     .change_shape = LatentShape,
     .write_keys = DeepSeek3},
};

}  // namespace

std::span<const Architecture> DeepSeekFolders() { return kKinds; }

}  // namespace skald::huggingface
