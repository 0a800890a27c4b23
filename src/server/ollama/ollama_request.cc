#include "server/ollama/ollama_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "server/chat_messages.h"
#include "server/fields.h"
#include "server/known_fields.h"
#include "server/shared_fields.h"

namespace skald::server {

namespace {

namespace json = boost::json;

constexpr int64_t kInt32Max = std::numeric_limits<int32_t>::max();
constexpr int64_t kInt64Max = std::numeric_limits<int64_t>::max();
constexpr int64_t kInt64Min = std::numeric_limits<int64_t>::min();
constexpr size_t kMaxTextBytes = size_t{64} << 20;  // a body is smaller
constexpr SamplingDefaults kDefaults = {
    .temperature = 0.8, .top_p = 0.9, .top_k = 40, .repetition = 1.1};
constexpr int64_t kPenaltyWindow = 64;

// How it is computed, and how long a context may be: the server was started with that. A prompt
// that is too long is an error here, so that none of them can cut one.
constexpr std::string_view kOptionsWithoutConsequence[] = {
    "num_ctx",    "num_keep",   "num_batch",  "num_gpu",   "main_gpu",
    "num_thread", "numa",       "use_mmap",   "use_mlock", "low_vram",
    "f16_kv",     "vocab_only", "logits_all", "num_gqa",   "draft_num_predict"};

void ReadSettings(Fields& options, GenerationRequest& request) {
  SamplingParams& sampling = request.request.sampling;
  ReadSampling(options, sampling, kDefaults);
  ReadSamplers(options, request);
  sampling.penalties.last_n =
      static_cast<int32_t>(options.Int("repeat_last_n", {-1, kInt32Max}).value_or(kPenaltyWindow));
  const auto seed = options.Int("seed", {kInt64Min, kInt64Max});
  if (seed && *seed != -1) {
    request.has_seed = true;
    sampling.seed = static_cast<uint64_t>(*seed);
  }
  // -1: without an end, -2: until the context is full. Here both end there.
  const auto most = options.Int("num_predict", {-2, kInt32Max});
  if (most && *most == 0)
    options.Fail(BadRequest("num_predict", "num_predict is 0, expected 1 or more, or -1"));
  if (most && *most > 0) request.request.stop.max_tokens = *most;
  request.stop_strings = ReadStopStrings(options, "stop");
  for (const std::string_view name : kOptionsWithoutConsequence) options.Ignore(name);
  TakeKnownFields(options, FieldScope::kOther);
}

// Also without options: the defaults are read so.
void ReadOptions(Fields& fields, GenerationRequest& request) {
  const json::value* found = fields.Any("options");
  if (found == nullptr) {
    const json::object none;
    Fields options(none);
    return ReadSettings(options, request);
  }
  ReadMembers(fields, request, "options", [&](Fields& options) { ReadSettings(options, request); });
}

// true, false, or how much.
void ReadThink(Fields& fields, json::object& chat) {
  const json::value* found = fields.Any("think");
  if (found == nullptr) return;
  if (!found->is_bool() && !found->is_string())
    return fields.Fail(WrongMember("think", found, "true, false, low, medium or high"));
  chat["enable_thinking"] = found->is_string() || found->get_bool();
  if (found->is_string()) chat["reasoning_effort"] = found->get_string();
}

// "json", or a schema.
void ReadFormat(Fields& fields, GenerationRequest& request) {
  const json::value* found = fields.Any("format");
  if (found == nullptr || SaysNoSchema(*found)) return;
  if (*found == "json")
    request.grammar = GrammarSource{.text = R"({"type":"object"})", .path = {"format"}};
  else if (found->is_object())
    request.grammar = GrammarSource{.path = {"format"}, .is_raw = true};
  else
    fields.Fail(WrongMember("format", found, "json or a JSON schema"));
}

void RefuseImages(Fields& fields, const std::string& where, const json::value* images) {
  if (images != nullptr && !SaysNo(*images))
    fields.Fail(Unsupported(where, where + ": this server runs models of text, which cannot read "
                                           "images"));
}

// The fields that both routes have.
GenerationRequest ReadCommon(Fields& fields, AnswerStyle style) {
  GenerationRequest request;
  request.style = style;
  request.stream = fields.Bool("stream").value_or(true);
  ReadSharedFields(fields, request);
  request.model = WithoutLatest(std::move(request.model));
  ReadOptions(fields, request);
  CheckMinTokens(fields, request.request.stop);
  ReadFormat(fields, request);
  // The model stays where it is, and a prompt that is too long is an error.
  for (const std::string_view name : {"keep_alive", "truncate", "shift"}) fields.Ignore(name);
  return request;
}

OrError<GenerationRequest> Finish(Fields& fields, GenerationRequest request) {
  for (const std::string_view name : {"logprobs", "top_logprobs"}) fields.Refuse(name);
  TakeKnownFields(fields, FieldScope::kOther);
  return FinishReading(fields, std::move(request));
}

// Ollama's messages by OpenAI's names, for the reader of these.
json::value Renamed(Fields& fields, const json::value& message, size_t index) {
  const json::object* object = message.if_object();
  if (object == nullptr) return message;
  json::object renamed;
  for (const auto& member : *object) {
    const std::string_view key = member.key();
    if (key == "images")
      RefuseImages(fields, fmt::format("messages[{}].images", index), &member.value());
    else if (key == "thinking")
      renamed["reasoning_content"] = member.value();
    else if (key == "tool_name")
      renamed["name"] = member.value();
    else
      renamed[key] = member.value();
  }
  return renamed;
}

// None at all: the model is to be loaded, and is.
void ReadConversation(Fields& fields, GenerationRequest& request) {
  const json::value* found = fields.Any("messages");
  request.only_loads = found == nullptr || (found->is_array() && found->get_array().empty());
  if (request.only_loads) return;
  json::object& chat = request.chat;
  json::object renamed;
  renamed["messages"] = *found;
  if (found->is_array() && found->get_array().size() <= kMaxMessages) {
    json::array& messages = renamed.at("messages").get_array();
    for (size_t i = 0; i < messages.size(); ++i) messages[i] = Renamed(fields, messages[i], i);
  }
  Fields names(renamed);
  ReadMessages(names, chat);
  if (names.error()) fields.Fail(*names.error());
}

}  // namespace

std::string WithoutLatest(std::string name) {
  constexpr std::string_view kLatest = ":latest";
  if (name.ends_with(kLatest)) name.resize(name.size() - kLatest.size());
  return name;
}

OrError<GenerationRequest> ReadOllamaChat(const json::value& body) {
  const auto object = AsObject(body);
  if (const auto* error = std::get_if<ApiError>(&object)) return *error;
  Fields fields(*std::get<const json::object*>(object));
  GenerationRequest request = ReadCommon(fields, AnswerStyle::kOllamaChat);
  request.kind = GenerationKind::kChat;
  ReadConversation(fields, request);
  request.tools = ReadChatTools(fields);
  request.chat["add_generation_prompt"] = true;
  ReadThink(fields, request.chat);
  return Finish(fields, std::move(request));
}

OrError<GenerationRequest> ReadOllamaGenerate(const json::value& body) {
  const auto object = AsObject(body);
  if (const auto* error = std::get_if<ApiError>(&object)) return *error;
  Fields fields(*std::get<const json::object*>(object));
  GenerationRequest request = ReadCommon(fields, AnswerStyle::kOllamaGenerate);
  const std::string prompt = fields.Text("prompt", kMaxTextBytes).value_or("");
  RefuseImages(fields, "images", fields.Any("images"));
  for (const std::string_view name : {"template", "context"}) fields.Refuse(name);
  const std::string system = fields.Text("system", kMaxTextBytes).value_or("");
  if (const auto suffix = fields.Text("suffix", kMaxTextBytes); suffix && !suffix->empty())
    request.gap = GapInput{.field = "suffix", .behind = *suffix};
  request.only_loads = prompt.empty() && !request.gap;
  if (fields.Bool("raw").value_or(false) || request.gap) {
    request.prompts = {prompt};
    if (!system.empty())
      fields.Fail(BadRequest("system", "system beside raw or suffix: there is no template then"));
    fields.Refuse("think");
    return Finish(fields, std::move(request));
  }
  request.kind = GenerationKind::kChat;
  json::array messages;
  if (!system.empty()) messages.push_back(json::object{{"role", "system"}, {"content", system}});
  messages.push_back(json::object{{"role", "user"}, {"content", prompt}});
  request.chat["messages"] = std::move(messages);
  request.chat["add_generation_prompt"] = true;
  ReadThink(fields, request.chat);
  return Finish(fields, std::move(request));
}

}  // namespace skald::server
