#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "base/status_macros.h"
#include "formats/quote.h"
#include "huggingface/architecture.h"
#include "huggingface/decoder_keys.h"
#include "huggingface/encoder_kinds.h"
#include "huggingface/expert_keys.h"
#include "huggingface/gemma4_kind.h"
#include "huggingface/hybrid_kinds.h"
#include "huggingface/mixture_kinds.h"

namespace skald::huggingface {
namespace {

// ---- what several have ----

Status WindowKey(const Config& config, KeyWriter* keys) {
  if (!config.Contains("sliding_window")) return Ok();
  ASSIGN_OR_RETURN(const int64_t window, config.Int("sliding_window"));
  keys->Int("attention.sliding_window", window);
  return Ok();
}

// Qwen's files name a window that is not used.
Status UnusedWindow(const Config& config) {
  ASSIGN_OR_RETURN(const bool used, config.FlagOr("use_sliding_window", false));
  if (!used) return Ok();
  return ConfigError("use_sliding_window", "is true, which this version does not run",
                     ErrorCode::kUnsupported);
}

// ---- keys, a function for each kind ----

Status Mistral(const Config& config, KeyWriter* keys) { return WindowKey(config, keys); }

Status Qwen(const Config& config, KeyWriter*) { return UnusedWindow(config); }

Status Mixtral(const Config& config, KeyWriter* keys) {
  RETURN_IF_ERROR(WindowKey(config, keys));
  return ExpertKeys(config, {.count = "num_local_experts", .width = "intermediate_size"}, keys);
}

Status Qwen2Moe(const Config& config, KeyWriter* keys) {
  RETURN_IF_ERROR(UnusedWindow(config));
  RETURN_IF_ERROR(ExpertsInEveryLayer(config));
  RETURN_IF_ERROR(ExpectFalse(config, "norm_topk_prob"));
  ASSIGN_OR_RETURN(const int64_t shared, config.Int("shared_expert_intermediate_size"));
  keys->Int("expert_shared_feed_forward_length", shared);
  return ExpertKeys(config, {.count = "num_experts"}, keys);
}

Status Qwen3Moe(const Config& config, KeyWriter* keys) {
  RETURN_IF_ERROR(UnusedWindow(config));
  RETURN_IF_ERROR(ExpertsInEveryLayer(config));
  RETURN_IF_ERROR(ExpectTrue(config, "norm_topk_prob"));
  return ExpertKeys(config, {.count = "num_experts"}, keys);
}

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

Status Gemma3(const Config& config, KeyWriter* keys) {
  RETURN_IF_ERROR(GemmaScale(config, 62));
  RETURN_IF_ERROR(WindowKey(config, keys));
  ASSIGN_OR_RETURN(const double near, NearRopeBase(config, 10000));
  keys->Number("rope.freq_base_swa", near);
  return WindowPattern(config, "sliding_window_pattern", keys);
}

Status Phi3(const Config& config, KeyWriter* keys) { return WindowKey(config, keys); }

Status Olmo3(const Config& config, KeyWriter* keys) {
  RETURN_IF_ERROR(WindowKey(config, keys));
  return WindowPattern(config, {}, keys);
}

Status Granite(const Config& config, KeyWriter* keys) {
  struct Factor {
    std::string_view member;
    std::string_view key;
  };
  constexpr Factor kFactors[] = {{"embedding_multiplier", "embedding_scale"},
                                 {"residual_multiplier", "residual_scale"},
                                 {"attention_multiplier", "attention.scale"},
                                 {"logits_scaling", "logit_scale"}};
  for (const Factor& factor : kFactors) {
    if (!config.Contains(factor.member)) continue;
    ASSIGN_OR_RETURN(const double value, config.Number(factor.member));
    keys->Number(factor.key, value);
  }
  return Ok();
}

Status Exaone4(const Config& config, KeyWriter* keys) {
  RETURN_IF_ERROR(WindowKey(config, keys));
  return WindowPattern(config, {}, keys);
}

Status GptOss(const Config& config, KeyWriter* keys) {
  RETURN_IF_ERROR(WindowKey(config, keys));
  RETURN_IF_ERROR(WindowPattern(config, {}, keys));
  return ExpertKeys(config, {.count = "num_local_experts", .width = "intermediate_size"}, keys);
}

Status Cohere2(const Config& config, KeyWriter* keys) {
  RETURN_IF_ERROR(WindowKey(config, keys));
  ASSIGN_OR_RETURN(const double scale, config.NumberOr("logit_scale", 0.0625));
  keys->Number("logit_scale", scale);
  return WindowPattern(config, "sliding_window_pattern", keys);
}

Status StarCoder2(const Config& config, KeyWriter* keys) { return WindowKey(config, keys); }

// ---- names, where they differ ----

constexpr NameRule kMixtralNames[] = {
    {"layers.#.block_sparse_moe.gate.weight", "blk.#.ffn_gate_inp.weight"},
    {"layers.#.block_sparse_moe.experts.#.w1.weight", "blk.#.ffn_gate_exps.weight"},
    {"layers.#.block_sparse_moe.experts.#.w2.weight", "blk.#.ffn_down_exps.weight"},
    {"layers.#.block_sparse_moe.experts.#.w3.weight", "blk.#.ffn_up_exps.weight"}};
constexpr NameRule kGemmaNames[] = {
    {"layers.#.post_attention_layernorm.weight", "blk.#.post_attention_norm.weight"},
    {"layers.#.pre_feedforward_layernorm.weight", "blk.#.ffn_norm.weight"}};
constexpr NameRule kNormBehindNames[] = {
    {"layers.#.post_attention_layernorm.weight", "blk.#.post_attention_norm.weight"}};
constexpr NameRule kPhi3Names[] = {{"layers.#.mlp.gate_up_proj.weight", "blk.#.ffn_up.weight"},
                                   {"layers.#.self_attn.qkv_proj.weight", "blk.#.attn_qkv.weight"}};
constexpr NameRule kGptOssNames[] = {
    {"layers.#.post_attention_layernorm.weight", "blk.#.post_attention_norm.weight"},
    {"layers.#.self_attn.sinks", "blk.#.attn_sinks.weight"},
    {"layers.#.mlp.router.weight", "blk.#.ffn_gate_inp.weight"},
    {"layers.#.mlp.router.bias", "blk.#.ffn_gate_inp.bias"},
    {"layers.#.mlp.experts.gate_up_proj_blocks", "blk.#.ffn_gate_exps.weight", Change::kEvenRows},
    {"layers.#.mlp.experts.gate_up_proj_blocks", "blk.#.ffn_up_exps.weight", Change::kOddRows},
    {"layers.#.mlp.experts.gate_up_proj_bias", "blk.#.ffn_gate_exps.bias", Change::kEvenRows},
    {"layers.#.mlp.experts.gate_up_proj_bias", "blk.#.ffn_up_exps.bias", Change::kOddRows},
    {"layers.#.mlp.experts.down_proj_blocks", "blk.#.ffn_down_exps.weight"},
    {"layers.#.mlp.experts.down_proj_bias", "blk.#.ffn_down_exps.bias"}};
constexpr NameRule kStarCoder2Names[] = {{"layers.#.mlp.c_fc.weight", "blk.#.ffn_up.weight"},
                                         {"layers.#.mlp.c_fc.bias", "blk.#.ffn_up.bias"},
                                         {"layers.#.mlp.c_proj.weight", "blk.#.ffn_down.weight"},
                                         {"layers.#.mlp.c_proj.bias", "blk.#.ffn_down.bias"}};

// ---- the table ----

constexpr Architecture kArchitectures[] = {
    {.model_type = "bert",
     .family = "bert",
     .rules = kBertNames,
     .activation = "gelu",
     .write_keys = Bert},
    {.model_type = "cohere2", .family = "cohere2", .write_keys = Cohere2},
    {.model_type = "deepseek_v2",
     .family = "deepseek2",
     .rules = kRoutedNames,
     .latent = true,
     .change_shape = LatentShape,
     .write_keys = DeepSeek2},
    {.model_type = "deepseek_v3",
     .family = "deepseek2",
     .rules = kRoutedNames,
     .latent = true,
     .change_shape = LatentShape,
     .write_keys = DeepSeek3},
    {.model_type = "exaone4",
     .family = "exaone4",
     .rules = kNormBehindNames,
     .write_keys = Exaone4},
    {.model_type = "gemma2",
     .family = "gemma2",
     .rules = kGemmaNames,
     .adds_one = true,
     .activation = "gelu_pytorch_tanh",
     .write_keys = Gemma2},
    {.model_type = "gemma3",
     .family = "gemma3",
     .rules = kGemmaNames,
     .adds_one = true,
     .activation = "gelu_pytorch_tanh",
     .write_keys = Gemma3},
    {.model_type = "gemma3_text",
     .family = "gemma3",
     .rules = kGemmaNames,
     .adds_one = true,
     .activation = "gelu_pytorch_tanh",
     .write_keys = Gemma3},
    {.model_type = "gemma4",
     .family = "gemma4",
     .rules = kGemma4Names,
     .activation = "gelu_pytorch_tanh",
     .characters_model = "gemma4",
     .change_shape = Gemma4Shape,
     .write_keys = Gemma4},
    {.model_type = "gemma4_text",
     .family = "gemma4",
     .rules = kGemma4Names,
     .activation = "gelu_pytorch_tanh",
     .characters_model = "gemma4",
     .change_shape = Gemma4Shape,
     .write_keys = Gemma4},
    {.model_type = "glm4_moe",
     .family = "glm4moe",
     .rules = kGlm4MoeNames,
     .rotated_share = 0.5,
     .write_keys = Glm4Moe},
    {.model_type = "gpt_oss", .family = "gpt-oss", .rules = kGptOssNames, .write_keys = GptOss},
    {.model_type = "granite", .family = "granite", .pairs_rows = true, .write_keys = Granite},
    {.model_type = "kimi_k2",
     .family = "deepseek2",
     .rules = kRoutedNames,
     .latent = true,
     .change_shape = LatentShape,
     .write_keys = DeepSeek3},
    {.model_type = "lfm2",
     .family = "lfm2",
     .rules = kLfm2Names,
     .members = kLfm2Members,
     .change_shape = Lfm2Shape,
     .write_keys = Lfm2},
    {.model_type = "lfm2_moe",
     .family = "lfm2moe",
     .rules = kLfm2Names,
     .members = kLfm2Members,
     .change_shape = Lfm2MoeShape,
     .write_keys = Lfm2Moe},
    {.model_type = "llama", .family = "llama", .pairs_rows = true},
    {.model_type = "mistral", .family = "llama", .pairs_rows = true, .write_keys = Mistral},
    {.model_type = "mixtral",
     .family = "llama",
     .rules = kMixtralNames,
     .pairs_rows = true,
     .write_keys = Mixtral},
    {.model_type = "modernbert",
     .family = "modern-bert",
     .rules = kModernBertNames,
     .members = kModernBertMembers,
     .activation = "gelu",
     .write_keys = ModernBert},
    {.model_type = "nomic_bert",
     .family = "nomic-bert",
     .rules = kNomicBertNames,
     .members = kNomicBertMembers,
     .activation = "swiglu",
     .change_shape = NomicBertShape,
     .write_keys = NomicBert},
    {.model_type = "olmo2", .family = "olmo2", .rules = kNormBehindNames},
    {.model_type = "olmo3", .family = "olmo2", .rules = kNormBehindNames, .write_keys = Olmo3},
    {.model_type = "phi3", .family = "phi3", .rules = kPhi3Names, .write_keys = Phi3},
    {.model_type = "qwen2", .family = "qwen2", .write_keys = Qwen},
    {.model_type = "qwen2_moe", .family = "qwen2moe", .write_keys = Qwen2Moe},
    {.model_type = "qwen3", .family = "qwen3", .write_keys = Qwen},
    {.model_type = "qwen3_5",
     .family = "qwen35",
     .rules = kQwen35Names,
     .adds_one = true,
     .rotated_share = 0.25,
     .write_keys = Qwen35},
    {.model_type = "qwen3_5_moe",
     .family = "qwen35moe",
     .rules = kQwen35Names,
     .adds_one = true,
     .rotated_share = 0.25,
     .write_keys = Qwen35Moe},
    {.model_type = "qwen3_5_moe_text",
     .family = "qwen35moe",
     .rules = kQwen35Names,
     .adds_one = true,
     .rotated_share = 0.25,
     .write_keys = Qwen35Moe},
    {.model_type = "qwen3_5_text",
     .family = "qwen35",
     .rules = kQwen35Names,
     .adds_one = true,
     .rotated_share = 0.25,
     .write_keys = Qwen35},
    {.model_type = "qwen3_moe", .family = "qwen3moe", .write_keys = Qwen3Moe},
    {.model_type = "qwen3_next",
     .family = "qwen3next",
     .rules = kQwen3NextNames,
     .adds_one = true,
     .rotated_share = 0.25,
     .write_keys = Qwen3Next},
    {.model_type = "seed_oss", .family = "seed_oss", .rules = kNormBehindNames},
    {.model_type = "smollm3", .family = "smollm3", .pairs_rows = true, .write_keys = Qwen},
    {.model_type = "starcoder2",
     .family = "starcoder2",
     .rules = kStarCoder2Names,
     .activation = "gelu_pytorch_tanh",
     .write_keys = StarCoder2},
    {.model_type = "xlm-roberta",
     .family = "bert",
     .rules = kBertNames,
     .pads_first = true,
     .activation = "gelu",
     .change_shape = RobertaShape,
     .write_keys = Bert},
};

}  // namespace

std::span<const Architecture> Architectures() { return kArchitectures; }

Result<const Architecture*> FindArchitecture(const Config& config) {
  ASSIGN_OR_RETURN(const std::string_view type, config.Text("model_type"));
  const auto found = std::find_if(
      std::begin(kArchitectures), std::end(kArchitectures),
      [&](const Architecture& architecture) { return architecture.model_type == type; });
  if (found != std::end(kArchitectures)) return found;
  std::string known;
  for (const Architecture& architecture : kArchitectures)
    known += (known.empty() ? "" : ", ") + std::string(architecture.model_type);
  return ConfigError("model_type",
                     fmt::format("is {}; as a folder this version runs {}; a GGUF file of the "
                                 "model may run (docs/models.md)",
                                 formats::Quote(type), known),
                     ErrorCode::kUnsupported);
}

}  // namespace skald::huggingface
