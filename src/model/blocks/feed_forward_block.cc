#include "model/blocks/feed_forward_block.h"

#include <array>

#include "model/blocks/linear.h"
#include "model/blocks/residual.h"

namespace skald::model {

void FeedForwardBlock(const Transformer& transformer, int64_t layer, int64_t row_count,
                      const Transformer::Context& context) {
  const ModelConfig& config = transformer.config();
  const LayerWeights& weights = transformer.weights().layers[static_cast<size_t>(layer)];
  const Workspace& space = context.workspace;
  const Execution& execution = context.execution;
  const std::array<Product, 2> expand = {Product{&weights.gate, space.gate},
                                         Product{&weights.up, space.up}};
  Linear({.rows = space.residual,
          .row_count = row_count,
          .norm = weights.feed_forward_norm.data(),
          .epsilon = config.norm_epsilon,
          .normed = space.normed,
          .phase = Phase::kGateUp},
         expand, space, execution);
  {
    const ScopedPhase phase(execution.profile, Phase::kSwiglu);
    execution.pool.Run(row_count, [&](int64_t row, int) {
      execution.kernels.swiglu(space.gate.row(row), space.up.row(row), space.gate.row(row),
                               config.feed_forward);
    });
  }
  const std::array<Product, 1> contract = {Product{&weights.down, space.projected}};
  Linear({.rows = space.gate, .row_count = row_count, .phase = Phase::kDown}, contract, space,
         execution);
  AddToResidual(row_count, config.embedding, space, execution);
}

}  // namespace skald::model
