/// Models that embed texts: BERT, XLM-RoBERTa, Nomic Embed and ModernBERT.
#pragma once

#include "huggingface/architecture.h"
#include "huggingface/config.h"
#include "skald/status.h"

namespace skald::huggingface {

inline constexpr NameRule kBertNames[] = {
    {"embeddings.word_embeddings.weight", "token_embd.weight"},
    {"embeddings.position_embeddings.weight", "position_embd.weight", Change::kSkipPadding},
    {"embeddings.token_type_embeddings.weight", "token_types.weight"},
    {"embeddings.LayerNorm.weight", "token_embd_norm.weight"},
    {"embeddings.LayerNorm.bias", "token_embd_norm.bias"},
    {"encoder.layer.#.attention.self.query.weight", "blk.#.attn_q.weight"},
    {"encoder.layer.#.attention.self.query.bias", "blk.#.attn_q.bias"},
    {"encoder.layer.#.attention.self.key.weight", "blk.#.attn_k.weight"},
    {"encoder.layer.#.attention.self.key.bias", "blk.#.attn_k.bias"},
    {"encoder.layer.#.attention.self.value.weight", "blk.#.attn_v.weight"},
    {"encoder.layer.#.attention.self.value.bias", "blk.#.attn_v.bias"},
    {"encoder.layer.#.attention.output.dense.weight", "blk.#.attn_output.weight"},
    {"encoder.layer.#.attention.output.dense.bias", "blk.#.attn_output.bias"},
    {"encoder.layer.#.attention.output.LayerNorm.weight", "blk.#.attn_output_norm.weight"},
    {"encoder.layer.#.attention.output.LayerNorm.bias", "blk.#.attn_output_norm.bias"},
    {"encoder.layer.#.intermediate.dense.weight", "blk.#.ffn_up.weight"},
    {"encoder.layer.#.intermediate.dense.bias", "blk.#.ffn_up.bias"},
    {"encoder.layer.#.output.dense.weight", "blk.#.ffn_down.weight"},
    {"encoder.layer.#.output.dense.bias", "blk.#.ffn_down.bias"},
    {"encoder.layer.#.output.LayerNorm.weight", "blk.#.layer_output_norm.weight"},
    {"encoder.layer.#.output.LayerNorm.bias", "blk.#.layer_output_norm.bias"}};

inline constexpr NameRule kNomicBertNames[] = {
    {"embeddings.word_embeddings.weight", "token_embd.weight"},
    {"embeddings.token_type_embeddings.weight", "token_types.weight"},
    {"emb_ln.weight", "token_embd_norm.weight"},
    {"emb_ln.bias", "token_embd_norm.bias"},
    {"encoder.layers.#.attn.Wqkv.weight", "blk.#.attn_qkv.weight"},
    {"encoder.layers.#.attn.out_proj.weight", "blk.#.attn_output.weight"},
    {"encoder.layers.#.norm1.weight", "blk.#.attn_output_norm.weight"},
    {"encoder.layers.#.norm1.bias", "blk.#.attn_output_norm.bias"},
    {"encoder.layers.#.mlp.fc11.weight", "blk.#.ffn_up.weight"},
    {"encoder.layers.#.mlp.fc12.weight", "blk.#.ffn_gate.weight"},
    {"encoder.layers.#.mlp.fc2.weight", "blk.#.ffn_down.weight"},
    {"encoder.layers.#.norm2.weight", "blk.#.layer_output_norm.weight"},
    {"encoder.layers.#.norm2.bias", "blk.#.layer_output_norm.bias"}};

inline constexpr NameRule kModernBertNames[] = {
    {"embeddings.tok_embeddings.weight", "token_embd.weight"},
    {"embeddings.norm.weight", "token_embd_norm.weight"},
    {"final_norm.weight", "output_norm.weight"},
    {"layers.#.attn_norm.weight", "blk.#.attn_norm.weight"},
    {"layers.#.attn.Wqkv.weight", "blk.#.attn_qkv.weight"},
    {"layers.#.attn.Wo.weight", "blk.#.attn_output.weight"},
    {"layers.#.mlp_norm.weight", "blk.#.ffn_norm.weight"},
    {"layers.#.mlp.Wi.weight", "blk.#.ffn_up.weight"},
    {"layers.#.mlp.Wo.weight", "blk.#.ffn_down.weight"}};

inline constexpr MemberName kNomicBertMembers[] = {{"hidden_size", "n_embd"},
                                                   {"num_hidden_layers", "n_layer"},
                                                   {"num_attention_heads", "n_head"},
                                                   {"intermediate_size", "n_inner"},
                                                   {"max_position_embeddings", "n_positions"},
                                                   {"layer_norm_eps", "layer_norm_epsilon"},
                                                   {"hidden_act", "activation_function"},
                                                   {"rope_theta", "rotary_emb_base"}};

inline constexpr MemberName kModernBertMembers[] = {{"layer_norm_eps", "norm_eps"},
                                                    {"rope_theta", "global_rope_theta"},
                                                    {"rope_local_base_freq", "local_rope_theta"}};

/// Positions begin behind that of padding.
Status RobertaShape(const Config& config, DecoderShape* shape);
/// No further than the model was trained.
Status NomicBertShape(const Config& config, DecoderShape* shape);

Status Bert(const Config& config, KeyWriter* keys);
Status NomicBert(const Config& config, KeyWriter* keys);
Status ModernBert(const Config& config, KeyWriter* keys);

}  // namespace skald::huggingface
