/// Transformer: weights times a step batch gives logits.
///
///     tokens -> embedding -> [ norm -> mixer -> + -> norm -> feed-forward -> + ] x layers ->
///     norm -> LM head -> logits             (or, for an embedding, behind the norm already)
///
/// The same Forward serves prefill, decode and mixtures. What a row computes depends on its token,
/// its position and the K and V of its own sequence, never on the other rows of the step: cut a
/// prompt anywhere and every bit stays (docs/numerics.md).
#pragma once

#include <cstdint>
#include <span>

#include "base/aligned_buffer.h"
#include "base/function_ref.h"
#include "model/context.h"
#include "model/network.h"
#include "model/step_batch.h"
#include "model/work.h"

namespace skald::model {

/// Constant after construction; any number of threads may call Forward at once, each with its own
/// store, workspace and pool.
class Transformer {
 public:
  /// Requires a valid network whose tensors are all in place. `storage` holds its panels.
  Transformer(Network network, AlignedBuffer storage);

  const Network& network() const { return network_; }

  /// Computes one step: writes K and V of every row into its pages, then the logits of
  /// batch.logit_rows into workspace.logits, row i for logit_rows[i], and the hidden states of
  /// batch.hidden_rows into workspace.normed, row i for hidden_rows[i]; valid until the next call.
  /// Pages written must be held by one sequence alone. Allocates nothing.
  void Forward(const StepBatch& batch, const Context& context) const;

  /// The logits of `count` hidden states that the last Forward left in workspace.normed, from row
  /// `first` on, into workspace.logits from row 0 on; the hidden states stay. The bits are those
  /// that Forward gives for logit rows. `count` is at most the logit rows of the workspace.
  /// Requires a network without a projection of hidden states.
  void TurnToLogits(int64_t first, int64_t count, const Context& context) const;

  /// Floats of what stands behind a layer of one row (DepthRow::stream).
  int64_t DepthWidth() const;

  /// The logits that the network would give if it ended where these rows were tapped: `rows` holds
  /// DepthWidth() floats of each, one behind the other, row i's logits go into row i of
  /// workspace.logits. Behind the last layer they are those of Forward, bit for bit. Overwrites
  /// what the last Forward left; as many rows at most as a step has, and as have logits.
  void TurnDepthToLogits(std::span<const float> rows, const Context& context) const;

 private:
  Network network_;
  AlignedBuffer storage_;
};

/// Counts what Forward does in one step, part by part in their order: what a part does is added to
/// the work that `work_of` gives for it. A part may come twice; a matrix that an item names is one
/// of `network`.
void VisitWork(const Network& network, const kv::KvLayout& layout, const StepShape& shape,
               FunctionRef<StepWork&(const StepPart& part)> work_of);

/// Adds all of that to `work`.
void AddWork(const Network& network, const kv::KvLayout& layout, const StepShape& shape,
             StepWork& work);

}  // namespace skald::model
