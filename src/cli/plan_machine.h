/// Which machine a plan is for: a named one, a measured one, figures, or the one it runs on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/cli11_forward.h"
#include "cli/console.h"
#include "cli/options.h"
#include "skald/machine.h"
#include "skald/status.h"

namespace skald::cli {

/// --machine, --bandwidth, --peak, --memory
struct MachineArgs {
  std::optional<std::string> machine = {};  ///< a name, or a file of `skald bench --json`
  double bandwidth = 0;                     ///< GB/s; 0: the machine's
  double peak = 0;                          ///< TFLOP/s of every kind; 0: the machine's
  int64_t memory = 0;                       ///< bytes; 0: the machine's
};
void AddMachineArgs(CLI::App& app, MachineArgs& args);

/// The machine that was asked for; without a name this one, whose ceilings are measured unless
/// figures stand for all of them. Errors: as NamedMachine, ReadInput and MachineOfBench;
/// kInvalidArgument for figures that are not positive.
Result<Machine> FindMachine(const MachineArgs& args, const EngineArgs& engine, Console& console);

}  // namespace skald::cli
