/// OllamaAnswer: a generation as Ollama's /api/chat and /api/generate tell it.
///
/// A stream is a JSON object a line; the last one has done, the reason and the counts. A call is
/// told when it is complete, for its arguments are an object.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json_writer.h"
#include "server/answer_writer.h"

namespace skald::server {

/// "2023-11-14T22:13:20Z": seconds since 1970 as Ollama tells times.
std::string IsoTime(int64_t unix_seconds);

/// See above.
class OllamaAnswer final : public AnswerWriter {
 public:
  OllamaAnswer(AnswerStyle style, AnswerFrame frame);

  std::vector<std::string> WholeInPieces(const std::vector<Choice>& choices,
                                         const Usage& usage) const override;

  /// A blank may stand before any line, and means nothing.
  StreamForm stream_form() const override;
  std::string Begin(const Usage&) override { return {}; }
  std::string Chunk(int64_t index, const Choice& choice, Position position) override;
  std::string End(int64_t index, const Choice& choice) override;
  std::string Finish(const Usage& usage) override;
  std::string Error(const ApiError& error) override;

 private:
  /// What a line tells.
  struct Said {
    std::string text = {};
    std::string thinking = {};
    std::vector<ChatPiece> calls = {};  ///< a kCall and its kArguments, one after the other
  };
  static Said SaidBy(const std::vector<ChatPiece>& pieces);
  void WriteHead(JsonWriter& json) const;
  void WriteSaid(const Said& said, JsonWriter& json) const;
  std::string Line(const Said& said) const;
  std::string TakeCall();

  AnswerStyle style_;
  AnswerFrame frame_;
  std::vector<ChatPiece> call_;  // that has begun: it, and its arguments as one piece
  std::string done_reason_;      // of the choice, once it has ended
};

}  // namespace skald::server
