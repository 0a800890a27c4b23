/// MakeProposer: who guesses tokens in an engine, with all they work with.
#pragma once

#include <memory>

#include "base/thread_pool.h"
#include "engine/options.h"
#include "engine/proposer.h"
#include "skald/engine.h"

namespace skald::engine {

/// The proposer that `options` ask for, or null for none. A draft model computes with `threads`,
/// which the target's network has too: they compute in turn. Errors: kInvalidArgument, the draft
/// model has another vocabulary than `target`, saying where they differ; kResourceExhausted.
Result<std::unique_ptr<Proposer>> MakeProposer(const Model& target,
                                               const SpeculationOptions& options,
                                               const ResolvedOptions& resolved,
                                               std::shared_ptr<ThreadPool> threads);

/// The tokens that end a text of this model.
std::vector<TokenId> EndTokens(const Model& model);

}  // namespace skald::engine
