/// AnswerSource: all that an answer is held to: its text, its calls, and where they may stand.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/grammar_source.h"
#include "skald/chat_answer.h"

namespace skald::server {

/// A tool that may be called.
struct ToolSource {
  std::string name;
  std::string schema;  ///< of its arguments, as it was written; empty: it declares none
  /// What it declares, as ChatTool has it: follows from the schema.
  std::vector<ChatTool::Parameter> parameters = {};
  std::string pointer;  ///< where that stands in the body
  /// Whether a schema that cannot be kept exactly is an error. Else what can be kept is.
  bool is_strict = false;
};

/// See above. What is compiled of it (grammar_cache.h) depends on nothing else.
struct AnswerSource {
  std::optional<GrammarSource> text = {};  ///< none: any text
  /// Of a chat that can reason or call: where reasoning and calls stand.
  std::optional<ChatAnswerFormat> format = {};
  std::vector<ToolSource> tools = {};
  bool must_call = false;
  bool is_limited = false;  ///< to these of the tools
  bool one_call = false;
  bool in_reasoning = false;
  bool split_reasoning = true;

  /// Whether any text is better than no answer: nobody asked for more than calls that may come.
  bool is_lenient() const;
};

/// SHA-256 of all of it, the format apart: a server has one.
using GrammarKey = std::array<uint8_t, 32>;
GrammarKey KeyOf(const AnswerSource& source);

/// How much there is to compile.
int64_t BytesOf(const AnswerSource& source);

}  // namespace skald::server
