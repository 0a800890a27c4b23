/// Gemma 4: layers of two shapes, a mixture beside the feed-forward, inputs of layers.
#pragma once

#include "huggingface/architecture.h"
#include "huggingface/config.h"
#include "skald/status.h"

namespace skald::huggingface {

inline constexpr NameRule kGemma4Names[] = {
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

/// The heads of layers that see all, KV heads of each layer, and feed-forwards that are twice as
/// wide where keys and values are shared.
Status Gemma4Shape(const Config& config, DecoderShape* shape);

Status Gemma4(const Config& config, KeyWriter* keys);

}  // namespace skald::huggingface
