#include "cli/plan_machine.h"

#include <limits>
#include <utility>

#include "base/process_limits.h"
#include "base/status_macros.h"
#include "cli/flags.h"
#include "cli/input.h"
#include "skald/bench.h"

namespace skald::cli {
namespace {

constexpr const char* kGroup = "Machine";
constexpr double kGiga = 1e9;
constexpr double kTera = 1e12;

void AddRate(CLI::App& app, const FlagText& text, double& target) {
  AddValue(app, text, "X", [&target](const std::string& value) {
    ASSIGN_OR_RETURN(const double rate, ParseDouble(value));
    if (!(rate > 0))
      return Status(ErrorCode::kInvalidArgument, fmt::format("{} is not above 0", value));
    target = rate;
    return Ok();
  }).Group(kGroup);
}

// The mean of two bursts, as a benchmark takes them before and after what it measures.
Result<Machine> ThisMachine(const MachineArgs& args, const EngineArgs& engine, Console& console) {
  Machine machine = {
      .name = "here", .source = "given", .memory_bytes = static_cast<int64_t>(MemoryLimitBytes())};
  if (args.bandwidth > 0 && args.peak > 0) return machine;
  console.Note("measuring the ceilings of this machine");
  ASSIGN_OR_RETURN(CeilingMeter meter, CeilingMeter::Create(engine.threads, engine.isa));
  const Ceilings before = meter.Measure();
  machine.ceilings = MeanOf(before, meter.Measure());
  machine.source = fmt::format("measured now, {} threads, {}", machine.ceilings.threads,
                               machine.ceilings.isa_name);
  return machine;
}

Result<Machine> FromFile(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadInput(path));
  Result<Machine> machine = MachineOfBench(text);
  if (!machine.ok()) return std::move(machine).status().WithContext(path);
  machine->memory_bytes = static_cast<int64_t>(MemoryLimitBytes());
  return machine;
}

}  // namespace

void AddMachineArgs(CLI::App& app, MachineArgs& args) {
  std::string names;
  for (const Machine& machine : NamedMachines()) names += machine.name + ", ";
  AddText(app,
          {"--machine",
           names + "or a file that skald bench --json wrote (default: this one, measured now)"},
          "NAME", args.machine)
      .Group(kGroup);
  AddRate(app, {"--bandwidth", "GB/s from memory, in place of the machine's"}, args.bandwidth);
  AddRate(app, {"--peak", "TFLOP/s of every kind of arithmetic, in place of the machine's"},
          args.peak);
  AddBytes(app, {"--memory", "bytes (24G), in place of the machine's"}, args.memory,
           std::numeric_limits<int64_t>::max() / 2)
      .Group(kGroup);
}

Result<Machine> FindMachine(const MachineArgs& args, const EngineArgs& engine, Console& console) {
  const auto find = [&]() -> Result<Machine> {
    if (!args.machine) return ThisMachine(args, engine, console);
    const bool is_file = args.machine->find_first_of("./") != std::string::npos;
    return is_file ? FromFile(*args.machine) : NamedMachine(*args.machine);
  };
  ASSIGN_OR_RETURN(Machine machine, find());
  if (args.bandwidth > 0) machine.ceilings.read_bytes_per_second = args.bandwidth * kGiga;
  if (args.peak > 0) {
    const double macs = args.peak * kTera / 2;
    machine.ceilings.int8_macs_per_second = macs;
    machine.ceilings.bfloat16_macs_per_second = macs;
    machine.ceilings.float_macs_per_second = macs;
  }
  if (args.memory > 0) machine.memory_bytes = args.memory;
  return machine;
}

}  // namespace skald::cli
