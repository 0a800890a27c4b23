#include "skald/machine.h"

#include <optional>
#include <utility>

#include "base/json_tree.h"
#include "base/status_macros.h"

namespace skald {
namespace {

constexpr double kTera = 1e12;
constexpr int64_t kGiga = 1'000'000'000;

// Dense rates of the data sheets, which count two operations for each multiply-accumulate. What
// skald computes as float (F16 weights, attention) runs there on the same units as bfloat16.
Machine Gpu(std::string name, std::string source, double read_tera, int64_t memory_giga) {
  return {.name = std::move(name),
          .source = std::move(source),
          .ceilings = {.int8_macs_per_second = 1979 * kTera / 2,
                       .bfloat16_macs_per_second = 989 * kTera / 2,
                       .float_macs_per_second = 989 * kTera / 2,
                       .read_bytes_per_second = read_tera * kTera},
          .memory_bytes = memory_giga * kGiga};
}

// A core multiplies tiles of 16 x 16 x 32 bfloat16 in 16 cycles, of int8 twice as many, and two
// vectors of 16 floats in one; at the base clock, because no sheet gives the clock of such loads.
Machine Xeon6() {
  constexpr double kCyclesPerSecond = 128 * 2.0e9;  // of all cores
  return {.name = "xeon6",
          .source =
              "Xeon 6980P: 128 cores at 2.0 GHz (base), 12 channels of MRDIMM-8800 (Intel "
              "ARK), 12 modules of 64 GiB",
          .ceilings = {.int8_macs_per_second = 1024 * kCyclesPerSecond,
                       .bfloat16_macs_per_second = 512 * kCyclesPerSecond,
                       .float_macs_per_second = 32 * kCyclesPerSecond,
                       .read_bytes_per_second = 12 * 8800e6 * 8},
          .memory_bytes = int64_t{12 * 64} << 30};
}

// The figures of one line of `skald bench --json`.
class Line {
 public:
  explicit Line(JsonValue object) : object_(object) {}

  Result<double> Positive(std::string_view name) const {
    const std::optional<JsonValue> value = object_.Find(name);
    const std::optional<double> number = value ? value->AsNumber() : std::nullopt;
    if (number && *number > 0) return *number;
    return Status(ErrorCode::kBadModel, std::string(name) +
                                            " is missing or no positive number: expected what "
                                            "skald bench --json prints");
  }
  bool WaitsForMemory() const {
    const std::optional<JsonValue> bound = object_.Find("bound");
    return bound && bound->AsString() == ResourceName(Resource::kMemory);
  }

 private:
  JsonValue object_;
};

Result<Ceilings> CeilingsOf(const Line& line) {
  Ceilings ceilings;
  ASSIGN_OR_RETURN(ceilings.int8_macs_per_second, line.Positive("int8_macs_per_second"));
  ASSIGN_OR_RETURN(ceilings.bfloat16_macs_per_second, line.Positive("bfloat16_macs_per_second"));
  ASSIGN_OR_RETURN(ceilings.float_macs_per_second, line.Positive("float_macs_per_second"));
  ASSIGN_OR_RETURN(ceilings.read_bytes_per_second, line.Positive("read_bytes_per_second"));
  return ceilings;
}

}  // namespace

std::vector<Machine> NamedMachines() {
  return {Gpu("h100", "NVIDIA H100 SXM data sheet", 3.35, 80),
          Gpu("h200", "NVIDIA H200 SXM data sheet", 4.8, 141), Xeon6()};
}

Result<Machine> NamedMachine(std::string_view name) {
  std::string names;
  for (Machine& machine : NamedMachines()) {
    if (machine.name == name) return std::move(machine);
    names += (names.empty() ? "" : ", ") + machine.name;
  }
  return Status(ErrorCode::kNotFound,
                "there is no machine '" + std::string(name) + "', expected one of " + names);
}

Result<Machine> MachineOfBench(std::string_view text) {
  ASSIGN_OR_RETURN(const JsonTree tree, JsonTree::Parse(text));
  const JsonValue root = tree.root();
  if (!root.IsArray() || root.size() == 0) {
    return Status(ErrorCode::kBadModel, "expected the list that skald bench --json prints");
  }
  Machine machine = {.name = "measured", .source = "skald bench"};
  bool has_arithmetic = false;
  bool has_memory = false;
  // Of each kind the first: it is the plainest case.
  for (const JsonValue element : root) {
    const Line line(element);
    bool& has = line.WaitsForMemory() ? has_memory : has_arithmetic;
    if (std::exchange(has, true)) continue;
    ASSIGN_OR_RETURN(machine.ceilings, CeilingsOf(line));
    double& share = line.WaitsForMemory() ? machine.memory_share : machine.arithmetic_share;
    ASSIGN_OR_RETURN(share, line.Positive("share"));
  }
  if (const std::optional<JsonValue> cpu = (*root.begin()).Find("cpu_info")) {
    machine.source = "skald bench on " + std::string(cpu->AsString().value_or("?"));
  }
  return machine;
}

double Ridge(double macs_per_second, const Ceilings& ceilings) {
  return 2 * macs_per_second / ceilings.read_bytes_per_second;
}

}  // namespace skald
