#include "model/blocks/feed_forward_block.h"

#include <array>

#include "model/blocks/linear.h"

namespace skald::model {

void FeedForwardBlock(const Transformer& transformer, int64_t layer, int64_t row_count,
                      const Transformer::Context& context) {
  const ModelConfig& config = transformer.config();
  const LayerWeights& weights = transformer.weights().layers[static_cast<size_t>(layer)];
  const Workspace& space = context.workspace;
  const Execution& execution = context.execution;
  GatedLinear({.rows = space.residual,
               .row_count = row_count,
               .addend = space.projected,
               .norm = weights.feed_forward_norm.data(),
               .epsilon = config.norm_epsilon,
               .normed = space.normed,
               .phase = Phase::kGateUp},
              {&weights.gate, space.gate}, {&weights.up, space.up}, space, execution);
  const std::array<Product, 1> contract = {Product{&weights.down, space.projected}};
  Linear({.rows = space.gate, .row_count = row_count, .phase = Phase::kDown}, contract, space,
         execution);
}

}  // namespace skald::model
