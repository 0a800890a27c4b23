#include "server/served_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "base/json_writer.h"
#include "server/answer.h"
#include "server/answer_receipt.h"
#include "server/cache_places.h"
#include "server/chat_messages.h"
#include "server/embedding_writer.h"
#include "server/fields.h"
#include "server/ollama/ollama_embedding_writer.h"
#include "skald/chat_template.h"

namespace skald::server {

namespace {

namespace json = boost::json;

constexpr std::string_view kSmallerAnswer =
    ": ask for fewer prompts, choices (n), tokens or log probabilities, without echo, or for a "
    "stream";

// Why the template did not render: the conversation does not suit it, or is too much for it. The
// words are the template's own, which belong to the model and are no secret (/props).
ApiError TemplateRefuses(const Status& status) {
  if (status.code() == ErrorCode::kCancelled) return TooMuchWork();
  return BadRequest("messages", "the chat template of the model: " + status.message());
}

// Whether a message for the model is nowhere in what it gets to read: many templates know no system
// message, and leave one out without a word. Templates may strip blanks at the ends.
bool IsDropped(const json::value& message, std::string_view rendered) {
  const std::string_view role = message.at("role").get_string();
  if (role != "system" && role != "developer") return false;
  std::string_view text = message.at("content").get_string();
  constexpr std::string_view kBlanks = " \t\r\n";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return false;
  text = text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
  // memmem is linear whatever the two are made of; find is not.
  return memmem(rendered.data(), rendered.size(), text.data(), text.size()) == nullptr;
}

// Tools that would be left out without a word, or whose calls nobody would find in the answer.
std::optional<ApiError> CheckTools(const ServedModel& served, const GenerationRequest& request) {
  const ChatToolUse& use = request.tools;
  if (use.tools == nullptr) return std::nullopt;
  const std::string field = use.as_function ? "functions" : "tools";
  if (!served.chat.reads_tools)
    return Unsupported(field, fmt::format("{}: the chat template of the model takes none", field));
  if (!served.chat.answers.has_calls())
    return Unsupported(field, fmt::format("{}: how this model writes calls is not known to this "
                                          "server (docs/chat.md has the formats)",
                                          field));
  return std::nullopt;
}

// `places`: Request::places, where the model has any use for them.
OrError<ChatPrompt> RenderChat(const ServedModel& served, const GenerationRequest& request,
                               const PrepareContext& context, std::vector<int64_t>& places) {
  const Result<ChatTemplate>& chat_template = served.model.chat_template();
  if (!chat_template.ok()) {
    return BadRequest({}, "the chat template of the model cannot be read: ask for completions");
  }
  if (auto error = CheckTools(served, request)) return *error;
  json::object chat = request.chat;
  if (request.tools.tools != nullptr) chat["tools"] = request.tools.definitions;
  if (served.chat.arguments == ToolArguments::kText) WriteArgumentsAsText(chat);
  if (const Status added = AddChatVariables(request.template_variables, &chat); !added.ok())
    return BadRequest("chat_template_kwargs", "chat_template_kwargs: " + added.message());
  const std::chrono::local_seconds now{std::chrono::seconds(context.unix_seconds)};
  Result<ChatPrompt> prompt = MakeChatPrompt(*chat_template, served.model.tokenizer(), chat, now,
                                             context.limit.stop_check());
  if (!prompt.ok()) return TemplateRefuses(prompt.status());
  const bool fits = std::ssize(prompt->tokens) < served.engine.context();
  if (served.engine.state_bytes() > 0 && fits) {
    // A mark must not have a request refused that is good without it.
    const WorkLimit limit = context.limit.Half();
    places = PlacesOf({*chat_template, served.model.tokenizer(), chat, *prompt, now},
                      MarkedFronts(chat.at("messages").get_array(), request.marked_messages),
                      limit.stop_check());
  }
  return *std::move(prompt);
}

// FNV-1a: tells the turns of a conversation apart, nothing more.
uint64_t HashOf(std::string_view text) {
  uint64_t hash = 0xCBF29CE484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  return hash;
}

// All but the first kSystemMessages are not looked for: each look reads the whole prompt.
bool DropsSystemMessage(const json::object& chat, std::string_view rendered) {
  constexpr size_t kSystemMessages = 8;
  const json::array& messages = chat.at("messages").get_array();
  return std::any_of(
      messages.begin(),
      messages.begin() + static_cast<ptrdiff_t>(std::min(messages.size(), kSystemMessages)),
      [&](const json::value& message) { return IsDropped(message, rendered); });
}

// Makes tokens of the prompts of one request.
class Prompts {
 public:
  // `field`: where they stand; `most`: tokens that one may have.
  Prompts(const ServedModel& served, const WorkLimit& limit, std::string field, int64_t most)
      : served_(served), limit_(limit), field_(std::move(field)), most_(most) {}

  std::optional<ApiError> Add(const PromptInput& prompt) {
    if (limit_.IsOver()) return TooMuchWork();
    if (const auto* ids = std::get_if<std::vector<TokenId>>(&prompt)) return AddTokens(*ids);
    const auto& text = std::get<std::string>(prompt);
    if (auto error = CheckBytes(text.size())) return error;
    return AddEncoded(served_.model.tokenizer().Encode(text, {.stop = limit_.stop_check()}));
  }

  // A prompt with a gap behind it. Of the files those that have room beside `max_tokens` of answer,
  // beside a quarter of the context where the answer has no bound.
  std::optional<ApiError> AddGap(const PromptInput& prompt, const GapInput& gap,
                                 int64_t max_tokens) {
    if (limit_.IsOver()) return TooMuchWork();
    const auto* text = std::get_if<std::string>(&prompt);
    if (text == nullptr)
      return BadRequest(gap.field, gap.field + " needs a prompt that is text, found token ids");
    if (auto error = CheckBytes(text->size() + gap.behind.size())) return error;
    const int64_t answer = max_tokens < 0 ? most_ / 4 : std::max<int64_t>(max_tokens, 1);
    const int64_t most = most_ + 1 - answer;
    auto tokens = served_.model.tokenizer().EncodeGap(
        {.before = *text, .behind = gap.behind, .files = gap.files, .max_tokens = most},
        limit_.stop_check());
    if (!tokens.ok() && tokens.status().code() == ErrorCode::kUnsupported)
      return Unsupported(gap.field, gap.field + ": " + tokens.status().message());
    return AddEncoded(std::move(tokens));
  }

  std::optional<ApiError> AddTokens(std::vector<TokenId> tokens) {
    if (tokens.empty()) return BadRequest(field_, "the prompt is empty");
    const auto count = static_cast<int64_t>(tokens.size());
    if (count > most_) return TooLong("", count);
    all_.push_back(std::move(tokens));
    return std::nullopt;
  }

  std::vector<std::vector<TokenId>> Take() { return std::move(all_); }

 private:
  std::optional<ApiError> AddEncoded(Result<std::vector<TokenId>> tokens) {
    if (tokens.ok()) return AddTokens(*std::move(tokens));
    if (tokens.status().code() == ErrorCode::kCancelled) return TooMuchWork();
    return BadRequest(field_, tokens.status().message());
  }

  // Megabytes need not become tokens to be too many.
  std::optional<ApiError> CheckBytes(size_t bytes) const {
    const int64_t least = static_cast<int64_t>(bytes) / served_.longest_token_bytes;
    if (least > most_) return TooLong("at least ", least);
    return std::nullopt;
  }

  ApiError TooLong(std::string_view at_least, int64_t tokens) const {
    return ApiError{.status = 400,
                    .message = fmt::format("the prompt has {}{} tokens, expected at most {}",
                                           at_least, tokens, most_),
                    .param = field_,
                    .code = "context_length_exceeded"};
  }

  const ServedModel& served_;
  const WorkLimit& limit_;
  const std::string field_;
  const int64_t most_;
  std::vector<std::vector<TokenId>> all_;
};

// Also fills what `prepared` has of a chat beside its tokens.
OrError<std::vector<std::vector<TokenId>>> AllTokens(const ServedModel& served,
                                                     const GenerationRequest& request,
                                                     const PrepareContext& context,
                                                     PreparedGeneration& prepared) {
  // Beside the prompt there must be room for a token.
  Prompts prompts(served, context.limit, "prompt", served.engine.context() - 1);
  if (request.kind == GenerationKind::kChat) {
    auto rendered = RenderChat(served, request, context, prepared.places);
    if (const auto* error = std::get_if<ApiError>(&rendered)) return *error;
    auto& prompt = std::get<ChatPrompt>(rendered);
    if (DropsSystemMessage(request.chat, prompt.text))
      prepared.warnings.push_back(kSystemMessageDropped);
    const std::string_view text = prompt.text;
    prepared.in_reasoning =
        served.chat.answers.OpensReasoning(text.substr(text.size() - prompt.template_tail));
    // What is not told apart is content, of which the grammar speaks.
    const bool is_content = !request.split_reasoning && request.tools.tools == nullptr;
    if (request.grammar && is_content && std::exchange(prepared.in_reasoning, false))
      prepared.warnings.push_back(kReasoningSkipped);
    prepared.prompt_hash = HashOf(text);
    if (auto error = prompts.AddTokens(std::move(prompt.tokens))) return *error;
  }
  for (const PromptInput& prompt : request.prompts) {
    auto error = request.gap ? prompts.AddGap(prompt, *request.gap, request.request.stop.max_tokens)
                             : prompts.Add(prompt);
    if (error) return *error;
  }
  return prompts.Take();
}

EchoedPrompt Echoed(const ServedModel& served, const std::vector<TokenId>& tokens) {
  const std::string text = served.model.tokenizer().Decode(tokens);
  auto json = std::make_shared<std::string>();
  AppendJsonText(text, json.get());
  return {.json = std::move(json), .characters = CharactersIn(text)};
}

// What makes no embeddings, whatever the inputs.
std::optional<ApiError> CheckEmbedding(const ServedModel& served, const EmbeddingRequest& request) {
  if (served.pooling == Pooling::kNone) {
    const bool ranks = served.model.info().rank_pooling.has_value();
    return Unsupported({}, ranks ? "this model ranks texts, it does not embed them: ask /v1/rerank"
                                 : "this server gives no embeddings (--pooling none)");
  }
  const int64_t width = served.engine.embedding_width();
  if (request.dimensions && *request.dimensions != width) {
    return BadRequest("dimensions",
                      fmt::format("dimensions is {}, expected {}, the width of the model: it was "
                                  "not trained to be cut",
                                  *request.dimensions, width));
  }
  const auto count = static_cast<int64_t>(request.inputs.size());
  if (count * width <= kMaxEmbeddingNumbers) return std::nullopt;
  return BadRequest("input",
                    fmt::format("input has {} members, expected at most {} for a model of width {}",
                                count, kMaxEmbeddingNumbers / width, width));
}

// As far as a request's size is known before its prompts are tokens: each has one at least.
std::optional<ApiError> CheckRoom(const PrepareContext& context, const GenerationRequest& request) {
  const Request& each = request.request;
  const TenantRights& rights = context.tenant->rights;
  if (rights.running > 0 && each.width() > rights.running) {
    return BadRequest("n", fmt::format("n (or best_of) is {}, this key may have {} sequences "
                                       "compute at the same time",
                                       each.width(), rights.running));
  }
  const auto prompts = static_cast<int64_t>(std::max<size_t>(1, request.prompts.size()));
  const int64_t answer = std::max<int64_t>(0, each.stop.max_tokens);
  return context.room.Refusal(
      {.sequences = prompts * each.width(), .tokens = prompts * (1 + each.width() * answer)});
}

// True if the request asked for more than its key may have. The engine's priority is the other way
// round: higher goes first.
bool LowerPriority(const Tenant& tenant, Request& request) {
  if (-int64_t{request.priority} >= tenant.rights.priority) return false;
  request.priority = static_cast<int32_t>(-tenant.rights.priority);
  return true;
}

std::shared_ptr<const VectorWriter> WriterOf(const ServedModel& served,
                                             const EmbeddingRequest& request) {
  if (request.style == EmbeddingStyle::kOpenAi)
    return std::make_shared<EmbeddingWriter>(request.form, served.pooling);
  return std::make_shared<OllamaEmbeddingWriter>(request.style);
}

std::optional<ApiError> SetDryBreakers(const ServedModel& served, GenerationRequest& request) {
  if (request.dry_breakers.empty()) return std::nullopt;
  auto tokens = served.model.tokenizer().TokensContaining(request.dry_breakers);
  if (!tokens.ok())
    return BadRequest("dry_sequence_breakers",
                      "dry_sequence_breakers: " + tokens.status().message());
  request.request.sampling.dry.breakers = *std::move(tokens);
  return std::nullopt;
}

}  // namespace

ChatForm ChatFormOf(const Model& model) {
  const Result<ChatTemplate>& chat = model.chat_template();
  if (!chat.ok()) return {};
  return {.answers = ChatAnswerFormat::Of(*chat, model.tokenizer()),
          .reads_tools = chat->Reads("tools"),
          .arguments = ToolArgumentsOf(*chat)};
}

std::string SystemFingerprint(const ModelInfo& info, std::string_view settings) {
  return fmt::format("fp_{:016x}_n{}{}{}", info.identity, kNumericsVersion,
                     settings.empty() ? "" : "_", settings);
}

std::optional<ApiError> CheckModelName(const ServedModel& served, std::string_view asked) {
  if (asked.empty() || served.IsCalled(asked)) return std::nullopt;
  return NoSuchModel(served, asked);
}

void ApplyRights(const Tenant& tenant, Request& request) {
  request.tenant = tenant.id;
  request.tenant_share = tenant.rights.share;
  request.tenant_running = tenant.rights.running;
}

std::string WarningNames(std::span<const std::string_view> warnings) {
  std::string names;
  for (const std::string_view warning : warnings) {
    if (!names.empty()) names += ", ";
    names += warning;
  }
  return names;
}

ApiError NoSuchModel(const ServedModel& served, std::string_view asked) {
  return {.status = 404,
          .message = fmt::format("there is no model {}; this server has '{}'", ShownText(asked),
                                 served.name),
          .param = "model",
          .code = "model_not_found"};
}

namespace {

// A token's text, its log probability of up to 24 digits, in chats its bytes; their names.
constexpr int64_t kScored = 128;

}  // namespace

int64_t ScoredPromptBytes(const GenerationRequest& request, int64_t prompt_tokens) {
  const std::optional<int32_t> top = request.request.sampling.top_logprobs;
  int64_t entries = 0;  // of each token
  if (request.echo && top) entries += 1 + *top;
  if (request.prompt_logprobs) entries += 1 + *request.prompt_logprobs;
  return entries * kScored * prompt_tokens;
}

int64_t AnswerBytes(const PreparedGeneration& prepared, int64_t context) {
  // Braces, names, finish reason of a choice.
  constexpr int64_t kChoice = 256;
  // Of text as JSON, on the average: more only in texts of control characters.
  constexpr int64_t kToken = 8;
  const Request& common = prepared.request.request;
  const std::optional<int32_t> top = common.sampling.top_logprobs;
  const int64_t per_token = kToken + (top ? kScored * (1 + *top) : 0);
  int64_t bytes = 0;
  for (const auto& [name, value] : prepared.request.repeated)
    bytes += static_cast<int64_t>(name.size() + value.size());
  for (size_t i = 0; i < prepared.engine_requests.size(); ++i) {
    const auto prompt = static_cast<int64_t>(prepared.engine_requests[i].prompt.size());
    const int64_t left = context - prompt;
    const int64_t wanted = common.stop.max_tokens;
    const int64_t tokens = wanted < 0 ? left : std::min(wanted, left);
    int64_t choice = kChoice + tokens * per_token + ScoredPromptBytes(prepared.request, prompt);
    if (prepared.request.receipt) choice += ReceiptBytes(prepared.engine_requests[i], tokens);
    if (prepared.request.echo) choice += static_cast<int64_t>(prepared.echoed[i].json->size());
    bytes += choice * common.n;
  }
  return bytes;
}

int64_t LongestTokenBytes(const Tokenizer& tokenizer) {
  size_t longest = 1;
  for (TokenId id = 0; id < tokenizer.vocab_size(); ++id)
    longest = std::max(longest, tokenizer.TokenBytes(id).size());
  return static_cast<int64_t>(longest);
}

namespace {

// What the answer to `request` is held to; nothing: it may be any.
std::optional<AnswerSource> HeldAnswer(const ServedModel& served, const GenerationRequest& request,
                                       bool in_reasoning) {
  const ChatAnswerFormat& format = served.chat.answers;
  const ChatToolUse& use = request.tools;
  AnswerSource source{.text = request.grammar,
                      .must_call = use.must_call,
                      .is_limited = use.is_limited,
                      .one_call = use.one_call,
                      .in_reasoning = in_reasoning,
                      .split_reasoning = request.split_reasoning};
  for (size_t i = 0; i < use.schemas.size(); ++i) {
    const ToolSchema& schema = use.schemas[i];
    if (!schema.is_callable) continue;
    source.tools.push_back({.name = (*use.tools)[i].name,
                            .schema = schema.text,
                            .parameters = (*use.tools)[i].parameters,
                            .pointer = PointerOf(use, i),
                            .is_strict = schema.is_strict || use.must_call});
  }
  if (!source.text && source.tools.empty()) return std::nullopt;
  const bool may_reason =
      request.kind == GenerationKind::kChat && format.has_reasoning() && request.split_reasoning;
  if (!source.tools.empty() || may_reason) source.format = format;
  return source;
}

}  // namespace

OrError<PreparedGeneration> Prepare(const ServedModel& served, GenerationRequest request,
                                    const PrepareContext& context) {
  if (auto error = CheckModelName(served, request.model)) return *error;
  if (!served.model.info().generates) {
    const bool ranks = served.model.info().rank_pooling.has_value();
    return Unsupported({},
                       ranks ? "this model ranks texts; it does not generate: ask /v1/rerank"
                             : "this model embeds texts; it does not generate: ask /v1/embeddings");
  }
  PreparedGeneration prepared;
  if (request.only_loads) {
    request.grammar.reset();
    prepared.request = std::move(request);
    return prepared;
  }
  if (auto error = CheckRoom(context, request)) return *error;
  ApplyRights(*context.tenant, request.request);
  if (LowerPriority(*context.tenant, request.request))
    prepared.warnings.push_back(kPriorityLowered);
  auto all = AllTokens(served, request, context, prepared);
  if (const auto* error = std::get_if<ApiError>(&all)) return *error;
  if (auto error = SetDryBreakers(served, request)) return *error;
  request.request.cache_namespace = context.cache_namespace;
  int64_t longest = 0;
  for (std::vector<TokenId>& tokens : std::get<std::vector<std::vector<TokenId>>>(all)) {
    if (request.echo) prepared.echoed.push_back(Echoed(served, tokens));
    prepared.engine_requests.push_back(request.request);
    prepared.engine_requests.back().prompt = std::move(tokens);
    prepared.engine_requests.back().places = prepared.places;
    longest =
        std::max(longest, static_cast<int64_t>(prepared.engine_requests.back().prompt.size()));
  }
  // Positions that were asked for; the model may end its text before.
  if (longest + std::max<int64_t>(0, request.request.stop.max_tokens) >
      served.model.info().context_length)
    prepared.warnings.push_back(kContextBeyondModel);
  prepared.held = HeldAnswer(served, request, prepared.in_reasoning);
  if (prepared.held) prepared.grammar_key = KeyOf(*prepared.held);
  prepared.request = std::move(request);
  const int64_t bytes = AnswerBytes(prepared, served.engine.context());
  if (!prepared.request.stream && bytes > context.max_answer_bytes)
    return AnswerTooLarge(bytes, context.max_answer_bytes, kSmallerAnswer);
  return prepared;
}

OrError<PreparedVectors> Prepare(const ServedModel& served, EmbeddingRequest request,
                                 const PrepareContext& context) {
  if (auto error = CheckModelName(served, request.model)) return *error;
  if (auto error = CheckEmbedding(served, request)) return *error;
  const auto inputs = static_cast<int64_t>(request.inputs.size());
  const int64_t at_once = std::min<int64_t>(inputs, kInputsAtOnce);
  if (auto error = context.room.Refusal({.sequences = at_once, .tokens = inputs})) return *error;
  const int64_t bytes = EmbeddingBytes(request.form, inputs * served.engine.embedding_width());
  if (bytes > context.max_answer_bytes)
    return AnswerTooLarge(bytes, context.max_answer_bytes, kSmallerAnswer);
  Prompts prompts(served, context.limit, "input", served.engine.context());
  for (const PromptInput& input : request.inputs) {
    if (auto error = prompts.Add(input)) return *error;
  }
  PreparedVectors prepared = {.writer = WriterOf(served, request),
                              .ignored = std::move(request.ignored),
                              .answer_bytes = bytes,
                              .numbers = inputs * served.engine.embedding_width(),
                              .engine_requests = {}};
  for (std::vector<TokenId>& tokens : prompts.Take()) {
    prepared.engine_requests.push_back({.prompt = std::move(tokens),
                                        .cache_namespace = context.cache_namespace,
                                        .pooling = served.pooling});
    ApplyRights(*context.tenant, prepared.engine_requests.back());
  }
  return prepared;
}

}  // namespace skald::server
