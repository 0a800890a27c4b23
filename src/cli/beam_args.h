/// BeamArgs: --beams, --n-best, --length-penalty, --early-stopping: the text of the highest score
/// instead of one token after the other.
#pragma once

#include <cstdint>

#include "cli/cli11_forward.h"
#include "skald/engine.h"
#include "skald/request.h"
#include "skald/status.h"

namespace skald::cli {

struct BeamArgs {
  BeamParams params;
  int32_t best = 1;  ///< texts wanted
};
void AddBeamArgs(CLI::App& app, BeamArgs& args);

/// Errors: kInvalidArgument where the flags contradict each other.
Status CheckBeamArgs(const BeamArgs& args);

/// What a search is about to compute.
struct BeamWork {
  int64_t prompt = 0;      ///< tokens
  int64_t max_tokens = 0;  ///< StopRules
  int64_t context = 0;     ///< of the engine (Engine::Plan)
};

/// Gives an engine the places and pages that the beams can need, if there are beams.
void MakeRoomForBeams(const BeamArgs& args, const BeamWork& work, EngineOptions* options);

}  // namespace skald::cli
