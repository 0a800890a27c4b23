/// RunSeed: one simulation. The engine's own Core, CacheManager, Scheduler and TokenChooser on one
/// thread, with a network that hashes and a clock that moves only when told.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/fault.h"
#include "sim/workload.h"

namespace skald::sim {

/// How a simulation went.
struct Outcome {
  std::string wrong;  ///< empty: nothing
  int64_t steps = 0;
  int64_t tokens = 0;
  int64_t rows = 0;
  int64_t preemptions = 0;
  int64_t pages_copied = 0;
  int64_t states_copied = 0;
  int64_t pages_evicted = 0;
  int64_t window_pages_dropped = 0;
  int64_t prompt_tokens = 0;
  int64_t prompt_tokens_cached = 0;
  int64_t constrained_tokens = 0;
  int64_t pages_restored = 0;  ///< from a shelf
  int64_t windows_restored = 0;
  int64_t states_restored = 0;
  int64_t fetches_resumed = 0;  ///< of preempted sequences
  int64_t fetches_given_up = 0;
  int64_t masks = 0;  ///< made for these
  int64_t masks_awaited = 0;
  int64_t draft_tokens = 0;
  int64_t draft_tokens_accepted = 0;
  int64_t draft_rows = 0;                  ///< that a draft model computed
  std::vector<std::vector<Event>> events;  ///< by client
};

/// Takes the lines of a trace.
using Trace = std::function<void(const std::string& line)>;

/// Runs the workload of a seed to its end, or to the first thing that is wrong.
Outcome RunSeed(uint64_t seed, Fault fault, const Trace& trace = nullptr);

/// The same for a workload of the caller's.
Outcome RunWorkload(const Workload& workload, Fault fault, const Trace& trace = nullptr);

}  // namespace skald::sim
