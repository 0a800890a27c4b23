/// `skald rm`: models that were pulled, off this machine.
#pragma once

#include <string>
#include <vector>

#include "cli/action.h"
#include "cli/cli11_forward.h"
#include "cli/options.h"
#include "skald/hub.h"
#include "skald/status.h"

namespace skald::cli {

struct RmOptions {
  std::vector<std::string> models;
  RemoveMode mode = RemoveMode::kRemove;
  OutputArgs output;
};

/// Adds the verb; parsing it sets `chosen`.
void AddRmCommand(CLI::App& root, Action& chosen);

/// Removes models of Hugging Face's cache and of the user's own folder, and prints how much room
/// that makes. All names are looked up before the first is removed. Errors: kNotFound; kUnsupported
/// for a model that another program keeps; as Hub::Remove and Console::Write.
Status Rm(const RmOptions& options, const Environment& environment, Console& console);

}  // namespace skald::cli
