#include "server/chat_messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "server/chat_tools.h"
#include "server/conversation.h"

namespace skald::server {

namespace {

namespace json = boost::json;

// "function" is the older name of "tool".
constexpr std::string_view kRoles[] = {"system",    "developer", "user",
                                       "assistant", "tool",      "function"};
constexpr size_t kMaxIdBytes = 256;
// What a legacy call, which has no id, is called: nine letters and digits are what all templates
// take.
constexpr std::string_view kLegacyId = "call00000";

class MessagesReader {
 public:
  std::optional<ApiError> Read(const json::value& value) {
    name_ = fmt::format("messages[{}]", messages_.size());
    json::object message;
    std::optional<ApiError> error = ReadRole(value, message);
    if (!error) error = ReadCalls(value.get_object(), message);
    if (!error) error = ReadContent(value.get_object(), message);
    if (error) return error;
    ReadTexts(value.get_object(), message);
    messages_.push_back(std::move(message));
    return std::nullopt;
  }
  json::array Take() { return std::move(messages_); }

 private:
  ApiError Bad(std::string_view member, const json::value* found, std::string_view expected) const {
    return WrongMember(name_ + std::string(member), found, expected);
  }

  std::optional<ApiError> ReadRole(const json::value& value, json::object& message);
  std::optional<ApiError> ReadCalls(const json::object& object, json::object& message);
  std::optional<ApiError> ReadLegacyCall(const json::value& call, json::object& message);
  std::optional<ApiError> ReadCall(std::string_view member, const json::value& value,
                                   json::array& calls);
  std::optional<ApiError> ReadFunction(std::string_view member, const json::object& function,
                                       json::object& call);
  std::optional<ApiError> ReadContent(const json::object& object, json::object& message);
  std::optional<ApiError> ReadParts(const json::array& parts, std::string& text);
  static void ReadTexts(const json::object& object, json::object& message);

  std::string name_;  // of the message that is being read
  json::array messages_;
  ArgumentReader arguments_;
};

std::optional<ApiError> MessagesReader::ReadRole(const json::value& value, json::object& message) {
  const json::object* object = value.if_object();
  if (object == nullptr) return Bad("", &value, "an object");
  const json::value* role = object->if_contains("role");
  if (role == nullptr || !role->is_string() ||
      std::find(std::begin(kRoles), std::end(kRoles), std::string_view(role->get_string())) ==
          std::end(kRoles))
    return Bad(".role", role, "system, developer, user, assistant or tool");
  message["role"] = *role;
  if (*role == "function") {
    message["role"] = "tool";
    message["tool_call_id"] = kLegacyId;
  }
  return std::nullopt;
}

std::optional<ApiError> MessagesReader::ReadCalls(const json::object& object,
                                                  json::object& message) {
  if (const json::value* legacy = object.if_contains("function_call");
      legacy != nullptr && !legacy->is_null())
    return ReadLegacyCall(*legacy, message);
  const json::value* found = object.if_contains("tool_calls");
  if (found == nullptr || SaysNo(*found)) return std::nullopt;
  const json::array* list = found->if_array();
  if (list == nullptr || list->size() > kMaxCallsOfMessage || message.at("role") != "assistant")
    return Bad(".tool_calls", found,
               fmt::format("an array of at most {} calls, of an assistant", kMaxCallsOfMessage));
  json::array calls;
  for (const json::value& each : *list) {
    const std::string member = fmt::format(".tool_calls[{}]", calls.size());
    if (auto error = ReadCall(member, each, calls)) return error;
  }
  message["tool_calls"] = std::move(calls);
  return std::nullopt;
}

std::optional<ApiError> MessagesReader::ReadLegacyCall(const json::value& call,
                                                       json::object& message) {
  if (!call.is_object()) return Bad(".function_call", &call, "an object");
  json::object made{{"id", kLegacyId}, {"type", "function"}};
  if (auto error = ReadFunction(".function_call", call.get_object(), made)) return error;
  message["tool_calls"] = json::array{std::move(made)};
  return std::nullopt;
}

std::optional<ApiError> MessagesReader::ReadCall(std::string_view member, const json::value& value,
                                                 json::array& calls) {
  const json::object* object = value.if_object();
  const json::value* function = object == nullptr ? nullptr : object->if_contains("function");
  if (function == nullptr || !function->is_object())
    return Bad(member, &value, "an object with a function");
  json::object call{{"type", "function"}};
  if (const json::value* id = object->if_contains("id"); id != nullptr && !id->is_null()) {
    if (!id->is_string() || id->get_string().size() > kMaxIdBytes)
      return Bad(std::string(member) + ".id", id,
                 fmt::format("a string of at most {} bytes", kMaxIdBytes));
    call["id"] = *id;
  }
  const std::string inner = std::string(member) + ".function";
  if (auto error = ReadFunction(inner, function->get_object(), call)) return error;
  calls.push_back(std::move(call));
  return std::nullopt;
}

// Sets call["function"].
std::optional<ApiError> MessagesReader::ReadFunction(std::string_view member,
                                                     const json::object& function,
                                                     json::object& call) {
  const json::value* name = function.if_contains("name");
  if (name == nullptr || !name->is_string() || !IsToolName(name->get_string()))
    return Bad(std::string(member) + ".name", name, "the name of a tool");
  const json::value* given = function.if_contains("arguments");
  json::value arguments = json::object();
  if (given != nullptr && given->is_string()) {
    auto read = arguments_.Read(given->get_string());
    if (auto* error = std::get_if<ApiError>(&read)) {
      error->param = "messages";
      return std::move(*error);
    }
    arguments = std::get<json::value>(std::move(read));
  } else if (given != nullptr && given->is_object()) {
    arguments = *given;
  } else if (given != nullptr && !given->is_null()) {
    return Bad(std::string(member) + ".arguments", given, "a string or an object");
  }
  call["function"] = json::object{{"name", *name}, {"arguments", std::move(arguments)}};
  return std::nullopt;
}

std::optional<ApiError> MessagesReader::ReadContent(const json::object& object,
                                                    json::object& message) {
  constexpr std::string_view kExpected = "a string or an array of text parts";
  const json::value* content = object.if_contains("content");
  const bool is_none = content == nullptr || content->is_null();
  if (is_none) {
    // What has only called has said nothing; some templates ask whether it is none.
    if (!message.contains("tool_calls")) return Bad(".content", content, kExpected);
    message["content"] = nullptr;
    return std::nullopt;
  }
  if (content->is_string()) {
    message["content"] = *content;
    return std::nullopt;
  }
  if (!content->is_array()) return Bad(".content", content, kExpected);
  std::string text;
  if (auto error = ReadParts(content->get_array(), text)) return error;
  message["content"] = text;
  return std::nullopt;
}

std::optional<ApiError> MessagesReader::ReadParts(const json::array& parts, std::string& text) {
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::string member = fmt::format(".content[{}]", i);
    const json::object* object = parts[i].if_object();
    const json::value* type = object == nullptr ? nullptr : object->if_contains("type");
    if (type == nullptr || !type->is_string()) return Bad(member, &parts[i], "a part with a type");
    if (*type != "text") return NotText(name_ + member, *type);
    const json::value* piece = object->if_contains("text");
    if (piece == nullptr || !piece->is_string()) return Bad(member + ".text", piece, "a string");
    text += piece->get_string();
  }
  return std::nullopt;
}

// What else templates read.
void MessagesReader::ReadTexts(const json::object& object, json::object& message) {
  const auto take = [&](std::string_view from, std::string_view to) {
    const json::value* found = object.if_contains(from);
    if (found != nullptr && found->is_string()) message[to] = *found;
  };
  take("name", "name");
  if (message.at("role") == "tool") take("tool_call_id", "tool_call_id");
  if (message.at("role") != "assistant") return;
  take("reasoning", "reasoning_content");
  take("reasoning_content", "reasoning_content");
  const json::value* reasoning = message.if_contains("reasoning_content");
  if (reasoning == nullptr) return;
  const json::value* calls = message.if_contains("tool_calls");
  const std::string text(reasoning->get_string());
  SetReasoning(text, calls == nullptr ? 0 : calls->get_array().size(), message);
}

}  // namespace

bool HasCacheMark(const json::value& message) {
  const json::object* object = message.if_object();
  if (object == nullptr) return false;
  const json::value* mark = object->if_contains("cache_control");
  if (mark != nullptr && !mark->is_null()) return true;
  const json::value* content = object->if_contains("content");
  const json::array* parts = content == nullptr ? nullptr : content->if_array();
  return parts != nullptr && std::any_of(parts->begin(), parts->end(), HasCacheMark);
}

std::vector<size_t> MarkedMessages(const json::value* messages) {
  std::vector<size_t> marked;
  const json::array* list = messages == nullptr ? nullptr : messages->if_array();
  for (size_t i = 0; list != nullptr && i < list->size(); ++i) {
    if (HasCacheMark((*list)[i])) marked.push_back(i + 1);
  }
  return marked;
}

void ReadMessages(Fields& fields, json::object& chat) {
  const json::value* found = fields.Any("messages");
  const json::array* list = found == nullptr ? nullptr : found->if_array();
  if (list == nullptr || list->empty() || list->size() > kMaxMessages)
    return fields.Fail(BadRequest(
        "messages", fmt::format("messages is {}, expected an array of 1 to {} messages",
                                found == nullptr ? "missing" : Shown(*found), kMaxMessages)));
  MessagesReader reader;
  for (const json::value& value : *list) {
    if (const auto error = reader.Read(value)) return fields.Fail(*error);
  }
  chat["messages"] = reader.Take();
}

void SetReasoning(std::string_view reasoning, size_t calls, json::object& message) {
  message["reasoning_content"] = reasoning;
  // Harmony's and LFM2.5's name for it; beside text and calls Harmony's template refuses it.
  const bool has_text = message.at("content").is_string() && !SaysNo(message.at("content"));
  if (!has_text || calls == 0) message["thinking"] = reasoning;
}

ApiError NotText(std::string_view where, const json::value& type) {
  return Unsupported(std::string(where),
                     fmt::format("{} is a part of type {}: this server runs models of text, "
                                 "which cannot read it; expected parts of type text",
                                 where, Shown(type)));
}

void WriteArgumentsAsText(json::object& chat) {
  for (json::value& message : chat.at("messages").as_array()) {
    json::value* calls = message.as_object().if_contains("tool_calls");
    if (calls == nullptr) continue;
    for (json::value& call : calls->as_array()) {
      json::value& arguments = call.at("function").at("arguments");
      if (arguments.is_object()) arguments = json::string(json::serialize(arguments));
    }
  }
}

}  // namespace skald::server
