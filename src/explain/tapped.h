/// What the taps of a step have seen, as the public API has it.
#pragma once

#include <vector>

#include "model/network.h"
#include "model/step_tap.h"
#include "skald/explain.h"

namespace skald::explain {

/// Appends the attention of a step to Explanation::attention.
void AddAttention(std::vector<model::HeadWeights> seen, Explanation* explanation);

/// Fills Explanation::heads from all of Explanation::attention.
void AddHeads(Explanation* explanation);

/// Appends the choices of a step to Explanation::experts.
void AddExperts(const model::Network& network, std::vector<model::ChosenExperts> seen,
                Explanation* explanation);

/// `shape`: of what was summed up.
TensorCard CardOf(const model::ValueSummary& summary, std::vector<int64_t> shape);

}  // namespace skald::explain
