// ModernBERT: an encoder whose layers see a window, but for every third.
#include <fmt/format.h>

#include <span>
#include <string_view>

#include "base/status_macros.h"
#include "formats/quote.h"
#include "huggingface/architecture.h"
#include "huggingface/config.h"
#include "huggingface/decoder_keys.h"
#include "huggingface/expert_keys.h"
#include "huggingface/pooling.h"
#include "huggingface/rope_keys.h"
#include "skald/status.h"

namespace skald::huggingface {
namespace {

constexpr NameRule kModernBertNames[] = {{"embeddings.tok_embeddings.weight", "token_embd.weight"},
                                         {"embeddings.norm.weight", "token_embd_norm.weight"},
                                         {"final_norm.weight", "output_norm.weight"},
                                         {"layers.#.attn_norm.weight", "blk.#.attn_norm.weight"},
                                         {"layers.#.attn.Wqkv.weight", "blk.#.attn_qkv.weight"},
                                         {"layers.#.attn.Wo.weight", "blk.#.attn_output.weight"},
                                         {"layers.#.mlp_norm.weight", "blk.#.ffn_norm.weight"},
                                         {"layers.#.mlp.Wi.weight", "blk.#.ffn_up.weight"},
                                         {"layers.#.mlp.Wo.weight", "blk.#.ffn_down.weight"}};

// A dense layer and a norm of the first token's state, or of the mean of all, and one output.
constexpr NameRule kModernBertRankNames[] = {{"head.dense.weight", "cls.weight"},
                                             {"head.dense.bias", "cls.bias"},
                                             {"head.norm.weight", "cls.norm.weight"},
                                             {"classifier.weight", "cls.output.weight"},
                                             {"classifier.bias", "cls.output.bias"}};

constexpr MemberName kModernBertMembers[] = {{"layer_norm_eps", "norm_eps"},
                                             {"rope_theta", "global_rope_theta"},
                                             {"rope_local_base_freq", "local_rope_theta"}};

Status RankPooling(const Config& config, KeyWriter* keys) {
  ASSIGN_OR_RETURN(const std::string_view activation,
                   config.TextOr("classifier_activation", "gelu"));
  if (activation != "gelu")
    return ConfigError("classifier_activation",
                       fmt::format("is {}, expected gelu", formats::Quote(activation)),
                       ErrorCode::kUnsupported);
  ASSIGN_OR_RETURN(const std::string_view pooling, config.TextOr("classifier_pooling", "cls"));
  if (pooling != "cls" && pooling != "mean")
    return ConfigError("classifier_pooling",
                       fmt::format("is {}, expected cls or mean", formats::Quote(pooling)),
                       ErrorCode::kUnsupported);
  WritePoolingType(pooling == "cls" ? PoolingType::kFirst : PoolingType::kMean, keys);
  return Ok();
}

Status ModernBert(const Config& config, KeyWriter* keys) {
  keys->Flag("attention.causal", false);
  for (const char* name : {"attention_bias", "mlp_bias", "norm_bias"})
    RETURN_IF_ERROR(ExpectFalse(config, name));
  ASSIGN_OR_RETURN(const int64_t window, config.Int("local_attention"));
  ASSIGN_OR_RETURN(const double near, NearRopeBase(config, 10000));
  keys->Int("attention.sliding_window", window);
  keys->Number("rope.freq_base_swa", near);
  if (config.IsClass(kRankingClass)) RETURN_IF_ERROR(RankPooling(config, keys));
  return WindowPattern(config, "global_attn_every_n_layers", keys);
}

constexpr Architecture kKinds[] = {
    {.model_type = "modernbert",
     .family = "modern-bert",
     .rules = kModernBertNames,
     .rank_rules = kModernBertRankNames,
     .members = kModernBertMembers,
     .ties_head = true,
     .activation = "gelu",
     .write_keys = ModernBert},
};

}  // namespace

std::span<const Architecture> ModernBertFolders() { return kKinds; }

}  // namespace skald::huggingface
