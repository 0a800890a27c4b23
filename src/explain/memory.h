/// What is kept of a text while it is computed: K and V of all positions, of a window, states.
#pragma once

#include <span>

#include "kv/kv_layout.h"
#include "model/network.h"
#include "model/step_log.h"
#include "skald/explain.h"

namespace skald::explain {

/// Without snapshots, which only a run has.
ExplainedMemory MemoryOf(const model::Network& network, const kv::KvLayout& layout);

/// Says of Explanation::pages when layers with windows let go of them, if Explanation::memory has
/// any.
void AddWindows(std::span<const model::LoggedStep> steps, Explanation* explanation);

}  // namespace skald::explain
