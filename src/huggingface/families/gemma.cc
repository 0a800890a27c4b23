// Gemma 2 and 3, and EmbeddingGemma: norms before and behind the blocks, stored as their distance
// from 1.
#include <fmt/format.h>

#include <span>

#include "base/status_macros.h"
#include "huggingface/architecture.h"
#include "huggingface/config.h"
#include "huggingface/decoder_keys.h"
#include "huggingface/expert_keys.h"
#include "huggingface/rope_keys.h"
#include "skald/status.h"

namespace skald::huggingface {
namespace {

constexpr NameRule kGemmaNames[] = {
    {"layers.#.post_attention_layernorm.weight", "blk.#.post_attention_norm.weight"},
    {"layers.#.pre_feedforward_layernorm.weight", "blk.#.ffn_norm.weight"}};

constexpr NameRule kEmbeddingNames[] = {kGemmaNames[0],
                                        kGemmaNames[1],
                                        {"dense_2.linear.weight", "dense_2.weight"},
                                        {"dense_3.linear.weight", "dense_3.weight"}};

// The scale of the scores is no key of these families but for the largest of each, where the family
// knows it.
Status GemmaScale(const Config& config, int64_t largest) {
  ASSIGN_OR_RETURN(const double scalar, config.NumberOr("query_pre_attn_scalar", 0));
  ASSIGN_OR_RETURN(const int64_t layers, config.Int("num_hidden_layers"));
  ASSIGN_OR_RETURN(const int64_t width, config.Int("hidden_size"));
  ASSIGN_OR_RETURN(const int64_t heads, config.Int("num_attention_heads"));
  ASSIGN_OR_RETURN(const int64_t head_dim, config.IntOr("head_dim", 256));
  if (heads < 1) return ConfigError("num_attention_heads", "is less than 1");
  const auto expected = static_cast<double>(layers == largest ? width / heads : head_dim);
  if (scalar == 0 || scalar == expected) return Ok();
  return ConfigError(
      "query_pre_attn_scalar",
      fmt::format("is {}, expected {}; this version runs no other", scalar, expected),
      ErrorCode::kUnsupported);
}

Status Gemma2(const Config& config, KeyWriter* keys) {
  RETURN_IF_ERROR(GemmaScale(config, 46));
  RETURN_IF_ERROR(WindowKey(config, keys));
  ASSIGN_OR_RETURN(const double scores, config.Number("attn_logit_softcapping"));
  ASSIGN_OR_RETURN(const double logits, config.Number("final_logit_softcapping"));
  keys->Number("attn_logit_softcapping", scores);
  keys->Number("final_logit_softcapping", logits);
  return Ok();
}

// EmbeddingGemma is called as Gemma 3 is, and reads texts both ways.
bool SeesBothWays(const Config& config) {
  const Result<bool> both = config.FlagOr("use_bidirectional_attention", false);
  return both.ok() && *both;
}

Status Gemma3(const Config& config, KeyWriter* keys) {
  ASSIGN_OR_RETURN(const bool both, config.FlagOr("use_bidirectional_attention", false));
  if (both) keys->Flag("attention.causal", false);
  RETURN_IF_ERROR(GemmaScale(config, 62));
  RETURN_IF_ERROR(WindowKey(config, keys));
  ASSIGN_OR_RETURN(const double near, NearRopeBase(config, 10000));
  keys->Number("rope.freq_base_swa", near);
  return WindowPattern(config, "sliding_window_pattern", keys);
}

constexpr Architecture kKinds[] = {
    {.model_type = "gemma2",
     .family = "gemma2",
     .rules = kGemmaNames,
     .adds_one = true,
     .ties_head = true,
     .activation = "gelu_pytorch_tanh",
     .write_keys = Gemma2},
    {.model_type = "gemma3_text",
     .is_kind = SeesBothWays,
     .family = "gemma-embedding",
     .rules = kEmbeddingNames,
     .adds_one = true,
     .ties_head = true,
     .projects = true,
     .activation = "gelu_pytorch_tanh",
     .write_keys = Gemma3},
    {.model_type = "gemma3",
     .other_type = "gemma3_text",
     .family = "gemma3",
     .rules = kGemmaNames,
     .adds_one = true,
     .ties_head = true,
     .activation = "gelu_pytorch_tanh",
     .write_keys = Gemma3},
};

}  // namespace

std::span<const Architecture> GemmaFolders() { return kKinds; }

}  // namespace skald::huggingface
