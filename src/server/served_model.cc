#include "server/served_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "skald/chat_template.h"

namespace skald::server {

namespace {

namespace json = boost::json;

OrError<std::vector<TokenId>> Tokens(const Tokenizer& tokenizer, const PromptInput& prompt) {
  if (const auto* ids = std::get_if<std::vector<TokenId>>(&prompt)) return *ids;
  Result<std::vector<TokenId>> tokens = tokenizer.Encode(std::get<std::string>(prompt));
  if (!tokens.ok()) return BadRequest("prompt", tokens.status().message());
  return *std::move(tokens);
}

// Why the template did not render: the conversation does not suit it, or is too much for it. The
// words are the template's own, which belong to the model and are no secret (/props).
ApiError TemplateRefuses(const Status& status) {
  return BadRequest("messages", "the chat template of the model: " + status.message());
}

OrError<std::vector<TokenId>> ChatTokens(const ServedModel& served, const json::object& chat,
                                         int64_t unix_seconds) {
  const Result<ChatTemplate>& chat_template = served.model.chat_template();
  if (!chat_template.ok()) {
    return BadRequest({}, "the chat template of the model cannot be read: ask for completions");
  }
  const std::chrono::local_seconds now{std::chrono::seconds(unix_seconds)};
  Result<ChatPrompt> prompt = MakeChatPrompt(*chat_template, served.model.tokenizer(), chat, now);
  if (!prompt.ok()) return TemplateRefuses(prompt.status());
  return std::move(prompt->tokens);
}

ApiError TooLong(std::string_view at_least, int64_t tokens, int64_t context) {
  return ApiError{.status = 400,
                  .message = fmt::format("the prompt has {}{} tokens, the context has room for {} "
                                         "and at least one more",
                                         at_least, tokens, context - 1),
                  .param = "prompt",
                  .code = "context_length_exceeded"};
}

std::optional<ApiError> CheckLength(size_t tokens, int64_t context) {
  if (tokens == 0) return BadRequest("prompt", "the prompt is empty");
  if (static_cast<int64_t>(tokens) < context) return std::nullopt;
  return TooLong("", static_cast<int64_t>(tokens), context);
}

// Megabytes need not become tokens to be too many.
std::optional<ApiError> CheckBytes(const ServedModel& served, const PromptInput& prompt) {
  const auto* text = std::get_if<std::string>(&prompt);
  if (text == nullptr) return std::nullopt;
  const int64_t tokens = static_cast<int64_t>(text->size()) / served.longest_token_bytes;
  if (tokens < served.engine.context()) return std::nullopt;
  return TooLong("at least ", tokens, served.engine.context());
}

OrError<std::vector<std::vector<TokenId>>> AllTokens(const ServedModel& served,
                                                     const GenerationRequest& request,
                                                     int64_t unix_seconds) {
  const Tokenizer& tokenizer = served.model.tokenizer();
  std::vector<std::vector<TokenId>> all;
  const auto add = [&](OrError<std::vector<TokenId>> tokens) -> std::optional<ApiError> {
    if (const auto* error = std::get_if<ApiError>(&tokens)) return *error;
    all.push_back(std::get<std::vector<TokenId>>(std::move(tokens)));
    return CheckLength(all.back().size(), served.engine.context());
  };
  if (request.kind == GenerationKind::kChat) {
    if (auto error = add(ChatTokens(served, request.chat, unix_seconds))) return *error;
  }
  for (const PromptInput& prompt : request.prompts) {
    if (auto error = CheckBytes(served, prompt)) return *error;
    if (auto error = add(Tokens(tokenizer, prompt))) return *error;
  }
  return all;
}

}  // namespace

int64_t LongestTokenBytes(const Tokenizer& tokenizer) {
  size_t longest = 1;
  for (TokenId id = 0; id < tokenizer.vocab_size(); ++id)
    longest = std::max(longest, tokenizer.TokenBytes(id).size());
  return static_cast<int64_t>(longest);
}

OrError<PreparedGeneration> Prepare(const ServedModel& served, GenerationRequest request,
                                    const PrepareContext& context) {
  if (!request.model.empty() && request.model != served.name) {
    return ApiError{.status = 404,
                    .message = "there is no model of this name",
                    .param = "model",
                    .code = "model_not_found"};
  }
  auto all = AllTokens(served, request, context.unix_seconds);
  if (const auto* error = std::get_if<ApiError>(&all)) return *error;
  PreparedGeneration prepared;
  request.request.cache_namespace = context.cache_namespace;
  for (std::vector<TokenId>& tokens : std::get<std::vector<std::vector<TokenId>>>(all)) {
    if (request.echo) prepared.prompt_texts.push_back(served.model.tokenizer().Decode(tokens));
    prepared.engine_requests.push_back(request.request);
    prepared.engine_requests.back().prompt = std::move(tokens);
  }
  prepared.request = std::move(request);
  return prepared;
}

}  // namespace skald::server
