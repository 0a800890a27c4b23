/// Conversation: the messages of a chat as templates read them, put together by the readers of APIs
/// that tell a conversation in another way than OpenAI's chats (chat_messages.h).
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "server/api_error.h"

namespace skald::server {

/// What the model said in one turn.
struct AssistantTurn {
  std::optional<std::string> text = {};  ///< not set: it said nothing, as far as there are calls
  std::string reasoning = {};
  boost::json::array calls = {};  ///< MakeCall

  bool empty() const { return !text && reasoning.empty() && calls.empty(); }
};

/// A call as templates read it. `arguments`: an object, or the text that the model wrote instead.
boost::json::object MakeCall(std::string_view id, std::string_view name,
                             boost::json::value arguments);

/// The arguments of calls that are given as text, read within a budget: that is reading JSON once
/// more.
class ArgumentReader {
 public:
  /// An object; what is none stays text, for a model wrote it and the client can do nothing about
  /// it any more. Errors: 400 beyond kMaxArgumentBytes (chat_messages.h) of all texts together.
  OrError<boost::json::value> Read(std::string_view text);

 private:
  size_t bytes_ = 0;
};

/// See above.
class Conversation {
 public:
  /// Of system, developer or user.
  void AddText(std::string_view role, std::string text);
  void AddAssistant(AssistantTurn turn);
  /// What a tool gave. Its name is that of the call with this id, if there was one.
  void AddResult(std::string_view id, std::string text);

  /// Notes the name of something that no template can tell; twice the same counts once.
  void NoteUntold(std::string_view name) { untold_.emplace(name); }
  /// What was noted.
  const std::set<std::string>& untold() const { return untold_; }

  /// How many messages there are so far.
  size_t size() const { return messages_.size(); }

  /// The messages, or 400 for more than kMaxMessages or none. `field`: where they stand.
  OrError<boost::json::array> Take(std::string_view field);

 private:
  boost::json::array messages_;
  std::map<std::string, std::string, std::less<>> tool_of_call_;
  std::set<std::string> untold_;
};

}  // namespace skald::server
