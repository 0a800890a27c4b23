/// `skald rank`: a rank of a model whose first rank runs on another machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/action.h"
#include "cli/cli11_forward.h"
#include "cli/options.h"
#include "skald/status.h"

namespace skald::cli {

/// What `skald rank` was asked to do.
struct RankOptions {
  std::string address;  ///< of the first rank
  std::optional<std::string> key_file;
  int64_t wait_seconds = 60;
  int64_t port = 0;  ///< RemoteOptions
  ModelArgs model;   ///< where it is another file here than there
  int threads = 0;
  bool sandbox = true;
  ConsoleOptions console;
};

/// Adds the verb; parsing it sets `chosen`.
void AddRankCommand(CLI::App& root, Action& chosen);

/// Computes until the first rank ends. Errors: as RankWorker::JoinAt and Run.
Status Rank(const RankOptions& options, const Environment& environment, Console& console);

}  // namespace skald::cli
