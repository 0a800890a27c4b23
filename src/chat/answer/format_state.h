/// What stands behind a ChatAnswerFormat, for who reads answers and who makes grammars of them.
#pragma once

#include <vector>

#include "chat/answer/answer_sections.h"
#include "skald/chat_answer.h"
#include "skald/tokenizer.h"

namespace skald {

struct ChatAnswerFormat::State {
  chat::SpelledForm form;
  std::vector<TokenMark> marks;
};

}  // namespace skald
