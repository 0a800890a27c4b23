#include "server/answer_writer.h"

#include <utility>

#include "server/answer.h"

namespace skald::server {

bool EndedByItself(const Choice& choice) {
  return *choice.reason == FinishReason::kStop && !choice.stop_string;
}

std::unique_ptr<AnswerWriter> MakeAnswerWriter(AnswerStyle style, AnswerFrame frame) {
  switch (style) {
    case AnswerStyle::kOpenAi: break;
  }
  return std::make_unique<Answer>(std::move(frame));
}

}  // namespace skald::server
