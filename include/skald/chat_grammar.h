/// ChatGrammar: what the answer of a chat may be, as a grammar over text and control tokens.
///
///     CompileBudget budget;
///     const Result<Grammar> grammar = MakeChatGrammar(format, {.tools = tools}, &budget);
///
/// A model that may call is free to write what it wants until a call begins; from the opening
/// marker on it writes one of the tools' names, and arguments that the tool's grammar takes, to the
/// closing marker. A model that must call writes nothing else, but for its reasoning before it.
/// What is read out of such an answer (skald/chat_answer.h) is text and whole calls.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "skald/chat_answer.h"
#include "skald/grammar.h"
#include "skald/status.h"
#include "skald/version.h"

namespace skald {

/// What the arguments of `tool` may be that `schema` describes, as `format` writes them: for
/// CallableTool. What a reader makes of them (skald/chat_answer.h, given the same `tool`) is JSON
/// that the schema takes. `tool.parameters` tells which arguments are texts without quotes. Counts
/// down `budget`. Errors: as Grammar::FromJsonSchema; kUnsupported for `enum` and `const` of all
/// arguments together where these are not JSON.
Result<Grammar> MakeCallArguments(const ChatAnswerFormat& format, const ChatTool& tool,
                                  std::string_view schema, SchemaMode mode, CompileBudget* budget);

/// A tool, with what its arguments may be (MakeCallArguments).
struct CallableTool {
  std::string name;
  Grammar arguments;
};

struct ChatGrammarOptions {
  std::vector<CallableTool> tools = {};
  bool must_call = false;  ///< at least one call, and no text
  bool one_call = false;   ///< the answer ends behind the first call
  /// What a text must be in which nothing is called. None: any text, before calls and behind them.
  std::optional<Grammar> text = {};
  /// The prompt ended inside the reasoning (ChatAnswerFormat::OpensReasoning).
  bool in_reasoning = false;
  /// As ChatAnswerOptions has it. If not set a call may stand inside of the reasoning, too, so that
  /// none may begin there.
  bool split_reasoning = true;
};

/// The grammar of answers in `format`. Reasoning, if the format has any, is free text that stands
/// before the answer, and is closed. Compiling it counts down `budget`. Errors: kUnsupported for
/// tools if the format has no calls (ChatAnswerFormat::has_calls); kInvalidArgument as
/// Grammar::FromGbnf.
Result<Grammar> MakeChatGrammar(const ChatAnswerFormat& format, const ChatGrammarOptions& options,
                                CompileBudget* budget);

}  // namespace skald
