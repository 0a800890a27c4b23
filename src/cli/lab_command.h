/// `skald lab`: experiments that break the engine on purpose.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/action.h"
#include "cli/cli11_forward.h"
#include "cli/options.h"
#include "skald/status.h"

namespace skald::cli {

/// What `skald lab` was asked to do.
struct LabOptions {
  std::optional<std::string> experiment = {};  ///< unset: list them
  TextArgs prompt;                             ///< unset: the beginning of a tale
  ModelArgs model;
  int64_t max_tokens = 64;
  std::optional<int64_t> position = {};  ///< unset: the experiment's own
  std::optional<std::string> svg = {};   ///< file; "-": stdout, in place of the rest
  EngineArgs engine;
  OutputArgs output;
};

/// Adds the verb; parsing it sets `chosen`.
void AddLabCommand(CLI::App& root, Action& chosen);

/// An experiment that is not clean without its fault is a Console::Mismatch. Errors: of lookup,
/// LoadModel and RunLab.
Status Lab(const LabOptions& options, const Environment& environment, Console& console);

}  // namespace skald::cli
