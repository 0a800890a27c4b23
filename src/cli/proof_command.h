/// `skald proof`: one question, answered in every way that the engine can take, bit for bit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/action.h"
#include "cli/cli11_forward.h"
#include "cli/options.h"
#include "skald/status.h"

namespace skald::cli {

/// What `skald proof` was asked to do.
struct ProofOptions {
  TextArgs prompt;  ///< unset: a tale
  ModelArgs model;
  int64_t max_tokens = 48;
  SamplingArgs sampling;  ///< its seed unset: 1
  std::vector<std::string> without = {};
  bool fault = false;  ///< one run more, which must differ
  EngineArgs engine;
  OutputArgs output;
};

/// Adds the verb; parsing it sets `chosen`.
void AddProofCommand(CLI::App& root, Action& chosen);

/// A run with other bits than the first is a Console::Mismatch. Errors: of lookup, LoadModel and
/// Prover.
Status Proof(const ProofOptions& options, const Environment& environment, Console& console);

}  // namespace skald::cli
