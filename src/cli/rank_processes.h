/// RankProcesses: the other ranks of a model as processes of this machine, started by this one.
///
/// Each is this same program under a name that is no verb, with two descriptors: a socket to this
/// process, and memory that all ranks share. There are no ports, no names and no files, and nothing
/// is left behind: the kernel ends a worker with the thread that started it, whatever ends that.
///
/// Ctrl-C and a closed terminal reach the whole group of a terminal: workers leave them to the
/// first rank, which ends in order, and they with it. SIGTERM ends a worker, and so everything.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/exit_code.h"
#include "skald/ranks.h"
#include "skald/status.h"

namespace skald::cli {

/// Whether workers give up what they do not need (sandbox.h).
enum class RankSandbox : uint8_t { kLimited, kFree };

/// What to start.
struct RankPlan {
  int count = 2;             ///< of ranks, with this process
  int64_t verify_steps = 0;  ///< RankSockets
  RankSandbox sandbox = RankSandbox::kLimited;
};

/// Starts `plan.count` - 1 processes and waits until each has said who it is. The thread that calls
/// is to live as long as they are needed. Errors: kIo, one cannot be started; as LeadRanks.
Result<RankGroup> StartRanks(const RankPlan& plan);

/// What a worker is, if this process was started as one: what it was given on its command line.
struct RankWorkerArgs {
  int64_t leader = 0;  ///< the process that has started it
  RankSandbox sandbox = RankSandbox::kLimited;
};
/// Nothing: it is another command.
std::optional<RankWorkerArgs> ParseRankWorker(const std::vector<std::string>& arguments);

/// The whole of such a process.
ExitCode RunRankWorker(const RankWorkerArgs& args);

}  // namespace skald::cli
