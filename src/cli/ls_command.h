/// `skald ls`: the models that -m finds by name.
#pragma once

#include "cli/action.h"
#include "cli/cli11_forward.h"
#include "cli/options.h"
#include "skald/status.h"

namespace skald::cli {

/// Adds the verb; parsing it sets `chosen`.
void AddLsCommand(CLI::App& root, Action& chosen);

/// Prints the models of the search directories. A file that cannot be read as a model is listed
/// with the reason; it does not hide the others. Errors: those of Console::Write.
Status Ls(const OutputArgs& options, const Environment& environment, Console& console);

}  // namespace skald::cli
