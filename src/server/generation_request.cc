#include "server/generation_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "server/chat_messages.h"
#include "server/fields.h"
#include "server/known_fields.h"
#include "server/shared_fields.h"
#include "server/template_variables.h"

namespace skald::server {

namespace {

namespace json = boost::json;

constexpr int64_t kInt32Max = std::numeric_limits<int32_t>::max();
// The OpenAI API: "maximum value 16 tokens" if a completion says nothing.
constexpr int64_t kCompletionMaxTokens = 16;
constexpr size_t kMaxSuffixBytes = size_t{64} << 20;  // a body is smaller

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

// Log probabilities of the prompt, by vLLM's name.
void ReadPromptLogprobs(Fields& fields, GenerationRequest& request) {
  const auto top = fields.Int("prompt_logprobs", {0, kMaxTopLogprobs});
  if (!top) return;
  request.prompt_logprobs = static_cast<int32_t>(*top);
  request.request.prompt_logprobs = request.prompt_logprobs;
  if (request.stream)
    fields.Fail(BadRequest("prompt_logprobs",
                           "prompt_logprobs come with whole answers only: they "
                           "are not streamed"));
}

// The same as OpenAI's completions have them, in front of those of the answer.
void EchoLogprobs(Fields& fields, GenerationRequest& request) {
  const std::optional<int32_t> top = request.request.sampling.top_logprobs;
  if (!request.echo || !top) return;
  std::optional<int32_t>& wanted = request.request.prompt_logprobs;
  wanted = std::max(wanted.value_or(0), *top);
  if (request.stream)
    fields.Fail(BadRequest("logprobs",
                           "logprobs with echo come with whole answers only: they are "
                           "not streamed"));
}

// An answer of no tokens is one where the prompt is told.
void CheckMaxTokens(Fields& fields, std::string_view name, const GenerationRequest& request) {
  if (request.request.stop.max_tokens != 0 || request.echo || request.prompt_logprobs) return;
  fields.Fail(BadRequest(std::string(name),
                         fmt::format("{} is 0, expected a whole number from 1 to {}, or 0 with "
                                     "echo or prompt_logprobs",
                                     name, kInt32Max)));
}

// A receipt is of one choice: others would take as much again to hold until the end.
void ReadReceipt(Fields& fields, GenerationRequest& request) {
  request.receipt = fields.Bool("receipt").value_or(false);
  if (request.receipt && request.request.sequence_count() > 1)
    fields.Fail(BadRequest("receipt", "a receipt is of one choice: n and best_of must be 1"));
}

// The fields that both routes have.
void ReadCommon(Fields& fields, GenerationRequest& request) {
  ReadStream(fields, request);
  ReadSequences(fields, request);
  ReadReceipt(fields, request);
  ReadSampling(fields, request.request.sampling);
  ReadSamplers(fields, request);
  request.stop_strings = ReadStopStrings(fields, "stop");
  ReadSharedFields(fields, request);
  if (const auto max_tokens = fields.Int("max_tokens", {0, kInt32Max}))
    request.request.stop.max_tokens = *max_tokens;
  ReadPromptLogprobs(fields, request);
  request.grammar = ReadGrammarSource(fields);
  TakeKnownFields(
      fields, request.kind == GenerationKind::kChat ? FieldScope::kChat : FieldScope::kCompletion);
}

bool ReadPrompt(const json::value& value, std::vector<PromptInput>& prompts) {
  if (const json::string* text = value.if_string()) {
    prompts.emplace_back(std::string(*text));
    return true;
  }
  const json::array* list = value.if_array();
  std::vector<TokenId> tokens;
  if (list == nullptr || list->empty() || !ReadTokenIds(*list, tokens)) return false;
  prompts.emplace_back(std::move(tokens));
  return true;
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
  if (auto suffix = fields.Text("suffix", kMaxSuffixBytes); suffix && !suffix->empty())
    request.gap = GapInput{.field = "suffix", .behind = *std::move(suffix)};
  ReadCommon(fields, request);
  if (request.request.stop.max_tokens < 0) request.request.stop.max_tokens = kCompletionMaxTokens;
  CheckMinTokens(fields, request.request.stop);
  if (const auto logprobs = fields.Int("logprobs", {0, 20}))
    request.request.sampling.top_logprobs = static_cast<int32_t>(*logprobs);
  request.echo = fields.Bool("echo").value_or(false);
  if (request.echo && request.gap)
    fields.Fail(
        Unsupported("echo", "echo beside suffix: the text would not begin with the prompt"));
  EchoLogprobs(fields, request);
  CheckMaxTokens(fields, "max_tokens", request);
  fields.Refuse("chat_template_kwargs");  // a completion has no template
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
  if (request.receipt && request.prompts.size() > 1)
    fields.Fail(BadRequest("receipt", "a receipt is of one choice: there must be one prompt"));
  return FinishReading(fields, std::move(request));
}

OrError<GenerationRequest> ReadChatRequest(const json::value& body) {
  const auto object = AsObject(body);
  if (const auto* error = std::get_if<ApiError>(&object)) return *error;
  Fields fields(*std::get<const json::object*>(object));
  GenerationRequest request;
  request.kind = GenerationKind::kChat;
  ReadCommon(fields, request);
  CheckMaxTokens(fields, "max_tokens", request);
  if (const auto max_tokens = fields.Int("max_completion_tokens", {0, kInt32Max}))
    request.request.stop.max_tokens = *max_tokens;
  CheckMaxTokens(fields, "max_completion_tokens", request);
  CheckMinTokens(fields, request.request.stop);
  ReadLogprobs(fields, request.request);
  ReadMessages(fields, request.chat);
  request.marked_messages = MarkedMessages(fields.Any("messages"));
  request.tools = ReadChatTools(fields);
  ReadReasoningFormat(fields, request);
  request.chat["add_generation_prompt"] = fields.Bool("add_generation_prompt").value_or(true);
  if (const auto thinking = fields.Bool("enable_thinking"))
    request.chat["enable_thinking"] = *thinking;
  if (const auto effort = fields.Text("reasoning_effort", 32))
    request.chat["reasoning_effort"] = *effort;
  request.template_variables = ReadTemplateVariables(fields);
  return FinishReading(fields, std::move(request));
}

}  // namespace skald::server
