/// Harmony's answers as an expression: a row of messages, the last of which is a text or a call.
#pragma once

#include <cstdint>

#include "grammar/expression.h"
#include "skald/chat_answer.h"
#include "skald/chat_grammar.h"

namespace skald::chat {

/// Numbers of rules.
struct HarmonyRules {
  uint32_t text;    ///< any text without Harmony's markers
  uint32_t call;    ///< of a tool, from its header to the end of its arguments
  uint32_t answer;  ///< what ChatGrammarOptions::text takes
};

/// What an answer may be. `options.tools` may be empty: then there is no call.
grammar::Expression HarmonyBody(const ChatAnswerFormat::State& format,
                                const ChatGrammarOptions& options, const HarmonyRules& rules);

/// The markers of Harmony that are spelled as text: none may stand in one.
grammar::Expression HarmonyMarkers(const ChatAnswerFormat::State& format);

}  // namespace skald::chat
