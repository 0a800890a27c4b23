/// AttentionWeights: the softmax that attention multiplies V with, as numbers to look at.
///
/// Attention itself never has them: it merges partitions and throws scores away (numerics 3.7). So
/// they are computed again, from the same queries and the K that stands in the pages, by the
/// arithmetic of the specification. For tools that explain a run; slow, and no result reads them.
#pragma once

#include <span>

#include "kernels/attention/attention.h"

namespace skald::kernels {

/// The weights of one query row: of token `row / group`, head `row % group` of `args`, whose `out`
/// is not looked at. Weight of position p at weights[p]; 0 where the row does not see. With a sink
/// they add up to less than 1: the rest is the sink's.
///   weights  as many as positions; at least the last position seen, and one
///   scratch  of args: AttentionScratchFloats, as for attention
void AttentionWeights(const AttentionArgs& args, int64_t row, std::span<float> weights);

}  // namespace skald::kernels
