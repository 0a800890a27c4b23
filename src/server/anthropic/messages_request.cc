#include "server/anthropic/messages_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <iterator>
#include <limits>
#include <string>
#include <utility>
#include <variant>

#include "server/anthropic/message_blocks.h"
#include "server/chat_messages.h"
#include "server/fields.h"
#include "server/grammar_source.h"
#include "server/known_fields.h"
#include "server/shared_fields.h"
#include "server/template_variables.h"
#include "server/tool_choice.h"

namespace skald::server {

namespace {

namespace json = boost::json;

constexpr int64_t kInt32Max = std::numeric_limits<int32_t>::max();

void ReadSystem(Fields& fields, Conversation& conversation) {
  const json::value* found = fields.Any("system");
  if (found == nullptr) return;
  auto text = ReadBlocksOfText("system", *found);
  if (const auto* error = std::get_if<ApiError>(&text)) return fields.Fail(*error);
  if (!std::get<std::string>(text).empty())
    conversation.AddText("system", std::get<std::string>(std::move(text)));
}

bool IsMarkedList(const json::value* found) {
  const json::array* list = found == nullptr ? nullptr : found->if_array();
  return list != nullptr && std::any_of(list->begin(), list->end(), HasCacheMark);
}

void ReadConversation(Fields& fields, GenerationRequest& request) {
  Conversation conversation;
  ReadSystem(fields, conversation);
  // Tools are told beside the system's message.
  const json::value* system = fields.Any("system");
  const bool marks_front = IsMarkedList(system) || IsMarkedList(fields.Any("tools"));
  if (marks_front && conversation.size() > 0) request.marked_messages = {conversation.size()};
  const json::value* found = fields.Any("messages");
  const json::array* list = found == nullptr ? nullptr : found->if_array();
  if (list == nullptr || list->empty() || list->size() > kMaxMessages)
    return fields.Fail(
        WrongMember("messages", found, fmt::format("an array of 1 to {} messages", kMaxMessages)));
  for (size_t i = 0; i < list->size(); ++i) {
    if (auto error = ReadBlockMessage(fmt::format("messages[{}]", i), (*list)[i], conversation))
      return fields.Fail(*std::move(error));
    if (HasCacheMark((*list)[i])) request.marked_messages.push_back(conversation.size());
  }
  auto messages = conversation.Take("messages");
  if (const auto* error = std::get_if<ApiError>(&messages)) return fields.Fail(*error);
  // Anthropic's models go on from there; a template would end the message and begin another.
  if (list->back().as_object().at("role") == "assistant")
    return fields.Fail(Unsupported(
        "messages", fmt::format("messages[{}] is the assistant's: an answer that goes on from the "
                                "last message (prefill) is not supported by this server",
                                list->size() - 1)));
  request.chat["messages"] = std::get<json::array>(std::move(messages));
  request.ignored.insert(request.ignored.end(), conversation.untold().begin(),
                         conversation.untold().end());
}

void ReadTool(Fields& fields, const std::string& name, const json::value& value, ToolList& list) {
  const json::object* tool = value.if_object();
  if (tool == nullptr) return fields.Fail(WrongMember(name, &value, "an object"));
  const json::value* type = tool->if_contains("type");
  if (type != nullptr && !type->is_null() && *type != "custom")
    return fields.Fail(Unsupported(
        name, fmt::format("{} is a tool of type {}, which runs at Anthropic: this server has tools "
                          "of type custom, with an input_schema",
                          name, Shown(*type))));
  const json::value* schema = tool->if_contains("input_schema");
  if (schema == nullptr || !schema->is_object())
    return fields.Fail(WrongMember(name + ".input_schema", schema, "an object"));
  json::object function;
  for (const std::string_view member : {"name", "description"}) {
    if (const json::value* found = tool->if_contains(member)) function[member] = *found;
  }
  function["parameters"] = *schema;
  list.NoteStrict(*tool);
  list.Add(name, function, {{"type", "function"}, {"function", function}});
}

// Whether the tools count. `one_call`: no second call is wanted.
enum class Choice : uint8_t { kAuto, kNone };
Choice ReadChoice(Fields& fields, ChatToolUse& use) {
  const json::value* found = fields.Any("tool_choice");
  if (found == nullptr) return Choice::kAuto;
  const json::object* object = found->if_object();
  const json::value* type = object == nullptr ? nullptr : object->if_contains("type");
  const bool is_known =
      type != nullptr && (*type == "auto" || *type == "none" || *type == "any" || *type == "tool");
  if (!is_known) {
    fields.Fail(WrongMember("tool_choice", type == nullptr ? found : type,
                            "an object with the type auto, any, tool or none"));
    return Choice::kAuto;
  }
  Fields members(*object);
  use.one_call = members.Bool("disable_parallel_tool_use").value_or(false);
  if (*type == "any") MustCall(fields, "tool_choice", *type, &use);
  if (*type == "tool")
    MustCallTool(fields, "tool_choice", members.Text("name", kMaxToolNameBytes).value_or(""), &use);
  if (members.error()) fields.Fail(*members.error());
  return *type == "none" ? Choice::kNone : Choice::kAuto;
}

ChatToolUse ReadTools(Fields& fields) {
  ToolList list(fields);
  list.Read("tools", ReadTool, {"input_schema"});
  ChatToolUse use = list.Take();
  if (ReadChoice(fields, use) == Choice::kNone) return {};
  return use;
}

// {"type": "enabled", "budget_tokens"}, adaptive or disabled: for the template. Nothing holds the
// model to its budget, which the answer says.
void ReadThinking(Fields& fields, GenerationRequest& request) {
  const json::value* found = fields.Any("thinking");
  if (found == nullptr) return;
  const json::object* object = found->if_object();
  const json::value* type = object == nullptr ? nullptr : object->if_contains("type");
  if (type == nullptr || (*type != "enabled" && *type != "adaptive" && *type != "disabled"))
    return fields.Fail(WrongMember("thinking", type == nullptr ? found : type,
                                   "an object with the type enabled, adaptive or disabled"));
  request.chat["enable_thinking"] = *type != "disabled";
  if (object->contains("budget_tokens")) request.ignored.emplace_back("thinking.budget_tokens");
}

void ReadOutputConfig(Fields& fields, GenerationRequest& request) {
  ReadMembers(fields, request, "output_config", [&](Fields& config) {
    if (const auto effort = config.Text("effort", 32)) request.chat["reasoning_effort"] = *effort;
    ReadNestedFormat(config, {"output_config"}, &request.grammar);
  });
}

// Edits of the history. One that keeps all is none.
void ReadContextManagement(Fields& fields) {
  const json::value* found = fields.Any("context_management");
  if (found == nullptr || SaysNo(*found)) return;
  const json::object* object = found->if_object();
  const json::value* edits = object == nullptr ? nullptr : object->if_contains("edits");
  const json::array* list = edits == nullptr ? nullptr : edits->if_array();
  const bool keeps_all =
      list != nullptr && std::all_of(list->begin(), list->end(), [](const json::value& edit) {
        const json::object* members = edit.if_object();
        const json::value* keep = members == nullptr ? nullptr : members->if_contains("keep");
        return keep != nullptr && *keep == "all";
      });
  if (!keeps_all)
    fields.Fail(Unsupported("context_management",
                            "context_management: this server edits no history; expected edits "
                            "that keep all"));
}

}  // namespace

OrError<GenerationRequest> ReadMessagesRequest(const json::value& body) {
  const auto object = AsObject(body);
  if (const auto* error = std::get_if<ApiError>(&object)) return *error;
  Fields fields(*std::get<const json::object*>(object));
  GenerationRequest request;
  request.kind = GenerationKind::kChat;
  request.style = AnswerStyle::kAnthropic;
  request.stream = fields.Bool("stream").value_or(false);
  ReadSampling(fields, request.request.sampling);
  ReadSamplers(fields, request);
  request.stop_strings = ReadStopStrings(fields, "stop_sequences");
  ReadSharedFields(fields, request);
  if (const auto max_tokens = fields.Int("max_tokens", {1, kInt32Max}))
    request.request.stop.max_tokens = *max_tokens;
  CheckMinTokens(fields, request.request.stop);
  ReadConversation(fields, request);
  request.tools = ReadTools(fields);
  request.chat["add_generation_prompt"] = true;
  ReadThinking(fields, request);
  ReadOutputConfig(fields, request);
  ReadContextManagement(fields);
  request.template_variables = ReadTemplateVariables(fields);
  // Of the request as a whole: behind its last message, where it is kept anyway.
  fields.Ignore("cache_control");
  TakeKnownFields(fields, FieldScope::kOther);
  return FinishReading(fields, std::move(request));
}

OrError<GenerationRequest> ReadCountTokensRequest(const json::value& body) {
  OrError<GenerationRequest> request = ReadMessagesRequest(body);
  if (auto* good = std::get_if<GenerationRequest>(&request)) good->request.stop = {.max_tokens = 1};
  return request;
}

}  // namespace skald::server
