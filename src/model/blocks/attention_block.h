/// Self-attention with a residual connection: MHA, GQA or MQA over paged KV.
///
///     x += O * attention(rope(norm(Q * h)), rope(norm(K * h)), V * h),   h = RMSNorm(x)
#pragma once

#include "model/transformer.h"

namespace skald::model {

/// Applies the attention block of `layer` to every row of workspace.residual.
/// The projections and the output product are computed for all rows; K and V of all rows are in the
/// pages afterwards.
void AttentionBlock(const Transformer& transformer, int64_t layer, const StepBatch& batch,
                    const Transformer::Context& context);

}  // namespace skald::model
