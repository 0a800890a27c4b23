#include "huggingface/tensor_names.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <system_error>

namespace skald::huggingface {
namespace {

// What llama's folders began and nearly all have kept.
constexpr NameRule kCommonNames[] = {
    {"embed_tokens.weight", "token_embd.weight"},
    {"norm.weight", "output_norm.weight"},
    {"norm.bias", "output_norm.bias"},
    {"lm_head.weight", "output.weight"},
    {"layers.#.input_layernorm.weight", "blk.#.attn_norm.weight"},
    {"layers.#.input_layernorm.bias", "blk.#.attn_norm.bias"},
    {"layers.#.self_attn.q_proj.weight", "blk.#.attn_q.weight", Change::kPairRows},
    {"layers.#.self_attn.q_proj.bias", "blk.#.attn_q.bias", Change::kPairRows},
    {"layers.#.self_attn.k_proj.weight", "blk.#.attn_k.weight", Change::kPairKvRows},
    {"layers.#.self_attn.k_proj.bias", "blk.#.attn_k.bias", Change::kPairKvRows},
    {"layers.#.self_attn.v_proj.weight", "blk.#.attn_v.weight"},
    {"layers.#.self_attn.v_proj.bias", "blk.#.attn_v.bias"},
    {"layers.#.self_attn.o_proj.weight", "blk.#.attn_output.weight"},
    {"layers.#.self_attn.o_proj.bias", "blk.#.attn_output.bias"},
    {"layers.#.self_attn.q_norm.weight", "blk.#.attn_q_norm.weight"},
    {"layers.#.self_attn.k_norm.weight", "blk.#.attn_k_norm.weight"},
    {"layers.#.post_attention_layernorm.weight", "blk.#.ffn_norm.weight"},
    {"layers.#.post_attention_layernorm.bias", "blk.#.ffn_norm.bias"},
    {"layers.#.post_feedforward_layernorm.weight", "blk.#.post_ffw_norm.weight"},
    {"layers.#.mlp.gate_proj.weight", "blk.#.ffn_gate.weight"},
    {"layers.#.mlp.up_proj.weight", "blk.#.ffn_up.weight"},
    {"layers.#.mlp.down_proj.weight", "blk.#.ffn_down.weight"},
    {"layers.#.mlp.gate.weight", "blk.#.ffn_gate_inp.weight"},
    {"layers.#.mlp.experts.#.gate_proj.weight", "blk.#.ffn_gate_exps.weight"},
    {"layers.#.mlp.experts.#.up_proj.weight", "blk.#.ffn_up_exps.weight"},
    {"layers.#.mlp.experts.#.down_proj.weight", "blk.#.ffn_down_exps.weight"},
    {"layers.#.mlp.shared_expert.gate_proj.weight", "blk.#.ffn_gate_shexp.weight"},
    {"layers.#.mlp.shared_expert.up_proj.weight", "blk.#.ffn_up_shexp.weight"},
    {"layers.#.mlp.shared_expert.down_proj.weight", "blk.#.ffn_down_shexp.weight"},
    {"layers.#.mlp.shared_expert_gate.weight", "blk.#.ffn_gate_inp_shexp.weight"},
};

constexpr std::array<std::string_view, 5> kBeforeNetwork = {
    "model.language_model.", "language_model.model.", "model.", "bert.", "roberta."};

// Longer ones first, and "language_model.lm_head" is the head.
std::string_view WithoutPrefix(std::string_view name) {
  for (const std::string_view prefix : kBeforeNetwork)
    if (name.starts_with(prefix)) return name.substr(prefix.size());
  constexpr std::string_view kAroundHead = "language_model.";
  if (name.starts_with(kAroundHead)) name.remove_prefix(kAroundHead.size());
  return name;
}

// Digits and nothing else, below 2^31.
std::optional<int64_t> NumberOf(std::string_view word) {
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  const bool is_number = error == std::errc() && end == word.data() + word.size();
  return is_number && number < uint32_t{1} << 31 ? std::optional<int64_t>(number) : std::nullopt;
}

// Ours: attn_norm, ffn_norm, attn_q_norm, ... That of a delta net is stored as it multiplies.
bool IsNorm(std::string_view name) {
  return name.ends_with("norm.weight") && !name.ends_with(".ssm_norm.weight");
}

// The rule as this architecture has it.
NameRule Adapted(const Architecture& architecture, NameRule rule) {
  const bool pairs = rule.change == Change::kPairRows || rule.change == Change::kPairKvRows;
  if (pairs && !architecture.pairs_rows) rule.change = Change::kNone;
  if (rule.change == Change::kSkipPadding && !architecture.pads_first) rule.change = Change::kNone;
  if (architecture.adds_one && IsNorm(rule.name)) rule.values = Values::kAddOne;
  return rule;
}

}  // namespace

NamePattern PatternOf(std::string_view name) {
  NamePattern found;
  std::string_view rest = WithoutPrefix(name);
  while (!rest.empty()) {
    const std::string_view word = rest.substr(0, rest.find('.'));
    if (!found.pattern.empty()) found.pattern += '.';
    if (const std::optional<int64_t> number = NumberOf(word)) {
      found.numbers.push_back(*number);
      found.pattern += '#';
    } else {
      found.pattern += word;
    }
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
  }
  return found;
}

std::vector<NameRule> RulesFor(const Architecture& architecture, std::string_view pattern) {
  std::vector<NameRule> rules;
  for (const NameRule& rule : architecture.rules)
    if (rule.stored == pattern) rules.push_back(Adapted(architecture, rule));
  if (!rules.empty()) return rules;
  for (const NameRule& rule : kCommonNames)
    if (rule.stored == pattern) rules.push_back(Adapted(architecture, rule));
  return rules;
}

std::vector<NameRule> RankRulesFor(const Architecture& architecture, std::string_view pattern) {
  std::vector<NameRule> rules;
  for (const NameRule& rule : architecture.rank_rules)
    if (rule.stored == pattern) rules.push_back(rule);
  return rules;
}

bool MayBeLeftOut(std::string_view name) {
  // Of pictures and sounds, of guessing further tokens, of what was trained beside embeddings.
  constexpr std::array<std::string_view, 13> kNotOfTheNetwork = {"vision_tower.",
                                                                 "multi_modal_projector.",
                                                                 "visual.",
                                                                 "mtp.",
                                                                 "model.visual.",
                                                                 "model.vision_tower.",
                                                                 "model.multi_modal_projector.",
                                                                 "model.audio_tower.",
                                                                 "model.embed_audio.",
                                                                 "model.embed_vision.",
                                                                 "pooler.",
                                                                 "bert.pooler.",
                                                                 "cls."};
  for (const std::string_view prefix : kNotOfTheNetwork)
    if (name.starts_with(prefix)) return true;
  return name.ends_with(".rotary_emb.inv_freq") || name.ends_with("embeddings.position_ids");
}

}  // namespace skald::huggingface
