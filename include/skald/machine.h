/// Machine: what a computer can do, as far as it bounds a model: arithmetic, bandwidth, memory.
///
///     const Result<Machine> machine = NamedMachine("h100");
///     std::cout << Ridge(machine->ceilings.bfloat16_macs_per_second, machine->ceilings) << '\n';
///
/// The model is the roofline (Williams, Waterman, Patterson 2009): a step takes as long as its
/// arithmetic at the peak rate, or its bytes at the bandwidth, whichever is longer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "skald/bench.h"
#include "skald/status.h"
#include "skald/version.h"

namespace skald {

struct Machine {
  std::string name = {};
  std::string source = {};  ///< where its figures come from
  /// Rates of multiply-accumulates (two operations each) and of reading.
  Ceilings ceilings = {};
  int64_t memory_bytes = 0;
  /// How much of the peak a step reaches that is bound by arithmetic, and how much of the bandwidth
  /// one that is bound by memory; 1 where nobody has measured it: forecasts are bounds.
  double arithmetic_share = 1;
  double memory_share = 1;

  bool HasShares() const { return arithmetic_share != 1 || memory_share != 1; }
};

/// Machines of which the data sheet is known here: "h100", "h200", "xeon6".
std::vector<Machine> NamedMachines();
/// One of them. Errors: kNotFound, with the names there are.
Result<Machine> NamedMachine(std::string_view name);

/// A machine as `skald bench --json` has measured it: the medians of its ceilings, and the shares
/// of them that were reached by the first test bound by memory and the first bound by arithmetic.
/// Its memory is unknown (0). Errors: kBadModel if `text` is not such a document, with what lacks.
Result<Machine> MachineOfBench(std::string_view text);

/// Operations a byte at which arithmetic of so many multiply-accumulates a second takes as long as
/// memory: below, memory is the bound.
double Ridge(double macs_per_second, const Ceilings& ceilings);

}  // namespace skald
