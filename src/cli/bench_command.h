/// `skald bench`: how fast a model runs here, beside how fast this machine could run it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/action.h"
#include "cli/bench_cases.h"
#include "cli/cli11_forward.h"
#include "cli/options.h"
#include "cli/speculation_args.h"
#include "cli/trace_file.h"
#include "cli/traffic_command.h"
#include "skald/status.h"

namespace skald::cli {

/// What is measured of a step.
enum class BenchDetail : uint8_t {
  kCases,
  kProfile,  ///< its single operations, too
  kKernels,  ///< the kernels of matrices, without a model
};

/// What `skald bench` was asked to do.
struct BenchOptions {
  ModelArgs model;
  BenchLists lists;
  int64_t repetitions = 5;
  BenchDetail detail = BenchDetail::kCases;
  std::optional<std::string> against;  ///< command of a peer
  TrafficOptions traffic;
  SpeculationArgs speculation;  ///< of traffic
  EngineArgs engine;
  TraceArgs trace;
  OutputArgs output;
};

/// Adds the verb; parsing it sets `chosen`.
void AddBenchCommand(CLI::App& root, Action& chosen);

/// Measures each case: once to warm up, then `repetitions` times, in turn with the peer if there is
/// one, each beside the ceilings of its moment (bench_measure.h). Errors: those of lookup, loading
/// and BenchSession; kInvalidArgument if the lists ask for nothing; kIo of the peer; kCancelled
/// after Ctrl-C, when the cases that are complete are still printed. With kKernels: BenchKernels.
Status Bench(const BenchOptions& options, const Environment& environment, Console& console);

}  // namespace skald::cli
