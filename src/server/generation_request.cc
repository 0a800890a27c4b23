#include "server/generation_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include "server/chat_messages.h"
#include "server/fields.h"
#include "server/known_fields.h"
#include "server/template_variables.h"

namespace skald::server {

namespace {

namespace json = boost::json;

constexpr int64_t kInt32Max = std::numeric_limits<int32_t>::max();
constexpr int64_t kInt64Max = std::numeric_limits<int64_t>::max();
constexpr int64_t kInt64Min = std::numeric_limits<int64_t>::min();
// The OpenAI API: "maximum value 16 tokens" if a completion says nothing.
constexpr int64_t kCompletionMaxTokens = 16;

void ReadSampling(Fields& fields, SamplingParams& params) {
  params.temperature = fields.Number("temperature", {0, 100}).value_or(1.0);
  // Below the least that the engine takes nothing differs from greedy any more.
  if (params.temperature > 0 && params.temperature < 1e-6) params.temperature = 0;
  Truncation& truncation = params.truncation;
  truncation.top_p = fields.Number("top_p", {0, 1}).value_or(1.0);
  truncation.top_k = 0;
  if (const auto top_k = fields.Int("top_k", {-1, kInt32Max}))
    truncation.top_k = static_cast<int32_t>(std::max<int64_t>(*top_k, 0));  // vLLM: -1 is off
  truncation.min_p = fields.Number("min_p", {0, 1}).value_or(0.0);
  truncation.typical_p = fields.Number("typical_p", {0, 1}).value_or(1.0);
  Penalties& penalties = params.penalties;
  penalties.last_n = -1;
  penalties.presence = fields.Number("presence_penalty", {-2, 2}).value_or(0.0);
  penalties.frequency = fields.Number("frequency_penalty", {-2, 2}).value_or(0.0);
  const auto llama_cpp_name = fields.Number("repeat_penalty", {0.01, 100});
  penalties.repetition =
      fields.Number("repetition_penalty", {0.01, 100}).value_or(llama_cpp_name.value_or(1.0));
}

void ReadLogitBias(Fields& fields, SamplingParams& params) {
  const json::value* found = fields.Any("logit_bias");
  if (found == nullptr) return;
  const json::object* biases = found->if_object();
  if (biases == nullptr || biases->size() > kMaxLogitBiases)
    return fields.Fail(BadRequest(
        "logit_bias", fmt::format("logit_bias is {}, expected an object of at most {} members",
                                  Shown(*found), kMaxLogitBiases)));
  Fields members(*biases);
  for (const auto& member : *biases) {
    const std::string_view key = member.key();
    TokenId token = kNoToken;
    const auto parsed = std::from_chars(key.data(), key.data() + key.size(), token);
    const bool is_id = parsed.ec == std::errc() && parsed.ptr == key.data() + key.size();
    const auto bias = members.Number(key, {-100, 100});
    if (!is_id || token < 0 || !bias) {
      return fields.Fail(BadRequest(
          "logit_bias",
          fmt::format(
              "logit_bias has a member that is not \"TOKEN ID\": a number from -100 to 100: {}: {}",
              Shown(json::value(member.key())), Shown(member.value()))));
    }
    params.logit_bias.push_back({token, static_cast<float>(*bias)});
  }
}

void ReadStopStrings(Fields& fields, std::vector<std::string>& stops) {
  const json::value* found = fields.Any("stop");
  if (found == nullptr) return;
  const auto take = [&](const json::value& value) {
    const json::string* text = value.if_string();
    const bool fits = text != nullptr && !text->empty() && text->size() <= kMaxStopStringBytes;
    if (fits) stops.emplace_back(*text);
    return fits;
  };
  const json::array* list = found->if_array();
  const bool good = list == nullptr ? take(*found)
                                    : list->size() <= kMaxStopStrings &&
                                          std::all_of(list->begin(), list->end(), take);
  if (!good)
    fields.Fail(
        BadRequest("stop", fmt::format("stop is {}, expected a string of 1 to {} bytes, or "
                                       "an array of at most {} of them",
                                       Shown(*found), kMaxStopStringBytes, kMaxStopStrings)));
}

// False if one of them is no token id of any vocabulary.
bool ReadTokens(const json::array& list, std::vector<TokenId>& tokens) {
  tokens.reserve(list.size());
  return std::all_of(list.begin(), list.end(), [&](const json::value& id) {
    const bool is_id = id.is_int64() && id.get_int64() >= 0 && id.get_int64() <= kInt32Max;
    if (is_id) tokens.push_back(static_cast<TokenId>(id.get_int64()));
    return is_id;
  });
}

void ReadStopTokens(Fields& fields, StopRules& stop) {
  const json::value* found = fields.Any("stop_token_ids");
  if (found == nullptr) return;
  const json::array* list = found->if_array();
  if (list == nullptr || list->size() > kMaxStopTokens || !ReadTokens(*list, stop.stop_tokens))
    fields.Fail(BadRequest("stop_token_ids",
                           fmt::format("stop_token_ids is {}, expected an array of at most {} "
                                       "token ids",
                                       Shown(*found), kMaxStopTokens)));
}

void ReadStream(Fields& fields, GenerationRequest& request) {
  request.stream = fields.Bool("stream").value_or(false);
  const json::value* found = fields.Any("stream_options");
  if (found == nullptr) return;
  if (!found->is_object())
    return fields.Fail(BadRequest("stream_options", fmt::format("stream_options is {}, expected an "
                                                                "object",
                                                                Shown(*found))));
  Fields options(found->get_object());
  request.include_usage = options.Bool("include_usage").value_or(false);
  if (options.error()) fields.Fail(*options.error());
}

void ReadSequences(Fields& fields, GenerationRequest& request) {
  request.request.n = static_cast<int32_t>(fields.Int("n", {1, kMaxChoices}).value_or(1));
  if (const auto best_of = fields.Int("best_of", {1, kMaxChoices})) {
    request.request.best_of = static_cast<int32_t>(*best_of);
    if (*best_of < request.request.n)
      fields.Fail(BadRequest("best_of", fmt::format("best_of is {}, expected at least n = {}",
                                                    *best_of, request.request.n)));
    if (*best_of > request.request.n && request.stream)
      fields.Fail(BadRequest("best_of",
                             "best_of cannot be streamed: which is best is known at the "
                             "end"));
  }
}

void ReadResponseFormat(Fields& fields) {
  const json::value* found = fields.Any("response_format");
  if (found == nullptr) return;
  const json::object* format = found->if_object();
  const json::value* type = format == nullptr ? nullptr : format->if_contains("type");
  if (type == nullptr || !type->is_string())
    return fields.Fail(BadRequest(
        "response_format",
        fmt::format("response_format is {}, expected an object with a type", Shown(*found))));
  if (type->get_string() != "text")
    fields.Fail(Unsupported("response_format",
                            "only response_format {\"type\": \"text\"} is "
                            "supported by this server"));
}

// The fields that both routes have.
void ReadCommon(Fields& fields, GenerationRequest& request) {
  request.model = fields.Text("model", 256).value_or("");
  ReadStream(fields, request);
  ReadSequences(fields, request);
  ReadSampling(fields, request.request.sampling);
  ReadLogitBias(fields, request.request.sampling);
  // -1 means "draw one" to every server that takes it.
  if (const auto seed = fields.Int("seed", {kInt64Min, kInt64Max}); seed && *seed != -1) {
    request.has_seed = true;
    request.request.sampling.seed = static_cast<uint64_t>(*seed);
  }
  ReadStopStrings(fields, request.stop_strings);
  StopRules& stop = request.request.stop;
  ReadStopTokens(fields, stop);
  stop.ignore_eos = fields.Bool("ignore_eos").value_or(false);
  stop.min_tokens = fields.Int("min_tokens", {0, kInt32Max}).value_or(0);
  if (const auto max_tokens = fields.Int("max_tokens", {1, kInt32Max}))
    stop.max_tokens = *max_tokens;
  // vLLM's priority: lower goes first. The engine's is the other way round.
  request.request.priority =
      static_cast<int32_t>(-fields.Int("priority", {-kMaxPriority, kMaxPriority}).value_or(0));
  if (const auto salt = fields.Text("cache_salt", kMaxSaltBytes)) request.cache_salt = *salt;
  ReadResponseFormat(fields);
  TakeKnownFields(
      fields, request.kind == GenerationKind::kChat ? FieldScope::kChat : FieldScope::kCompletion);
}

void CheckMinTokens(Fields& fields, const StopRules& stop) {
  if (stop.max_tokens >= 0 && stop.min_tokens > stop.max_tokens)
    fields.Fail(BadRequest("min_tokens", fmt::format("min_tokens is {}, expected at most the {} "
                                                     "tokens that are asked for at most",
                                                     stop.min_tokens, stop.max_tokens)));
}

bool ReadPrompt(const json::value& value, std::vector<PromptInput>& prompts) {
  if (const json::string* text = value.if_string()) {
    prompts.emplace_back(std::string(*text));
    return true;
  }
  const json::array* list = value.if_array();
  std::vector<TokenId> tokens;
  if (list == nullptr || list->empty() || !ReadTokens(*list, tokens)) return false;
  prompts.emplace_back(std::move(tokens));
  return true;
}

OrError<GenerationRequest> Finish(Fields& fields, GenerationRequest request) {
  if (fields.error()) return *fields.error();
  request.ignored = fields.Left();
  return request;
}

// Whether the reasoning comes apart from the content, as llama.cpp names the ways.
void ReadReasoningFormat(Fields& fields, GenerationRequest& request) {
  const json::value* found = fields.Any("reasoning_format");
  if (found == nullptr) return;
  request.split_reasoning = *found != "none";
  if (*found != "none" && *found != "auto" && *found != "deepseek")
    fields.Fail(BadRequest(
        "reasoning_format",
        fmt::format("reasoning_format is {}, expected auto, deepseek or none", Shown(*found))));
}

void ReadLogprobs(Fields& fields, Request& request) {
  const bool wanted = fields.Bool("logprobs").value_or(false);
  const auto top = fields.Int("top_logprobs", {0, 20});
  if (top && *top > 0 && !wanted)
    fields.Fail(BadRequest("top_logprobs", "top_logprobs needs logprobs to be true"));
  if (wanted) request.sampling.top_logprobs = static_cast<int32_t>(top.value_or(0));
}

}  // namespace

OrError<std::vector<PromptInput>> ReadPrompts(std::string_view name, const json::value& value,
                                              size_t most) {
  std::vector<PromptInput> prompts;
  const json::array* list = value.if_array();
  const bool is_list = list != nullptr && !list->empty() && !list->front().is_number();
  const bool good =
      is_list ? list->size() <= most &&
                    std::all_of(list->begin(), list->end(),
                                [&](const json::value& each) { return ReadPrompt(each, prompts); })
              : ReadPrompt(value, prompts);
  if (good) return prompts;
  return BadRequest(
      std::string(name),
      fmt::format("{} is {}, expected a string, an array of token ids, or an array of "
                  "at most {} of one or the other",
                  name, Shown(value), most));
}

OrError<GenerationRequest> ReadCompletionRequest(const json::value& body) {
  const auto object = AsObject(body);
  if (const auto* error = std::get_if<ApiError>(&object)) return *error;
  Fields fields(*std::get<const json::object*>(object));
  GenerationRequest request;
  ReadCommon(fields, request);
  if (request.request.stop.max_tokens < 0) request.request.stop.max_tokens = kCompletionMaxTokens;
  CheckMinTokens(fields, request.request.stop);
  if (const auto logprobs = fields.Int("logprobs", {0, 20}))
    request.request.sampling.top_logprobs = static_cast<int32_t>(*logprobs);
  request.echo = fields.Bool("echo").value_or(false);
  fields.Refuse("chat_template_kwargs");  // a completion has no template
  if (request.echo && request.request.sampling.top_logprobs)
    fields.Fail(Unsupported("logprobs",
                            "log probabilities of the prompt (echo with logprobs) are "
                            "not supported by this server"));
  const json::value* prompt = fields.Any("prompt");
  if (prompt == nullptr) {
    fields.Fail(BadRequest("prompt", "prompt is missing"));
  } else {
    auto prompts = ReadPrompts("prompt", *prompt);
    if (const auto* error = std::get_if<ApiError>(&prompts))
      fields.Fail(*error);
    else
      request.prompts = std::get<std::vector<PromptInput>>(std::move(prompts));
  }
  return Finish(fields, std::move(request));
}

OrError<GenerationRequest> ReadChatRequest(const json::value& body) {
  const auto object = AsObject(body);
  if (const auto* error = std::get_if<ApiError>(&object)) return *error;
  Fields fields(*std::get<const json::object*>(object));
  GenerationRequest request;
  request.kind = GenerationKind::kChat;
  ReadCommon(fields, request);
  if (const auto max_tokens = fields.Int("max_completion_tokens", {1, kInt32Max}))
    request.request.stop.max_tokens = *max_tokens;
  CheckMinTokens(fields, request.request.stop);
  ReadLogprobs(fields, request.request);
  ReadMessages(fields, request.chat);
  request.tools = ReadChatTools(fields);
  ReadReasoningFormat(fields, request);
  request.chat["add_generation_prompt"] = fields.Bool("add_generation_prompt").value_or(true);
  if (const auto thinking = fields.Bool("enable_thinking"))
    request.chat["enable_thinking"] = *thinking;
  if (const auto effort = fields.Text("reasoning_effort", 32))
    request.chat["reasoning_effort"] = *effort;
  request.template_variables = ReadTemplateVariables(fields);
  return Finish(fields, std::move(request));
}

}  // namespace skald::server
