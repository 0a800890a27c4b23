/// Sizes: what a network needs under resolved options, in the units of those who give it. The one
/// place where options become sizes: ModelNetwork takes them, a plan counts them.
#pragma once

#include <cstdint>
#include <span>

#include "engine/options.h"
#include "kv/kv_layout.h"
#include "kv/kv_store.h"
#include "kv/state_store.h"
#include "model/transformer.h"
#include "model/workspace.h"
#include "skald/engine_plan.h"
#include "skald/status.h"

namespace skald::engine {

struct Sizes {
  kv::KvLayout layout = {};
  kv::PageCounts pages = {};
  kv::StateShape states = {};
  model::StepLimits step = {};
  int64_t positions = 0;  ///< of the rope tables
};

Sizes SizesOf(const model::Network& network, const ResolvedOptions& options);

/// The bytes of these sizes; `weights` stays 0. Errors: kResourceExhausted for more than an address
/// space.
Result<EngineMemory> MemoryOf(const model::Network& network, const Sizes& sizes);

/// The sum of what the ranks of a network that was split take, each with its share of the threads.
/// Errors: as of one.
Result<EngineMemory> MemoryOf(std::span<const model::Transformer> parts,
                              const ResolvedOptions& options);

/// The options as a plan, with the memory of an engine whose weights take `weight_bytes`. Errors:
/// as MemoryOf.
Result<EnginePlan> PlanOf(const model::Network& network, const ResolvedOptions& options,
                          int64_t weight_bytes);

}  // namespace skald::engine
