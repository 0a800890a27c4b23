/// DeepSeek V2 and V3, Kimi K2 and GLM-4.5: latent attention, and mixtures with DeepSeek's router.
#pragma once

#include "huggingface/architecture.h"
#include "huggingface/config.h"
#include "skald/status.h"

namespace skald::huggingface {

// GLM's have attention as llama's, and norms that the common names know.
inline constexpr NameRule kGlm4MoeNames[] = {
    {"layers.#.post_attention_layernorm.weight", "blk.#.post_attention_norm.weight"},
    {"layers.#.mlp.gate.e_score_correction_bias", "blk.#.exp_probs_b.bias"},
    {"layers.#.mlp.shared_experts.gate_proj.weight", "blk.#.ffn_gate_shexp.weight"},
    {"layers.#.mlp.shared_experts.up_proj.weight", "blk.#.ffn_up_shexp.weight"},
    {"layers.#.mlp.shared_experts.down_proj.weight", "blk.#.ffn_down_shexp.weight"}};

// Keys and values of all heads stand in one tensor, as in the first GGUF files.
inline constexpr NameRule kRoutedNames[] = {
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

/// Heads of latent attention: keys of two parts, values of another length.
Status LatentShape(const Config& config, DecoderShape* shape);

Status DeepSeek2(const Config& config, KeyWriter* keys);
Status DeepSeek3(const Config& config, KeyWriter* keys);
Status Glm4Moe(const Config& config, KeyWriter* keys);

}  // namespace skald::huggingface
