/// The manual page skald(1), made from the command's own tree of verbs and flags.
#pragma once

#include <string>

#include "cli/cli11_forward.h"

namespace skald::cli {

/// The page as input of man(7): every verb with its flags and examples.
std::string ManPage(const CLI::App& root);

}  // namespace skald::cli
