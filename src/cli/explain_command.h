/// `skald explain`: what happens between a prompt and its answer, step by step.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/action.h"
#include "cli/cli11_forward.h"
#include "cli/explain_report.h"
#include "cli/options.h"
#include "cli/plan_machine.h"
#include "skald/status.h"

namespace skald::cli {

/// What `skald explain` was asked to do.
struct ExplainOptions {
  TextArgs prompt;  ///< unset: the beginning of a tale
  ModelArgs model;
  int64_t max_tokens = 8;
  bool warm = false;
  bool attention = false;
  bool lens = false;
  bool experts = false;
  bool tensors = false;
  bool prompt_probs = false;
  SamplingArgs sampling;  ///< its seed unset: 1
  ExplainView view;
  std::optional<std::string> html = {};  ///< file; "-": stdout, in place of the rest
  bool compare = true;                   ///< times with ceilings
  MachineArgs machine;
  EngineArgs engine;
  OutputArgs output;
};

/// Adds the verb; parsing it sets `chosen`.
void AddExplainCommand(CLI::App& root, Action& chosen);

/// Errors: of lookup, LoadModel, FindMachine and ExplainRun; kInvalidArgument for a step or a layer
/// that there is not.
Status Explain(const ExplainOptions& options, const Environment& environment, Console& console);

}  // namespace skald::cli
