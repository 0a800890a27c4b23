/// Self-attention with a residual connection: MHA, GQA or MQA over paged KV.
///
///     x += O * attention(rope(norm(Q * h)), rope(norm(K * h)), V * h),   h = RMSNorm(x)
#pragma once

#include <cstdint>

#include "model/transformer.h"

namespace skald::model {

/// A layer, and the rows that pass through it.
struct LayerStep {
  int64_t layer;
  const StepBatch& batch;
};

/// The rows that go on from a layer. Behind the last one only those of which something is wanted
/// matter: for all others it is enough that their K and V are in the pages.
enum class RowsKept : uint8_t { kAll, kOutputRows };

/// Applies the attention block of `step.layer` and returns how many rows go on, at the front of
/// workspace.residual: all of them in their order, or row i for batch.output_row(i). K and V of all
/// rows are in the pages afterwards.
int64_t AttentionBlock(const Transformer& transformer, const LayerStep& step, RowsKept kept,
                       const Transformer::Context& context);

}  // namespace skald::model
