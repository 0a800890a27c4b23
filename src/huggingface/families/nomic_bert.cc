// Nomic Embed: BERT with turned positions and a gated feed-forward.
#include <algorithm>
#include <span>
#include <string_view>

#include "base/status_macros.h"
#include "huggingface/architecture.h"
#include "huggingface/config.h"
#include "huggingface/expert_keys.h"
#include "skald/status.h"

namespace skald::huggingface {
namespace {

constexpr NameRule kNomicBertNames[] = {
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

constexpr MemberName kNomicBertMembers[] = {{"hidden_size", "n_embd"},
                                            {"num_hidden_layers", "n_layer"},
                                            {"num_attention_heads", "n_head"},
                                            {"intermediate_size", "n_inner"},
                                            {"max_position_embeddings", "n_positions"},
                                            {"layer_norm_eps", "layer_norm_epsilon"},
                                            {"hidden_act", "activation_function"},
                                            {"rope_theta", "rotary_emb_base"}};

// Members of which the family has one value only; others are null, or not there.
Status ExpectNone(const Config& config, std::string_view name) {
  if (!config.Contains(name)) return Ok();
  return ConfigError(name, "is something, which this version does not run",
                     ErrorCode::kUnsupported);
}

Status NomicBertShape(const Config& config, DecoderShape* shape) {
  ASSIGN_OR_RETURN(const int64_t trained, config.IntOr("max_trained_positions", 2048));
  shape->context = std::min(shape->context, trained);
  return Ok();
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

constexpr Architecture kKinds[] = {
    {.model_type = "nomic_bert",
     .family = "nomic-bert",
     .rules = kNomicBertNames,
     .members = kNomicBertMembers,
     .ties_head = true,
     .activation = "swiglu",
     .change_shape = NomicBertShape,
     .write_keys = NomicBert},
};

}  // namespace

std::span<const Architecture> NomicBertFolders() { return kKinds; }

}  // namespace skald::huggingface
