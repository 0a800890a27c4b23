/// The work of a benchmark case, from the numbers of a network: weights are counted, not read.
#pragma once

#include <cstdint>

#include "kv/kv_layout.h"
#include "model/network.h"
#include "model/work.h"
#include "skald/bench.h"

namespace skald::engine {

/// What a case is computed with.
struct CaseShape {
  const kv::KvLayout& layout;
  int64_t max_chunk = 0;  ///< prompt rows of a step
};

/// What a session computes for `wanted`: prompts one after the other in chunks, then decode steps.
/// Requires matrices with type and shape; they need no panels.
model::StepWork WorkOf(const model::Network& network, const CaseShape& shape,
                       const BenchCase& wanted);

/// As the public API has it.
BenchWork PublicWork(const model::Work& work);

}  // namespace skald::engine
