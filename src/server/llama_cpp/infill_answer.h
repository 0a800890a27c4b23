/// InfillAnswer: a generation as llama.cpp's /infill tells it.
///
/// One object; a stream is events with a piece of `content` each, and a last one with the counts.
/// `response_fields` of the request choose members, those of `timings` by "timings/prompt_n".
#pragma once

#include <string>
#include <vector>

#include "server/answer_writer.h"

namespace skald::server {

class InfillAnswer final : public AnswerWriter {
 public:
  explicit InfillAnswer(AnswerFrame frame) : frame_(std::move(frame)) {}

  std::vector<std::string> WholeInPieces(const std::vector<Choice>& choices,
                                         const Usage& usage) const override;

  StreamForm stream_form() const override { return {}; }
  std::string Begin(const Usage&) override { return {}; }
  std::string Chunk(int64_t index, const Choice& choice, Position position) override;
  std::string End(int64_t index, const Choice& choice) override;
  std::string Finish(const Usage& usage) override;
  std::string Error(const ApiError& error) override;

 private:
  std::string Object(const Choice& choice, const Usage& usage) const;

  AnswerFrame frame_;
  Choice ended_;  // of a stream: the choice once it has ended, without its text
};

}  // namespace skald::server
