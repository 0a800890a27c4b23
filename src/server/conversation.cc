#include "server/conversation.h"

#include <fmt/format.h>

#include <utility>

#include "server/chat_messages.h"
#include "server/json_reader.h"

namespace skald::server {

namespace json = boost::json;

json::object MakeCall(std::string_view id, std::string_view name, json::value arguments) {
  return {{"id", id},
          {"type", "function"},
          {"function", json::object{{"name", name}, {"arguments", std::move(arguments)}}}};
}

OrError<json::value> ArgumentReader::Read(std::string_view text) {
  bytes_ += text.size();
  if (bytes_ > kMaxArgumentBytes)
    return BadRequest(
        {}, fmt::format("the arguments of all calls have more than {} bytes", kMaxArgumentBytes));
  if (text.empty()) return json::value(json::object());
  auto parsed = ReadJson(text);
  auto* value = std::get_if<json::value>(&parsed);
  if (value != nullptr && value->is_object()) return std::move(*value);
  return json::value(text);
}

void Conversation::AddText(std::string_view role, std::string text) {
  messages_.push_back(json::object{{"role", role}, {"content", std::move(text)}});
}

void Conversation::AddAssistant(AssistantTurn turn) {
  json::object message{{"role", "assistant"}};
  // What has only called has said nothing; some templates ask whether it is none.
  if (turn.text || turn.calls.empty())
    message["content"] = turn.text.value_or("");
  else
    message["content"] = nullptr;
  if (!turn.reasoning.empty()) SetReasoning(turn.reasoning, turn.calls.size(), message);
  for (const json::value& call : turn.calls) {
    tool_of_call_[std::string(call.at("id").as_string())] =
        std::string(call.at("function").at("name").as_string());
  }
  if (!turn.calls.empty()) message["tool_calls"] = std::move(turn.calls);
  messages_.push_back(std::move(message));
}

void Conversation::AddResult(std::string_view id, std::string text) {
  json::object message{{"role", "tool"}, {"content", std::move(text)}, {"tool_call_id", id}};
  const auto found = tool_of_call_.find(id);
  if (found != tool_of_call_.end()) message["name"] = found->second;
  messages_.push_back(std::move(message));
}

OrError<json::array> Conversation::Take(std::string_view field) {
  if (!messages_.empty() && messages_.size() <= kMaxMessages) return std::move(messages_);
  return BadRequest(std::string(field), fmt::format("{} tells {} messages, expected 1 to {}", field,
                                                    messages_.size(), kMaxMessages));
}

}  // namespace skald::server
