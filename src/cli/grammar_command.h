/// `skald grammar check`: whether a grammar takes a text, and what may follow.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cli/action.h"
#include "cli/cli11_forward.h"
#include "cli/options.h"
#include "skald/grammar.h"
#include "skald/status.h"

namespace skald::cli {

/// What `skald grammar` was asked to do.
struct GrammarCommandOptions {
  std::optional<std::string> json_schema;  ///< a file, as the next two
  std::optional<std::string> gbnf;
  std::optional<std::string> regex;
  SchemaOptions schema;
  std::optional<std::string> text;       ///< the text to check
  std::optional<std::string> text_file;  ///< or the file that holds it
  bool lines = false;                    ///< each line of the file is a text
  ConsoleOptions console;
};

/// Adds the verb; parsing it sets `chosen`.
void AddGrammarCommand(CLI::App& root, Action& chosen);

/// Compiles the grammar, then prints a line for each text. Without a text it only compiles. Errors:
/// those of reading and compiling; kInvalidArgument if a text is not accepted, or if there is no
/// grammar or more than one.
Status CheckGrammar(const GrammarCommandOptions& options, const Environment& environment,
                    Console& console);

/// "incomplete after 3 bytes; next: 0-9 or \"": what CheckGrammar prints of a text.
std::string VerdictLine(const GrammarCheck& check, std::string_view text);

}  // namespace skald::cli
