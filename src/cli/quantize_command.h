/// `skald quantize`: a model file written anew with its weights in fewer bits.
#pragma once

#include <optional>
#include <string>

#include "cli/action.h"
#include "cli/cli11_forward.h"
#include "cli/options.h"
#include "skald/status.h"

namespace skald::cli {

/// What `skald quantize` was asked to do.
struct QuantizeCommandOptions {
  std::optional<std::string> source;  ///< a path or a name
  std::optional<std::string> target;
  std::optional<std::string> type;
  bool allow_requantize = false;
  int threads = 0;
  ConsoleOptions console;
};

/// Adds the verb; parsing it sets `chosen`.
void AddQuantizeCommand(CLI::App& root, Action& chosen);

/// Reads, quantizes, writes. Errors: those of lookup, QuantizeModel and OutputFile;
/// kInvalidArgument if the file would replace its source or go to a terminal; kCancelled after
/// Ctrl-C. After an error the target is as it was before.
Status QuantizeToFile(const QuantizeCommandOptions& options, const Environment& environment,
                      Console& console);

}  // namespace skald::cli
