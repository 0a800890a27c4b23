/// Calls as a model is taught to write them (AnswerForm::written), as expressions of a grammar.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "chat/answer/forms.h"
#include "chat/answer/symbols.h"
#include "grammar/expression.h"
#include "skald/chat_answer.h"

namespace skald::chat {

/// `text` as the model writes it: markers that are control tokens as these.
grammar::Expression Spelled(const ChatAnswerFormat::State& format, std::string_view text);

/// Whether a control token is among the symbols of `text`.
bool HasMark(const ChatAnswerFormat::State& format, std::string_view text);

/// What stands for "$n" and "$a" in a pattern: the name of a tool, and the rule of its arguments.
struct WrittenTool {
  std::string_view name;
  uint32_t arguments = 0;
};

/// `pattern` (WrittenCalls) with `tool` in it. `blanks`: the rule of white space.
grammar::Expression CallOf(const ChatAnswerFormat::State& format, std::string_view pattern,
                           const WrittenTool& tool, uint32_t blanks);

/// White space between tokens of JSON: nothing, a space, or a newline and at most 32 spaces or 8
/// tabs.
grammar::Expression Blanks();

}  // namespace skald::chat
