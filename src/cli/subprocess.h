/// Running another program and collecting what it says.
#pragma once

#include <string>

#include "skald/status.h"

namespace skald::cli {

/// How a program ended.
struct ProgramOutput {
  std::string output;  ///< its stdout, at most kProgramOutputMax bytes
  std::string errors;  ///< the last kProgramErrorsKept bytes of its stderr
  int exit_code = 0;   ///< as a shell reports it: 128 + signal if one killed it
};

inline constexpr size_t kProgramOutputMax = size_t{16} << 20;
inline constexpr size_t kProgramErrorsKept = 2000;

/// Runs `command` in a shell with an empty stdin and waits for its end. Ctrl-C on a terminal
/// reaches it, too. Errors: kIo if it cannot be started or says more than kProgramOutputMax.
Result<ProgramOutput> RunInShell(const std::string& command);

/// `text` as one word of a shell command.
std::string ShellQuoted(const std::string& text);

}  // namespace skald::cli
