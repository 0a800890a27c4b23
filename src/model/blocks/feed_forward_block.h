/// SwiGLU feed forward with a residual connection (Shazeer 2020).
///
///     x += down * (silu(gate * h) . (up * h)),   h = RMSNorm(x)
#pragma once

#include "model/transformer.h"

namespace skald::model {

/// Applies the feed forward block of `layer` to the first `row_count` rows of workspace.residual.
void FeedForwardBlock(const Transformer& transformer, int64_t layer, int64_t row_count,
                      const Transformer::Context& context);

}  // namespace skald::model
