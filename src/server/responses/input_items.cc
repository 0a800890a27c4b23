#include "server/responses/input_items.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <initializer_list>
#include <utility>
#include <variant>

#include "server/chat_messages.h"
#include "server/chat_tools.h"
#include "server/fields.h"

namespace skald::server {

namespace {

namespace json = boost::json;

constexpr size_t kMaxIdBytes = 256;

std::optional<ApiError> ReadPart(const std::string& where, const json::value& value,
                                 std::string& text) {
  const json::object* part = value.if_object();
  const json::value* type = part == nullptr ? nullptr : part->if_contains("type");
  if (type == nullptr || !type->is_string())
    return WrongMember(where, &value, "a part with a type");
  const bool is_refusal = *type == "refusal";
  const bool is_text = *type == "input_text" || *type == "output_text" || *type == "text" ||
                       *type == "reasoning_text";
  if (!is_text && !is_refusal) return NotText(where, *type);
  const std::string_view member = is_refusal ? "refusal" : "text";
  const json::value* found = part->if_contains(member);
  if (found == nullptr || !found->is_string())
    return WrongMember(fmt::format("{}.{}", where, member), found, "a string");
  text += found->get_string();
  return std::nullopt;
}

// A string or an array of parts, put together.
OrError<std::string> ReadText(const std::string& where, const json::value* value) {
  if (value != nullptr && value->is_string()) return std::string(value->get_string());
  const json::array* parts = value == nullptr ? nullptr : value->if_array();
  if (parts == nullptr) return WrongMember(where, value, "a string or an array of text parts");
  std::string text;
  for (size_t i = 0; i < parts->size(); ++i) {
    if (auto error = ReadPart(fmt::format("{}[{}]", where, i), (*parts)[i], text))
      return *std::move(error);
  }
  return text;
}

// A member that must be a short string, or nullptr; `error` says why.
const json::string* ShortString(const json::object& item, std::string_view name,
                                const std::string& where, std::optional<ApiError>& error) {
  const json::value* found = item.if_contains(name);
  const json::string* text = found == nullptr ? nullptr : found->if_string();
  if (text != nullptr && text->size() <= kMaxIdBytes) return text;
  error = WrongMember(fmt::format("{}.{}", where, name), found,
                      fmt::format("a string of at most {} bytes", kMaxIdBytes));
  return nullptr;
}

bool IsEmpty(const json::value* value) { return value == nullptr || SaysNo(*value); }

}  // namespace

std::optional<ApiError> InputItems::Add(const std::string& where, const json::value& value) {
  const json::object* item = value.if_object();
  if (item == nullptr) return WrongMember(where, &value, "an item, which is an object");
  const json::value* type = item->if_contains("type");
  if (type == nullptr || *type == "message") return AddMessage(where, *item);
  if (*type == "function_call") return AddCall(where, *item);
  if (*type == "function_call_output") return AddOutput(where, *item);
  if (*type == "reasoning") return AddReasoning(where, *item);
  if (*type == "item_reference")
    return Unsupported(where, where +
                                  " refers to an item that was stored: this server stores "
                                  "none, so that the input has to tell all of it");
  return Unsupported(
      where, fmt::format("{} is an item of type {}, which this server does not have; expected "
                         "message, function_call, function_call_output or reasoning",
                         where, Shown(*type)));
}

void InputItems::Finish() {
  if (!turn_.empty()) conversation_.AddAssistant(std::exchange(turn_, {}));
}

std::optional<ApiError> InputItems::AddMessage(const std::string& where, const json::object& item) {
  const json::value* role = item.if_contains("role");
  const bool is_known = role != nullptr && (*role == "user" || *role == "assistant" ||
                                            *role == "system" || *role == "developer");
  if (!is_known) return WrongMember(where + ".role", role, "user, assistant, system or developer");
  auto text = ReadText(where + ".content", item.if_contains("content"));
  if (auto* error = std::get_if<ApiError>(&text)) return std::move(*error);
  const bool goes_on = *role == "assistant" && !turn_.text && turn_.calls.empty();
  if (!goes_on) Finish();
  if (*role == "assistant")
    turn_.text = std::get<std::string>(std::move(text));
  else
    conversation_.AddText(role->get_string(), std::get<std::string>(std::move(text)));
  return std::nullopt;
}

std::optional<ApiError> InputItems::AddCall(const std::string& where, const json::object& item) {
  std::optional<ApiError> error;
  const json::string* id = ShortString(item, "call_id", where, error);
  if (id == nullptr) return error;
  const json::value* name = item.if_contains("name");
  if (name == nullptr || !name->is_string() || !IsToolName(name->get_string()))
    return WrongMember(where + ".name", name, "the name of a tool");
  const json::value* given = item.if_contains("arguments");
  if (given == nullptr || !given->is_string())
    return WrongMember(where + ".arguments", given, "a string");
  if (turn_.calls.size() == kMaxCallsOfMessage)
    return BadRequest(where, fmt::format("{} is one call more than the {} that may follow one "
                                         "another",
                                         where, kMaxCallsOfMessage));
  auto arguments = arguments_.Read(given->get_string());
  if (auto* wrong = std::get_if<ApiError>(&arguments)) {
    wrong->param = where + ".arguments";
    return std::move(*wrong);
  }
  turn_.calls.push_back(
      MakeCall(*id, name->get_string(), std::get<json::value>(std::move(arguments))));
  return std::nullopt;
}

std::optional<ApiError> InputItems::AddOutput(const std::string& where, const json::object& item) {
  std::optional<ApiError> error;
  const json::string* id = ShortString(item, "call_id", where, error);
  if (id == nullptr) return error;
  auto text = ReadText(where + ".output", item.if_contains("output"));
  if (auto* wrong = std::get_if<ApiError>(&text)) return std::move(*wrong);
  Finish();
  conversation_.AddResult(*id, std::get<std::string>(std::move(text)));
  return std::nullopt;
}

std::optional<ApiError> InputItems::AddReasoning(const std::string& where,
                                                 const json::object& item) {
  const json::value* content = item.if_contains("content");
  // A summary is not what was thought. One that says nothing else says nothing to a template.
  if (IsEmpty(content) && !IsEmpty(item.if_contains("encrypted_content")))
    return Unsupported(where + ".encrypted_content",
                       where +
                           ".encrypted_content: this server cannot read what another one has "
                           "encrypted; expected content");
  OrError<std::string> text = std::string();
  if (!IsEmpty(content)) text = ReadText(where + ".content", content);
  if (auto* error = std::get_if<ApiError>(&text)) return std::move(*error);
  if (turn_.text || !turn_.calls.empty()) Finish();
  turn_.reasoning += std::get<std::string>(text);
  return std::nullopt;
}

}  // namespace skald::server
