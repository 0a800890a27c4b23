/// ResponseAnswer: a generation as OpenAI's Responses API tells it.
///
/// The output is items in the order in which the model wrote them: reasoning, messages, calls. A
/// stream tells each item as it comes and the whole answer at its end, so that it keeps what has
/// come (KeepsText). Events are numbered.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json_writer.h"
#include "server/answer_writer.h"

namespace skald::server {

/// See above.
class ResponseAnswer final : public AnswerWriter {
 public:
  explicit ResponseAnswer(AnswerFrame frame) : frame_(std::move(frame)) {}

  std::vector<std::string> WholeInPieces(const std::vector<Choice>& choices,
                                         const Usage& usage) const override;

  StreamForm stream_form() const override { return {}; }
  bool KeepsText() const override { return true; }
  std::string Begin(const Usage& usage) override;
  std::string Chunk(int64_t index, const Choice& choice, Position position) override;
  std::string End(int64_t index, const Choice& choice) override;
  std::string Finish(const Usage& usage) override;
  std::string Error(const ApiError& error) override;

  /// One of the output. Public for the functions that write it.
  struct Item {
    ChatPiece::Kind kind = ChatPiece::Kind::kText;  ///< kText, kReasoning or kCall
    std::string id;
    std::string text = {};  ///< or the arguments
    std::string name = {};
    std::string call_id = {};
  };

 private:
  /// How far an answer is.
  enum class Status : uint8_t { kInProgress, kCompleted, kIncomplete };
  static Status StatusOf(const Choice& choice);
  static std::string_view Name(Status status);
  Item NewItem(const ChatPiece& piece, size_t index) const;
  std::vector<Item> ItemsOf(const Choice& choice) const;
  void WriteResponse(Status status, const std::vector<Item>& items, const Usage& usage,
                     JsonWriter& json) const;
  std::string Open(const ChatPiece& piece);
  std::string Delta(const std::string& text);
  std::string Close(Status status);
  JsonWriter BeginEvent(std::string_view type);
  JsonWriter BeginItemEvent(std::string_view type);
  std::string ResponseEvent(std::string_view type, Status status, const Usage& usage);

  AnswerFrame frame_;
  // Of a stream.
  std::vector<Item> items_;
  bool is_open_ = false;  // the last of them
  int64_t next_number_ = 0;
  Status status_ = Status::kInProgress;
};

}  // namespace skald::server
