/// Networks of two kinds of layers: Qwen3-Next and Qwen3.5 (gated delta nets and attention), LFM2
/// (short convolutions and attention).
#pragma once

#include "huggingface/architecture.h"
#include "huggingface/config.h"
#include "skald/status.h"

namespace skald::huggingface {

// Value heads that share a key head are neighbours here, and one of each key head in turn there.
inline constexpr NameRule kQwen35Names[] = {
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

inline constexpr NameRule kQwen3NextNames[] = {
    {"layers.#.post_attention_layernorm.weight", "blk.#.post_attention_norm.weight"},
    {"layers.#.linear_attn.in_proj_qkvz.weight", "blk.#.ssm_in.weight"},
    {"layers.#.linear_attn.in_proj_ba.weight", "blk.#.ssm_ba.weight"},
    {"layers.#.linear_attn.conv1d.weight", "blk.#.ssm_conv1d.weight"},
    {"layers.#.linear_attn.dt_bias", "blk.#.ssm_dt.bias"},
    {"layers.#.linear_attn.A_log", "blk.#.ssm_a", Change::kNone, Values::kMinusExp},
    {"layers.#.linear_attn.norm.weight", "blk.#.ssm_norm.weight"},
    {"layers.#.linear_attn.out_proj.weight", "blk.#.ssm_out.weight"}};

inline constexpr NameRule kLfm2Names[] = {
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

inline constexpr MemberName kLfm2Members[] = {{"rms_norm_eps", "norm_eps"}};

Status Qwen35(const Config& config, KeyWriter* keys);
Status Qwen35Moe(const Config& config, KeyWriter* keys);
Status Qwen3Next(const Config& config, KeyWriter* keys);

/// No KV heads in layers with a convolution, and the width of feed-forwards from several members.
Status Lfm2Shape(const Config& config, DecoderShape* shape);
/// Here the width is what it is called.
Status Lfm2MoeShape(const Config& config, DecoderShape* shape);
Status Lfm2(const Config& config, KeyWriter* keys);
Status Lfm2Moe(const Config& config, KeyWriter* keys);

}  // namespace skald::huggingface
