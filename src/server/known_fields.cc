#include "server/known_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>
#include <string>

namespace skald::server {

namespace {

namespace json = boost::json;

// What cannot change the answer: known, and left alone.
constexpr std::string_view kWithoutConsequence[] = {
    // who asks, where it is kept, how it is billed
    "user", "metadata", "store", "service_tier", "safety_identifier", "request_id",
    "anthropic_version", "inference_geo", "speed", "diagnostics", "user_profile_id", "workspace_id",
    // where it is computed and what is cached: the answer does not depend on it
    "prompt_cache_key", "prompt_cache_retention", "cache_prompt", "id_slot", "slot_id",
    "keep_alive", "n_keep", "n_discard", "n_cache_reuse", "kv_transfer_params",
    // guesses ahead: the text is the same
    "prediction", "speculative.n_max", "speculative.n_min", "speculative.p_min",
    // of tools, which a completion has none of
    "parallel_tool_calls", "parse_tool_calls", "guided_decoding_backend"};

// Chats have these (generation_request.cc); for completions they stand below.
constexpr std::string_view kOfChats[] = {
    "tools",         "functions",           "tool_choice",
    "function_call", "parallel_tool_calls", "reasoning_format"};

// A field that would change the answer. `off`: the number or text, as Shown writes it, with which
// its server does nothing. Names that end in '*' stand for all that begin so.
struct Refused {
  std::string_view name;
  std::string_view off = {};
};

constexpr Refused kRefused[] = {
    // tools, structured output
    {"tools"},
    {"functions"},
    {"grammar*"},
    {"json_schema"},
    {"guided_*"},
    {"response_format"},
    {"structured_outputs"},
    {"format"},
    {"regex"},
    {"ebnf"},
    {"structural_tag"},
    {"preserved_tokens"},
    // other media, other work
    {"audio"},
    {"web_search_options"},
    {"mcp_servers"},
    {"container"},
    {"output_format"},
    {"images"},
    {"image_data"},
    {"multimodal_data"},
    {"mm_processor_kwargs"},
    {"lora"},
    {"lora_path"},
    {"prompt_embeds"},
    // the prompt
    {"suffix"},
    {"chat_template"},
    {"template"},
    {"system"},
    {"context"},
    {"raw"},
    {"documents"},
    {"continue_final_message"},
    {"truncate_prompt_tokens"},
    {"truncate"},
    {"input_prefix"},
    {"input_suffix"},
    {"input_extra"},
    // what a model thinks, and how it is shown
    {"think"},
    {"thinking_*"},
    {"reasoning"},
    {"reasoning_format", "'none'"},
    {"reasoning_budget", "-1"},
    {"include_reasoning"},
    {"separate_reasoning"},
    {"verbosity"},
    // lengths by other names
    {"n_predict"},
    {"num_predict"},
    {"max_new_tokens"},
    {"min_new_tokens"},
    {"max_output_tokens"},
    {"max_tokens_to_sample"},
    {"max_length"},
    {"min_length"},
    {"num_ctx"},
    {"n_indent"},
    {"t_max_predict_ms"},
    {"t_max_prompt_ms"},
    // where the text ends, and what of it is shown
    {"stop_sequences"},
    {"stop_regex"},
    {"bad_words"},
    {"allowed_token_ids"},
    {"include_stop_str_in_output"},
    {"no_stop_trim"},
    {"return_full_text"},
    {"return_tokens_as_token_ids"},
    {"response_fields"},
    // which token comes
    {"options"},
    {"samplers"},
    {"sampler_seq"},
    {"top_n_sigma", "-1"},
    {"top_a", "0"},
    {"tfs_z", "1"},
    {"repeat_last_n", "-1"},
    {"penalty_last_n", "-1"},
    {"penalize_nl"},
    {"penalty_newline"},
    {"min_keep", "0"},
    {"logits_processors"},
    {"custom_logit_processor"},
    {"custom_params"},
    {"vllm_xargs"},
    {"sampling_seed"},
    {"watermark"},
    {"use_beam_search"},
    {"num_beams", "1"},
    {"length_penalty", "1"},
    {"early_stopping"},
    // what is told about it
    {"n_probs", "0"},
    {"post_sampling_probs"},
    {"prompt_logprobs"},
    {"logprob_start_len", "-1"},
    {"top_logprobs_num", "0"},
    {"token_ids_logprob"},
    {"return_tokens"},
    {"return_token_ids"},
    {"return_hidden_states"},
    {"decoder_input_details"}};

// Defaults that are true: false would change the answer.
constexpr std::string_view kTrueOnly[] = {"skip_special_tokens", "spaces_between_special_tokens",
                                          "detokenize", "do_sample"};

// Samplers with settings of their own, which do nothing while the request switches it off by
// `field`. Clients that send all their settings send these, too.
struct Switched {
  std::string_view field;
  std::string_view settings;  // what their names begin with
  std::string_view off = "0";
};
constexpr Switched kSwitched[] = {
    {"mirostat", "mirostat_"},          {"dry_multiplier", "dry_"},
    {"xtc_probability", "xtc_"},        {"dynatemp_range", "dynatemp_"},
    {"smoothing_factor", "smoothing_"}, {"adaptive_target", "adaptive_", "-1"}};

bool IsOneOf(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool IsOff(const json::value& value, std::string_view off) {
  return SaysNo(value) || (!off.empty() && Shown(value) == off);
}

bool Matches(std::string_view pattern, std::string_view name) {
  if (!pattern.ends_with('*')) return name == pattern;
  pattern.remove_suffix(1);
  return name.starts_with(pattern);
}

// Below, nothing means: not a field of this kind. True: with this value it changes nothing.

std::optional<bool> JudgeSwitched(const json::object& body, std::string_view name,
                                  const json::value& value) {
  const auto* found = std::find_if(
      std::begin(kSwitched), std::end(kSwitched),
      [&](const Switched& each) { return name == each.field || name.starts_with(each.settings); });
  if (found == std::end(kSwitched)) return std::nullopt;
  const json::value* field = body.if_contains(found->field);
  return SaysNo(value) || (field != nullptr && IsOff(*field, found->off));
}

// Fields that say no in a way of their own.
std::optional<bool> JudgeSpecial(std::string_view name, const json::value& value,
                                 FieldScope scope) {
  if (IsOneOf(kTrueOnly, name)) return value.is_null() || Shown(value) == "true";
  if (name == "add_special_tokens") {  // a completion gets its BOS, a template writes its own
    const bool adds = scope == FieldScope::kCompletion;
    return value.is_null() || (value.is_bool() && value.get_bool() == adds);
  }
  if (name == "tool_choice" || name == "function_call")  // without tools there is no choice
    return SaysNo(value) || Shown(value) == "'none'" || Shown(value) == "'auto'";
  if (name == "thinking") {  // Anthropic's {"type": "disabled"}
    const json::object* object = value.if_object();
    const json::value* type = object == nullptr ? nullptr : object->if_contains("type");
    return SaysNo(value) || (type != nullptr && *type == "disabled");
  }
  if (name == "modalities") {
    const json::array* list = value.if_array();
    return SaysNo(value) || (list != nullptr && list->size() == 1 && list->front() == "text");
  }
  return std::nullopt;
}

std::optional<bool> JudgeRefused(std::string_view name, const json::value& value) {
  const auto* found = std::find_if(std::begin(kRefused), std::end(kRefused),
                                   [&](const Refused& each) { return Matches(each.name, name); });
  if (found == std::end(kRefused)) return std::nullopt;
  return IsOff(value, found->off);
}

std::optional<bool> Judge(const json::object& body, std::string_view name, const json::value& value,
                          FieldScope scope) {
  if (scope == FieldScope::kChat && IsOneOf(kOfChats, name)) return true;
  if (IsOneOf(kWithoutConsequence, name)) return true;
  if (const auto special = JudgeSpecial(name, value, scope)) return special;
  if (const auto switched = JudgeSwitched(body, name, value)) return switched;
  return JudgeRefused(name, value);
}

}  // namespace

void TakeKnownFields(Fields& fields, FieldScope scope) {
  for (const auto& member : fields.object()) {
    const std::string_view name = member.key();
    if (fields.IsAsked(name)) continue;
    const std::optional<bool> harmless = Judge(fields.object(), name, member.value(), scope);
    if (!harmless) continue;
    fields.Ignore(name);
    if (!*harmless)
      fields.Fail(Unsupported(std::string(name),
                              fmt::format("{} is {}, which is not supported by this server", name,
                                          Shown(member.value()))));
  }
}

}  // namespace skald::server
