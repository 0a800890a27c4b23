/// Conversation: what was said in `skald chat`, and how it is kept in a file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "skald/status.h"

namespace skald::cli {

/// Who said something.
enum class Speaker : uint8_t { kUser, kAssistant };

/// Something that was said.
struct Message {
  Speaker speaker;
  std::string text;
};

/// A system text, and messages in turn.
struct Conversation {
  std::string system;  ///< empty: none
  std::vector<Message> messages;
};

/// As JSON, in the form the OpenAI API uses: {"messages": [{"role": ..., "content": ...}, ...]}.
std::string ConversationJson(const Conversation& conversation);

/// What ConversationJson wrote, or what an API client keeps in that form. Errors: kInvalidArgument
/// for other JSON, a role that is not system, user or assistant, a system text that is not first.
Result<Conversation> ParseConversation(std::string_view json);

/// Where the message that is next to be sent first stands, if the one at `first` is dropped: the
/// next of the user. The last message is never dropped.
size_t NextTurn(const std::vector<Message>& messages, size_t first);

/// Joins lines to messages: three quotes open and close a text of several lines, a backslash at the
/// end continues a line.
class MessageReader {
 public:
  /// Takes a line. True if the message is complete; it is then in text().
  bool Add(std::string_view line);
  /// Whether a message has begun and is not complete.
  bool pending() const { return quoted_ || continued_; }
  const std::string& text() const { return text_; }
  void Reset() { *this = MessageReader(); }

 private:
  std::string text_;
  bool quoted_ = false;
  bool continued_ = false;
};

}  // namespace skald::cli
