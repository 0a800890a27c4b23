#include "model/transformer.h"

#include <algorithm>
#include <array>
#include <utility>
#include <variant>

#include "base/check.h"
#include "model/blocks/linear.h"

namespace skald::model {
namespace {

// The residual stream starts as the embedding of each token (numerics 3.8).
void Embed(const Network& network, const StepBatch& batch, const Context& context) {
  const ScopedPhase phase(context.execution.profile, Phase::kEmbed);
  context.execution.pool.Run(batch.row_count(), [&](int64_t row, int) {
    kernels::UnpackRow(network.embedding, batch.tokens[static_cast<size_t>(row)],
                       context.workspace.residual.row(row));
  });
}

void CheckBatch(const StepBatch& batch, const Context& context) {
  const StepLimits& limits = context.workspace.limits();
  CHECK(batch.row_count() <= limits.rows);
  CHECK(static_cast<int64_t>(batch.logit_rows.size()) <= limits.logit_rows);
  CHECK(batch.logit_rows.empty() || batch.hidden_rows.empty() ||
        batch.logit_rows.back() < batch.hidden_rows.front());
  CHECK(context.execution.pool.thread_count() <= limits.threads);
  int64_t rows = 0;
  for (const SequenceRows& sequence : batch.sequences) {
    const int64_t end = sequence.first_position + sequence.row_count;
    CHECK(sequence.row_count > 0 && sequence.first_position >= 0);
    for (const RopeTable& rope : context.ropes) CHECK(end <= rope.positions());
    CHECK(end <= static_cast<int64_t>(sequence.pages.size()) * kernels::kPageTokens);
    rows += sequence.row_count;
  }
  CHECK(rows == batch.row_count());
}

// What a block reads: the residual stream, to which the result of the block before is added on the
// way, normed. Only the first block finds nothing to add.
Input InputOf(const Norm& norm, int64_t row_count, Rows addend, const Workspace& space) {
  return {.rows = space.residual,
          .row_count = row_count,
          .addend = addend,
          .norm = &norm,
          .normed = space.normed};
}

// Moves the rows of which something is wanted to the front. They are ascending, so no row is
// overwritten before it is read.
void MoveOutputRows(const StepBatch& batch, int64_t width, const Rows& residual) {
  for (int64_t to = 0; to < batch.output_count(); ++to) {
    const int64_t from = batch.output_row(to);
    if (from != to) std::copy_n(residual.row(from), width, residual.row(to));
  }
}

// Runs all layers and returns how many rows stand at the front of the residual stream then: those
// of which something is wanted. What the last block gives still has to be added to them.
int64_t RunLayers(const Network& network, const StepBatch& batch, const Context& context) {
  const Workspace& space = context.workspace;
  const auto layers = static_cast<int64_t>(network.layers.size());
  int64_t rows = batch.row_count();
  for (int64_t index = 0; index < layers; ++index) {
    const Layer& layer = network.layers[static_cast<size_t>(index)];
    const RowsKept kept = index + 1 == layers ? RowsKept::kOutputRows : RowsKept::kAll;
    const Input mixed =
        InputOf(layer.mixer_norm, rows, index > 0 ? space.projected : Rows{}, space);
    std::visit(
        [&](const auto& mixer) {
          Run(mixer, mixed, {batch, index, kept}, context);
        },
        layer.mixer);
    if (kept == RowsKept::kOutputRows) {
      rows = batch.output_count();
      // Behind the mixer, which reads the rows at their old places.
      MoveOutputRows(batch, network.width, space.residual);
    }
    if (rows == 0) break;
    const Input fed = InputOf(layer.feed_forward_norm, rows, space.projected, space);
    std::visit([&](const auto& block) { Run(block, fed, context); }, layer.feed_forward);
  }
  return rows;
}

// The last sum and the final norm of the rows from `first` on, whose hidden states are wanted.
void NormHiddenRows(const Network& network, int64_t first, int64_t count, const Context& context) {
  const ScopedPhase phase(context.execution.profile, Phase::kHead);
  const Workspace& space = context.workspace;
  context.execution.pool.Run(count, [&](int64_t row, int) {
    context.execution.kernels.add(space.projected.row(first + row), space.residual.row(first + row),
                                  network.width);
    context.execution.kernels.rms_norm({.x = space.residual.row(first + row),
                                        .x_stride = space.residual.stride,
                                        .weight = network.head.norm.weight.data(),
                                        .y = space.normed.row(row),
                                        .y_stride = space.normed.stride,
                                        .rows = 1,
                                        .n = network.width,
                                        .eps = network.head.norm.epsilon});
  });
}

}  // namespace

Transformer::Transformer(Network network, AlignedBuffer storage)
    : network_(std::move(network)), storage_(std::move(storage)) {
  if (network_.head.weights.panels == nullptr) network_.head.weights = network_.embedding;
}

void Transformer::Forward(const StepBatch& batch, const Context& context) const {
  CheckBatch(batch, context);
  Embed(network_, batch, context);
  const int64_t rows = RunLayers(network_, batch, context);
  const auto logit_rows = static_cast<int64_t>(batch.logit_rows.size());
  if (logit_rows > 0) {
    const Workspace& space = context.workspace;
    const std::array head = {Product{&network_.head.weights, space.logits}};
    Prepare(InputOf(network_.head.norm, logit_rows, space.projected, space), head, context);
    Multiply(head, logit_rows, Phase::kHead, context);
  }
  // Behind the head, which is done with what stands in workspace.normed.
  if (rows > logit_rows) NormHiddenRows(network_, logit_rows, rows - logit_rows, context);
}

void AddWork(const Network& network, const kv::KvLayout& layout, const StepShape& shape,
             StepWork& work) {
  const auto rows = static_cast<double>(shape.rows);
  const double row_bytes = double{sizeof(float)} * static_cast<double>(network.width);
  const auto panel_bytes = static_cast<double>(network.embedding.panel_bytes());
  work[Phase::kEmbed].bytes += rows * (row_bytes + panel_bytes / kernels::kPanelRows);
  for (const Layer& layer : network.layers) {
    // Behind K and V of the last layer only the rows whose logits are wanted go on.
    const int64_t kept = &layer == &network.layers.back() ? shape.logit_rows : shape.rows;
    std::visit(
        [&](const auto& mixer) {
          AddWork(mixer, {shape, kept, layout}, work);
        },
        layer.mixer);
    if (kept == 0) return;
    std::visit([&](const auto& block) { AddWork(block, kept, work); }, layer.feed_forward);
    // Two sums: two operands read, one written over the first.
    work[Phase::kPrepare].bytes += static_cast<double>(kept) * 2 * 2 * row_bytes;
  }
  AddWork(std::array{&network.head.weights}, shape.logit_rows, Phase::kHead, work);
}

}  // namespace skald::model
