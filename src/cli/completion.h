/// Shell completion scripts, made from the command's own tree of verbs and flags.
///
/// The script is a picture of the CLI11 application at the time it is made: a new flag is completed
/// as soon as it exists. What a flag's value completes to follows from its type's name: words
/// separated by '|' are the choices, FILE and MODEL are file names, all else is nothing.
#pragma once

#include <cstdint>
#include <string>

#include "cli/action.h"
#include "cli/cli11_forward.h"
#include "cli/options.h"

namespace skald::cli {

enum class Shell : uint8_t {
  kBash,
  kZsh,
  kFish,
  kManual,  ///< no shell: the manual page, made from the same tree (man_page.h)
};

/// The script that completes `root` in `shell`.
std::string CompletionScript(const CLI::App& root, Shell shell);

/// Adds `skald completion SHELL`; parsing it sets `chosen`. `root` must outlive the action.
void AddCompletionCommand(CLI::App& root, Action& chosen);

}  // namespace skald::cli
