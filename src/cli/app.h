/// The command line as a whole: the tree of verbs, and what a given line asks for.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/action.h"
#include "cli/cli11_forward.h"
#include "cli/exit_code.h"
#include "cli/options.h"
#include "skald/status.h"

namespace skald::cli {

/// The tree of verbs and flags. Parsing a verb sets `chosen`.
std::unique_ptr<CLI::App> MakeApp(Action& chosen);

/// What `arguments` (without the program's name) ask for: an action that runs a verb, or prints
/// help or the version. The tree `app` must outlive it. Errors: kInvalidArgument, one line with
/// what is wrong and where help is.
Result<Action> ParseCommandLine(CLI::App& app, Action& chosen, std::vector<std::string> arguments);

/// The lines of `skald --version`.
std::string VersionText();

/// The whole program: parses, runs, reports an error on stderr, and says how it went.
ExitCode Main(const std::vector<std::string>& arguments);

}  // namespace skald::cli
