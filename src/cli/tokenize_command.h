/// `skald tokenize`: text to token ids and back, as the engine sees them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/action.h"
#include "cli/cli11_forward.h"
#include "cli/options.h"
#include "skald/status.h"

namespace skald::cli {

/// How ids are printed.
enum class IdForm : uint8_t {
  kLines,  ///< one id and its text per line
  kList,   ///< "1,2,3", as --decode and `skald logits --tokens` take it
};

/// What `skald tokenize` was asked to do.
struct TokenizeOptions {
  ModelArgs model;
  TextArgs text;
  std::optional<std::string> decode;  ///< ids to turn into text instead
  IdForm ids = IdForm::kLines;
  OutputArgs output;
};

/// Adds the verb; parsing it sets `chosen`.
void AddTokenizeCommand(CLI::App& root, Action& chosen);

/// Reads the model's tokenizer (no weights), converts, prints. Errors: those of lookup, of
/// LoadTokenizer and Tokenizer::Encode, and of Console::Write; kInvalidArgument for an id the
/// vocabulary lacks.
Status Tokenize(const TokenizeOptions& options, const Environment& environment, Console& console);

}  // namespace skald::cli
