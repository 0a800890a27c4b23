#include "server/responses/response_request.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <limits>
#include <string>
#include <utility>
#include <variant>

#include "server/fields.h"
#include "server/grammar_source.h"
#include "server/known_fields.h"
#include "server/responses/input_items.h"
#include "server/shared_fields.h"
#include "server/template_variables.h"
#include "server/tool_choice.h"

namespace skald::server {

namespace {

namespace json = boost::json;

constexpr int64_t kInt32Max = std::numeric_limits<int32_t>::max();
constexpr size_t kMaxTextBytes = size_t{64} << 20;  // a body is smaller

void ReadInput(Fields& fields, Conversation& conversation) {
  const json::value* found = fields.Any("input");
  if (found != nullptr && found->is_string())
    return conversation.AddText("user", std::string(found->get_string()));
  const json::array* list = found == nullptr ? nullptr : found->if_array();
  if (list == nullptr || list->empty() || list->size() > kMaxInputItems)
    return fields.Fail(WrongMember(
        "input", found, fmt::format("a string or an array of 1 to {} items", kMaxInputItems)));
  InputItems items(conversation);
  for (size_t i = 0; i < list->size(); ++i) {
    if (auto error = items.Add(fmt::format("input[{}]", i), (*list)[i]))
      return fields.Fail(*std::move(error));
  }
  items.Finish();
}

void ReadConversation(Fields& fields, json::object& chat) {
  Conversation conversation;
  const auto instructions = fields.Text("instructions", kMaxTextBytes);
  if (instructions && !instructions->empty()) conversation.AddText("system", *instructions);
  ReadInput(fields, conversation);
  if (fields.error()) return;
  auto messages = conversation.Take("input");
  if (const auto* error = std::get_if<ApiError>(&messages)) return fields.Fail(*error);
  chat["messages"] = std::get<json::array>(std::move(messages));
}

// A function stands in its tool without a frame of its own.
void ReadTool(Fields& fields, const std::string& name, const json::value& value, ToolList& list) {
  const json::object* tool = value.if_object();
  const json::value* type = tool == nullptr ? nullptr : tool->if_contains("type");
  if (type == nullptr || !type->is_string())
    return fields.Fail(WrongMember(name, &value, "an object with the type function"));
  if (*type != "function")
    return fields.Fail(Unsupported(
        name, fmt::format("{} is a tool of type {}, which this server does not run; expected tools "
                          "of type function",
                          name, Shown(*type))));
  json::object function;
  for (const std::string_view member : {"name", "description", "parameters"}) {
    const json::value* found = tool->if_contains(member);
    if (found != nullptr && !found->is_null()) function[member] = *found;
  }
  list.NoteStrict(*tool);
  list.Add(name, function, {{"type", "function"}, {"function", function}});
}

ChatToolUse ReadTools(Fields& fields) {
  ToolList list(fields);
  list.Read("tools", ReadTool, {"parameters"});
  ChatToolUse use = list.Take();
  use.one_call = !fields.Bool("parallel_tool_calls").value_or(true);
  return ChooseTools(fields, "tool_choice", std::move(use));
}

void Refuse(Fields& fields, std::string_view name, std::string_view why) {
  const json::value* found = fields.Any(name);
  if (found == nullptr || SaysNo(*found)) return;
  fields.Fail(Unsupported(std::string(name), fmt::format("{}: {}", name, why)));
}

// What needs a store, or work of which nobody waits for the end.
void RefuseStored(Fields& fields) {
  constexpr std::string_view kNothingStored =
      "this server stores no answers: give the whole conversation as input";
  Refuse(fields, "previous_response_id", kNothingStored);
  Refuse(fields, "conversation", kNothingStored);
  Refuse(fields, "prompt", "this server stores no prompts: give instructions and input");
  Refuse(fields, "background", "answers are given to who waits for them only");
  Refuse(fields, "top_logprobs", "log probabilities are given by /v1/chat/completions");
  Refuse(fields, "context_management", "this server edits no history");
}

// The members of an answer that repeat the request. Nothing is stored, whatever was asked for.
std::vector<std::pair<std::string, std::string>> Repeated(const json::object& body,
                                                          const GenerationRequest& request) {
  const SamplingParams& sampling = request.request.sampling;
  json::object members{{"instructions", nullptr},
                       {"max_output_tokens", nullptr},
                       {"metadata", json::object()},
                       {"parallel_tool_calls", true},
                       {"previous_response_id", nullptr},
                       {"reasoning", nullptr},
                       {"store", false},
                       {"temperature", sampling.temperature},
                       {"text", {{"format", {{"type", "text"}}}}},
                       {"tool_choice", "auto"},
                       {"tools", json::array()},
                       {"top_p", sampling.truncation.top_p},
                       {"truncation", "disabled"}};
  std::vector<std::pair<std::string, std::string>> repeated;
  for (auto& member : members) {
    const json::value* asked = member.key() == "store" ? nullptr : body.if_contains(member.key());
    const bool is_there = asked != nullptr && !asked->is_null();
    repeated.emplace_back(member.key(), json::serialize(is_there ? *asked : member.value()));
  }
  return repeated;
}

}  // namespace

OrError<GenerationRequest> ReadResponseRequest(const json::value& body) {
  const auto object = AsObject(body);
  if (const auto* error = std::get_if<ApiError>(&object)) return *error;
  const json::object& members = *std::get<const json::object*>(object);
  Fields fields(members);
  GenerationRequest request;
  request.kind = GenerationKind::kChat;
  request.style = AnswerStyle::kResponses;
  request.stream = fields.Bool("stream").value_or(false);
  ReadSampling(fields, request.request.sampling);
  ReadSamplers(fields, request);
  ReadSharedFields(fields, request);
  if (const auto max_tokens = fields.Int("max_output_tokens", {1, kInt32Max}))
    request.request.stop.max_tokens = *max_tokens;
  CheckMinTokens(fields, request.request.stop);
  RefuseStored(fields);
  ReadConversation(fields, request.chat);
  request.tools = ReadTools(fields);
  request.chat["add_generation_prompt"] = true;
  ReadMembers(fields, request, "reasoning", [&](Fields& reasoning) {
    if (const auto effort = reasoning.Text("effort", 32))
      request.chat["reasoning_effort"] = *effort;
  });
  ReadMembers(fields, request, "text",
              [&](Fields& text) { ReadNestedFormat(text, {"text"}, &request.grammar); });
  request.template_variables = ReadTemplateVariables(fields);
  for (const std::string_view name : {"include", "stream_options", "truncation", "store"})
    fields.Ignore(name);  // of tools, stores and cuts that there are none of (docs/apis.md)
  TakeKnownFields(fields, FieldScope::kOther);
  if (!fields.error()) request.repeated = Repeated(members, request);
  return FinishReading(fields, std::move(request));
}

}  // namespace skald::server
