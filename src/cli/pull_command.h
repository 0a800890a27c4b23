/// `skald pull`: a model from Hugging Face or an address onto this machine.
#pragma once

#include <string>

#include "cli/action.h"
#include "cli/cli11_forward.h"
#include "cli/options.h"
#include "skald/status.h"

namespace skald::cli {

struct PullOptions {
  std::optional<std::string> model;
  int connections = 4;
  int patience_seconds = 30;
  OutputArgs output;
};

/// Adds the verb; parsing it sets `chosen`.
void AddPullCommand(CLI::App& root, Action& chosen);

/// Pulls, and prints the path of the model's file. Errors: kInvalidArgument for a name that is no
/// reference; as PullWithProgress and Console::Write.
Status Pull(const PullOptions& options, const Environment& environment, Console& console);

}  // namespace skald::cli
