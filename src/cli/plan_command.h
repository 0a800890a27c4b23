/// `skald plan`: what a model would take of a machine and how fast it could be there, on paper.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/action.h"
#include "cli/cli11_forward.h"
#include "cli/options.h"
#include "cli/plan_machine.h"
#include "skald/status.h"

namespace skald::cli {

/// What `skald plan` was asked to do.
struct PlanOptions {
  ModelArgs model;                     ///< or the name of a shape
  std::optional<std::string> weights;  ///< ShapeOptions
  int64_t max_running = 16;
  int64_t kv_positions = 0;
  MachineArgs machine;
  int ranks = 1;                       ///< LoadOptions::ranks
  std::optional<std::string> network;  ///< of RankLinks; nothing: shared memory
  int64_t prompt_tokens = -1;          ///< -1: 512, at most half a context
  std::vector<int64_t> batches = {1, 4, 16, 64};
  std::vector<int64_t> depths = {};  ///< none: 0 and half a context
  EngineArgs engine;
  std::optional<std::string> svg;  ///< where the roofline goes
  OutputArgs output;
};

/// Adds the verb; parsing it sets `chosen`.
void AddPlanCommand(CLI::App& root, Action& chosen);

/// Reads no weight. Errors: of lookup, with the names of the shapes; of ReadModelShape, PlanEngine,
/// FindMachine and Console::Write.
Status Plan(const PlanOptions& options, const Environment& environment, Console& console);

}  // namespace skald::cli
