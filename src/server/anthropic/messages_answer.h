/// MessagesAnswer: a generation as Anthropic's Messages API tells it.
///
/// A message is blocks of text, thinking and tool_use, in the order in which the model wrote them.
/// In a stream each block is opened, filled and closed before the next one.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/answer_writer.h"

namespace skald::server {

/// See above.
class MessagesAnswer final : public AnswerWriter {
 public:
  explicit MessagesAnswer(AnswerFrame frame) : frame_(std::move(frame)) {}

  std::vector<std::string> WholeInPieces(const std::vector<Choice>& choices,
                                         const Usage& usage) const override;

  /// Events by name; one without meaning is "ping".
  StreamForm stream_form() const override;
  std::string Begin(const Usage& usage) override;
  std::string Chunk(int64_t index, const Choice& choice, Position position) override;
  std::string End(int64_t index, const Choice& choice) override;
  std::string Finish(const Usage& usage) override;
  std::string Error(const ApiError& error) override;

 private:
  enum class Open : uint8_t { kNothing, kText, kThinking, kToolUse };
  static Open OpenFor(ChatPiece::Kind kind);
  std::string Add(const ChatPiece& piece);
  std::string Start(Open kind, const ChatPiece& piece);
  std::string Delta(std::string_view type, std::string_view member, std::string_view text) const;
  std::string Stop();

  AnswerFrame frame_;
  Open open_ = Open::kNothing;
  int64_t block_ = -1;  // index of the last one
  Choice ended_;        // without its text
};

}  // namespace skald::server
