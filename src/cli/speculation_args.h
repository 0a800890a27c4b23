/// SpeculationArgs: --spec, --spec-rule, --draft, --draft-max, --draft-min: who guesses tokens
/// ahead. With the rule `exact` they change no token, only how soon it comes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/console.h"
#include "cli/environment.h"
#include "cli/options.h"
#include "skald/engine.h"
#include "skald/status.h"

namespace skald::cli {

struct SpeculationArgs {
  Speculation kind = Speculation::kOff;
  SpeculationRule rule = SpeculationRule::kExact;
  std::optional<std::string> draft;  ///< a path or a name; turns kOff into kDraft
  int64_t draft_max = 8;
  int64_t draft_min = 0;
};
void AddSpeculationArgs(CLI::App& app, SpeculationArgs& args);

/// What an engine needs of this; loads the draft model as `engine` says, if there is one. Errors:
/// kInvalidArgument where the flags contradict each other; those of lookup and loading.
Result<SpeculationOptions> LoadSpeculation(const SpeculationArgs& args,
                                           const Environment& environment, const EngineArgs& engine,
                                           Console& console);

/// "off", "ngram", "draft", "chain": what --spec calls it.
std::string SpeculationName(Speculation kind);

/// "12 of 34 guessed tokens were right; 56 passes": for the end of a run.
std::string SpeculationLine(const EngineStats& stats);

}  // namespace skald::cli
