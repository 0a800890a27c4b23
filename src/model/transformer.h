/// Transformer: weights times a step batch gives logits.
///
///     tokens -> embedding -> [ norm -> attention -> + -> norm -> feed forward -> + ] x layers ->
///     norm -> LM head -> logits             (or, for an embedding, behind the norm already)
///
/// The same Forward serves prefill, decode and mixtures. What a row computes depends on its token,
/// its position and the K and V of its own sequence, never on the other rows of the step: cut a
/// prompt anywhere and every bit stays (docs/numerics.md).
#pragma once

#include <cstdint>

#include "kv/kv_store.h"
#include "model/config.h"
#include "model/execution.h"
#include "model/rope_table.h"
#include "model/step_batch.h"
#include "model/weights.h"
#include "model/workspace.h"

namespace skald::model {

/// The KV layout a network of this shape needs.
kv::KvLayout KvLayoutOf(const ModelConfig& config, kernels::KvType type);

/// Constant after construction; any number of threads may call Forward at once, each with its own
/// store, workspace and pool.
class Transformer {
 public:
  /// Requires a valid configuration and weights bound to all its slots.
  Transformer(ModelConfig config, Weights weights);

  const ModelConfig& config() const { return config_; }
  const Weights& weights() const { return weights_; }

  /// The KV layout this network needs.
  kv::KvLayout KvLayoutFor(kernels::KvType type) const;

  /// What a step works with besides the weights.
  struct Context {
    kv::KvStore& store;     ///< laid out by KvLayoutFor
    Workspace& workspace;   ///< made for this network; limits at least the batch
    const RopeTable& rope;  ///< covers every position of the batch
    const Execution& execution;
  };

  /// Computes one step: writes K and V of every row into its pages, then the logits of
  /// batch.logit_rows into workspace.logits, row i for logit_rows[i], and the hidden states of
  /// batch.hidden_rows into workspace.normed, row i for hidden_rows[i]; valid until the next call.
  /// Pages written must be held by one sequence alone. Allocates nothing.
  void Forward(const StepBatch& batch, const Context& context) const;

 private:
  ModelConfig config_;
  Weights weights_;
};

}  // namespace skald::model
