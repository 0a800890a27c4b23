#include "cli/conversation.h"

#include <fmt/format.h>

#include <boost/json.hpp>

#include "base/json_writer.h"

namespace skald::cli {

std::string ConversationJson(const Conversation& conversation) {
  JsonWriter json;
  const auto add = [&json](std::string_view role, const std::string& text) {
    json.BeginObject().Key("role").String(role).Key("content").String(text).EndObject();
  };
  json.BeginObject().Key("messages").BeginArray();
  if (!conversation.system.empty()) add("system", conversation.system);
  for (const Message& message : conversation.messages)
    add(message.speaker == Speaker::kUser ? "user" : "assistant", message.text);
  json.EndArray();
  json.EndObject();
  return json.Take() + '\n';
}

Result<Conversation> ParseConversation(std::string_view json) {
  const auto refuse = [](std::string message) {
    return Status(ErrorCode::kInvalidArgument, std::move(message));
  };
  boost::json::error_code error;
  const boost::json::value parsed =
      boost::json::parse(boost::json::string_view(json.data(), json.size()), error);
  if (error)
    return refuse(
        fmt::format("expected a saved conversation, found no JSON ({})", error.message()));
  const boost::json::object* object = parsed.if_object();
  const boost::json::value* messages = object ? object->if_contains("messages") : nullptr;
  if (messages == nullptr || !messages->is_array())
    return refuse("expected an object with an array \"messages\"");
  Conversation conversation;
  for (const boost::json::value& entry : messages->get_array()) {
    const boost::json::object* message = entry.if_object();
    const boost::json::value* role = message ? message->if_contains("role") : nullptr;
    const boost::json::value* content = message ? message->if_contains("content") : nullptr;
    if (role == nullptr || content == nullptr || !role->is_string() || !content->is_string())
      return refuse("expected messages with a \"role\" and a \"content\" that are strings");
    const std::string text(content->get_string().c_str(), content->get_string().size());
    if (role->get_string() == "system" && conversation.messages.empty() &&
        conversation.system.empty()) {
      conversation.system = text;
    } else if (role->get_string() == "user" || role->get_string() == "assistant") {
      const bool user = role->get_string() == "user";
      conversation.messages.push_back({user ? Speaker::kUser : Speaker::kAssistant, text});
    } else {
      return refuse(
          fmt::format("message {}: expected the role user or assistant, or system once at "
                      "the beginning, found '{}'",
                      conversation.messages.size(), role->get_string().c_str()));
    }
  }
  return conversation;
}

size_t NextTurn(const std::vector<Message>& messages, size_t first) {
  for (size_t next = first + 1; next < messages.size(); ++next)
    if (messages[next].speaker == Speaker::kUser) return next;
  return first;
}

bool MessageReader::Add(std::string_view line) {
  constexpr std::string_view kQuotes = "\"\"\"";
  if (!pending()) {
    text_.clear();
    if (line.starts_with(kQuotes)) {
      quoted_ = true;
      line.remove_prefix(kQuotes.size());
      if (line.empty()) return false;
    }
  } else if (continued_ || !text_.empty()) {
    text_ += '\n';
  }
  continued_ = false;
  if (quoted_) {
    const size_t end = line.find(kQuotes);
    quoted_ = end == std::string_view::npos;
    text_ += line.substr(0, end);
    return !quoted_;
  }
  continued_ = line.ends_with('\\');
  if (continued_) line.remove_suffix(1);
  text_ += line;
  return !continued_;
}

}  // namespace skald::cli
