/// Cards of the matrices of a model.
#pragma once

#include <vector>

#include "model/network.h"
#include "skald/explain.h"

namespace skald::explain {

/// In the order in which a step reads them, each with its slices as one. Of a large tensor it looks
/// at rows at even distances, some hundred thousand values. A network without weights has none.
std::vector<ExplainedTensor> WeightCards(const model::Network& network);

}  // namespace skald::explain
