/// `skald du`: what was pulled takes so much of the disk.
#pragma once

#include "cli/action.h"
#include "cli/cli11_forward.h"
#include "cli/options.h"
#include "skald/status.h"

namespace skald::cli {

/// Adds the verb; parsing it sets `chosen`.
void AddDuCommand(CLI::App& root, Action& chosen);

/// Prints what lies in Hugging Face's cache and in the user's own folder of models, the largest
/// first, and what is free there. Errors: those of Console::Write.
Status Du(const OutputArgs& options, const Environment& environment, Console& console);

}  // namespace skald::cli
