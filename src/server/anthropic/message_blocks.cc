#include "server/anthropic/message_blocks.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <utility>
#include <variant>

#include "server/anthropic/messages_request.h"
#include "server/chat_messages.h"
#include "server/chat_tools.h"
#include "server/fields.h"

namespace skald::server {

namespace {

namespace json = boost::json;

constexpr size_t kMaxIdBytes = 256;
constexpr std::string_view kContent = "a string or an array of blocks";

// A member that must be a string, or nullptr; `error` says why.
const json::string* StringIn(const json::object& block, std::string_view name,
                             const std::string& where, std::optional<ApiError>& error) {
  const json::value* found = block.if_contains(name);
  if (found != nullptr && found->is_string()) return &found->get_string();
  error = WrongMember(fmt::format("{}.{}", where, name), found, "a string");
  return nullptr;
}

const json::string* IdIn(const json::object& block, std::string_view name, const std::string& where,
                         std::optional<ApiError>& error) {
  const json::string* id = StringIn(block, name, where, error);
  if (id == nullptr || id->size() <= kMaxIdBytes) return id;
  error = WrongMember(fmt::format("{}.{}", where, name), block.if_contains(name),
                      fmt::format("a string of at most {} bytes", kMaxIdBytes));
  return nullptr;
}

// The type of a block, or nullptr; `error` says why.
const json::value* TypeOf(const json::value& block, const std::string& where,
                          std::optional<ApiError>& error) {
  const json::object* object = block.if_object();
  const json::value* type = object == nullptr ? nullptr : object->if_contains("type");
  if (type != nullptr && type->is_string()) return type;
  error = WrongMember(where, &block, "a block with a type");
  return nullptr;
}

const json::array* BlocksIn(const json::value& content, const std::string& where,
                            std::optional<ApiError>& error) {
  const json::array* blocks = content.if_array();
  if (blocks != nullptr && blocks->size() <= kMaxBlocks) return blocks;
  error = WrongMember(where, &content,
                      fmt::format("a string or an array of at most {} blocks", kMaxBlocks));
  return nullptr;
}

// Of one message of the user: results first, as their calls have just come, then the text.
class UserBlocks {
 public:
  explicit UserBlocks(Conversation& conversation) : conversation_(conversation) {}

  std::optional<ApiError> Read(const std::string& where, const json::value& value) {
    std::optional<ApiError> error;
    const json::value* type = TypeOf(value, where, error);
    if (type == nullptr) return error;
    const json::object& block = value.get_object();
    if (*type == "tool_result") return ReadResult(where, block);
    if (*type != "text") return NotText(where, *type);
    const json::string* text = StringIn(block, "text", where, error);
    if (text == nullptr) return error;
    text_ += *text;
    has_text_ = true;
    return std::nullopt;
  }

  void Finish() {
    if (has_text_) conversation_.AddText("user", std::move(text_));
  }

 private:
  std::optional<ApiError> ReadResult(const std::string& where, const json::object& block) {
    std::optional<ApiError> error;
    const json::string* id = IdIn(block, "tool_use_id", where, error);
    if (id == nullptr) return error;
    const json::value* is_error = block.if_contains("is_error");
    if (is_error != nullptr && !is_error->is_bool() && !is_error->is_null())
      return WrongMember(where + ".is_error", is_error, "true or false");
    // Templates have no place for it: the model is told what the result's text says.
    if (is_error != nullptr && *is_error == true) conversation_.NoteUntold("tool_result.is_error");
    const json::value* content = block.if_contains("content");
    OrError<std::string> text = std::string();
    if (content != nullptr && !content->is_null())
      text = ReadBlocksOfText(where + ".content", *content);
    if (const auto* wrong = std::get_if<ApiError>(&text)) return *wrong;
    conversation_.AddResult(*id, std::get<std::string>(std::move(text)));
    return std::nullopt;
  }

  Conversation& conversation_;
  std::string text_;
  bool has_text_ = false;
};

std::optional<ApiError> ReadAssistantBlock(const std::string& where, const json::value& value,
                                           AssistantTurn& turn) {
  std::optional<ApiError> error;
  const json::value* type = TypeOf(value, where, error);
  if (type == nullptr) return error;
  const json::object& block = value.get_object();
  if (*type == "text") {
    if (const json::string* text = StringIn(block, "text", where, error))
      turn.text = turn.text.value_or("") + std::string(*text);
    return error;
  }
  if (*type == "thinking") {
    if (const json::string* text = StringIn(block, "thinking", where, error))
      turn.reasoning += *text;
    return error;
  }
  if (*type != "tool_use") return NotText(where, *type);
  const json::string* id = IdIn(block, "id", where, error);
  const json::string* name = id == nullptr ? nullptr : StringIn(block, "name", where, error);
  if (name == nullptr) return error;
  if (!IsToolName(*name))
    return WrongMember(where + ".name", block.if_contains("name"), "the name of a tool");
  const json::value* input = block.if_contains("input");
  if (input == nullptr || !input->is_object())
    return WrongMember(where + ".input", input, "an object");
  if (turn.calls.size() == kMaxCallsOfMessage)
    return BadRequest(where, fmt::format("{} is one call more than the {} that a message may have",
                                         where, kMaxCallsOfMessage));
  turn.calls.push_back(MakeCall(*id, *name, *input));
  return std::nullopt;
}

std::optional<ApiError> ReadAssistant(const std::string& where, const json::value& content,
                                      Conversation& conversation) {
  AssistantTurn turn;
  std::optional<ApiError> error;
  if (content.is_string()) {
    turn.text = std::string(content.get_string());
  } else {
    const json::array* blocks = BlocksIn(content, where, error);
    for (size_t i = 0; blocks != nullptr && i < blocks->size() && !error; ++i)
      error = ReadAssistantBlock(fmt::format("{}[{}]", where, i), (*blocks)[i], turn);
  }
  if (!error) conversation.AddAssistant(std::move(turn));
  return error;
}

std::optional<ApiError> ReadUser(const std::string& where, const json::value& content,
                                 Conversation& conversation) {
  std::optional<ApiError> error;
  if (content.is_string()) {
    conversation.AddText("user", std::string(content.get_string()));
    return error;
  }
  UserBlocks reader(conversation);
  const json::array* blocks = BlocksIn(content, where, error);
  for (size_t i = 0; blocks != nullptr && i < blocks->size() && !error; ++i)
    error = reader.Read(fmt::format("{}[{}]", where, i), (*blocks)[i]);
  if (!error) reader.Finish();
  return error;
}

}  // namespace

OrError<std::string> ReadBlocksOfText(const std::string& where, const json::value& value) {
  if (value.is_string()) return std::string(value.get_string());
  std::optional<ApiError> error;
  const json::array* blocks = BlocksIn(value, where, error);
  std::string all;
  for (size_t i = 0; blocks != nullptr && i < blocks->size() && !error; ++i) {
    const std::string name = fmt::format("{}[{}]", where, i);
    const json::value* type = TypeOf((*blocks)[i], name, error);
    if (type == nullptr) break;
    if (*type != "text") return NotText(name, *type);
    if (const json::string* text = StringIn((*blocks)[i].get_object(), "text", name, error))
      all += *text;
  }
  if (error) return *std::move(error);
  return all;
}

std::optional<ApiError> ReadBlockMessage(const std::string& where, const json::value& value,
                                         Conversation& conversation) {
  const json::object* object = value.if_object();
  if (object == nullptr) return WrongMember(where, &value, "an object");
  const json::value* role = object->if_contains("role");
  const json::value* content = object->if_contains("content");
  if (role == nullptr || (*role != "user" && *role != "assistant" && *role != "system"))
    return WrongMember(where + ".role", role, "user, assistant or system");
  if (content == nullptr || (!content->is_string() && !content->is_array()))
    return WrongMember(where + ".content", content, kContent);
  const std::string inner = where + ".content";
  if (*role == "assistant") return ReadAssistant(inner, *content, conversation);
  if (*role == "user") return ReadUser(inner, *content, conversation);
  auto text = ReadBlocksOfText(inner, *content);
  if (auto* error = std::get_if<ApiError>(&text)) return std::move(*error);
  conversation.AddText("system", std::get<std::string>(std::move(text)));
  return std::nullopt;
}

}  // namespace skald::server
