/// RankArgs: among how many processes a model is split, and where those of other machines come to.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/cli11_forward.h"
#include "cli/console.h"
#include "cli/rank_processes.h"
#include "skald/ranks.h"
#include "skald/status.h"

namespace skald::cli {

/// --ranks, --verify-ranks, --rank-listen, --rank-key, --rank-wait
struct RankArgs {
  int count = 1;             ///< of processes
  int64_t verify_steps = 0;  ///< RankSockets
  RankSandbox sandbox = RankSandbox::kLimited;
  std::optional<std::string> listen = {};    ///< HOST:PORT; unset: all of this machine
  std::optional<std::string> key_file = {};  ///< with `listen`
  int64_t wait_seconds = 60;                 ///< with `listen`
};
void AddRankArgs(CLI::App& app, RankArgs& args);

/// --rank-key and --rank-wait, of both sides.
void AddRankKeyArgs(CLI::App& app, std::optional<std::string>& key_file, int64_t& wait_seconds);

/// The key that a file has: all of it but the end of its last line. Errors: kInvalidArgument,
/// nobody named a file, or it is shorter than what nobody guesses; those of reading.
Result<std::string> ReadRankKey(const std::optional<std::string>& file);

/// Starts the other ranks, or waits for them and says so; null if there is one. Errors: as
/// StartRanks and HostRanks; kInvalidArgument, flags that do not go together.
Result<RankGroup> MeetRanks(const RankArgs& args, Console& console);

}  // namespace skald::cli
