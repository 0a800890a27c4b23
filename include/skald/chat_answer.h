/// ChatAnswerReader: what a model wrote, taken apart while it comes: text, reasoning, calls of
/// tools.
///
///     const ChatAnswerFormat format = ChatAnswerFormat::Of(chat, model.tokenizer());
///     ChatAnswerReader reader(format, {.tools = tools});
///     std::vector<ChatPiece> pieces = reader.Push(text);
///     const std::vector<ChatPiece> rest = reader.Finish(AnswerEnd::kStop);
///
/// The text is that of a StreamDecoder with DecodeOptions::marks = format.marks().
///
/// Models call tools in some twenty syntaxes. Which one is read off the markers in the chat
/// template. The reader is a state machine over bytes: what it gives, joined, does not depend on
/// how the text was cut. Nothing is taken back. Nothing is lost: what begins as a call and is none
/// (another name than a tool's, a body that does not fit) is text. Where the vocabulary has a
/// marker as a control token, only that token is the marker; the same letters are text.
///
/// Time is linear in the text, with a constant of the markers' lengths and the number of tools.
/// Memory is that of what is held back: a possible marker, white space before one, the head of a
/// call, one argument that is not a string.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "skald/chat_template.h"
#include "skald/tokenizer.h"
#include "skald/version.h"

namespace skald {

/// A tool that a model may call.
struct ChatTool {
  /// How values of an argument are written in syntaxes that do not quote strings.
  enum class Kind : uint8_t {
    kAny,           ///< nothing is declared: JSON if it is JSON, else a string
    kString,        ///< a string as it stands: "02134", "true"
    kStringOrNull,  ///< the same, but for null
    kValue,         ///< JSON (True and None are read, too)
  };
  struct Parameter {
    std::string name;
    Kind kind = Kind::kAny;
  };
  std::string name;
  std::vector<Parameter> parameters = {};  ///< those that are declared
};

/// A piece of an answer. Pieces of a kind that follow one another belong together; calls come one
/// after the other.
struct ChatPiece {
  enum class Kind : uint8_t {
    kText,
    kReasoning,
    kCall,       ///< a call begins: call_index, id, and `text` is the name of the tool
    kArguments,  ///< more of the arguments of call call_index, as JSON
  };
  Kind kind = Kind::kText;
  std::string text;
  int32_t call_index = 0;
  std::string id = {};
};

/// What a template does with the arguments of calls in the history.
enum class ToolArguments : uint8_t {
  kObject,  ///< writes them as JSON: it wants the object
  kText,    ///< prints them: it wants JSON text
};

/// Found by rendering a conversation with one call. Templates that write no calls: kObject.
/// Cost: two renderings of three messages.
ToolArguments ToolArgumentsOf(const ChatTemplate& chat);

/// How a text ended.
enum class AnswerEnd : uint8_t {
  kStop,    ///< the model ended it
  kLength,  ///< it was cut: a call that had only begun is no text, and is left out
};

/// The syntax that a chat template teaches its model. Immutable, cheap to copy, thread-safe.
class ChatAnswerFormat {
 public:
  /// Reads no calls, no reasoning.
  ChatAnswerFormat();
  /// Of the markers in the source of `chat`. Cost: a few searches of it.
  static ChatAnswerFormat Of(const ChatTemplate& chat, const Tokenizer& tokenizer);

  /// "hermes", "mistral", ...; empty if none is known.
  std::string_view name() const;
  bool has_calls() const;
  bool has_reasoning() const;
  /// Whether a prompt that the template ended with `tail` leaves the model inside its reasoning.
  bool OpensReasoning(std::string_view tail) const;
  /// What a decoder shows of the control tokens that are markers (DecodeOptions::marks).
  const std::vector<TokenMark>& marks() const;

  /// What stands behind it. Defined by the chat room.
  struct State;
  const State& state() const { return *state_; }

 private:
  friend class ChatAnswerReader;
  explicit ChatAnswerFormat(std::shared_ptr<const State> state);
  std::shared_ptr<const State> state_;
};

/// What one answer may hold, and what it is numbered by.
struct ChatAnswerOptions {
  /// None: no calls are read.
  std::shared_ptr<const std::vector<ChatTool>> tools = {};
  /// Reasoning becomes pieces of its own. If not set it is text, markers included.
  bool split_reasoning = true;
  /// The prompt ended inside the reasoning (ChatAnswerFormat::OpensReasoning).
  bool in_reasoning = false;
  /// What comes behind the first call is left out.
  bool one_call = false;
  /// Ids of calls that the model does not name are drawn from this number and their index.
  uint64_t id_seed = 0;
};

/// See above. Move-only; not thread-safe.
class ChatAnswerReader {
 public:
  ChatAnswerReader(const ChatAnswerFormat& format, ChatAnswerOptions options);
  ~ChatAnswerReader();
  ChatAnswerReader(ChatAnswerReader&& other) noexcept;
  ChatAnswerReader& operator=(ChatAnswerReader&& other) noexcept;

  /// What `text`, as StreamDecoder gives it with marks(), makes certain.
  std::vector<ChatPiece> Push(std::string_view text);
  /// What was held back. Nothing is to be pushed afterwards.
  std::vector<ChatPiece> Finish(AnswerEnd end);
  /// Calls that have begun.
  int32_t call_count() const;

  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace skald
