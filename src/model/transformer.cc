#include "model/transformer.h"

#include <algorithm>
#include <array>
#include <utility>
#include <variant>

#include "base/check.h"
#include "model/blocks/linear.h"
#include "model/blocks/mixer.h"

namespace skald::model {
namespace {

void Scale(float factor, float* x, int64_t n) {
  if (factor == 1) return;
  for (int64_t i = 0; i < n; ++i) x[i] = x[i] * factor;
}

// The residual stream starts as the embedding of each token (numerics 3.8).
void Embed(const Network& network, const StepBatch& batch, const Context& context) {
  const ScopedPhase phase(context.execution.profile, Phase::kEmbed);
  context.execution.pool.Run(batch.row_count(), [&](int64_t row, int) {
    float* x = context.workspace.residual.row(row);
    kernels::UnpackRow(network.embedding, batch.tokens[static_cast<size_t>(row)], x);
    Scale(network.embedding_scale, x, network.width);
  });
}

void CheckBatch(const Network& network, const StepBatch& batch, const Context& context) {
  const int64_t state_floats = StateFloatsOf(network);
  const bool carries = state_floats > 0;
  CHECK(!carries || (context.states != nullptr && context.states->shape().floats == state_floats));
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
    CHECK(!carries || sequence.state != kv::kNoState);
    for (const RopeTable& rope : context.ropes) CHECK(end <= rope.positions());
    CHECK(end <= static_cast<int64_t>(sequence.pages.size()) * kernels::kPageTokens);
    rows += sequence.row_count;
  }
  CHECK(rows == batch.row_count());
}

// What a block gives to the residual stream.
Addend AddendOf(const Network& network, const Norm& norm, const Workspace& space) {
  return {.rows = space.projected, .norm = &norm, .scale = network.residual_scale};
}

// What a block reads: the residual stream, to which the result of the block before is added on the
// way, normed. Only the first block finds nothing to add.
Input InputOf(const Norm& norm, int64_t row_count, const Addend& addend, const Workspace& space) {
  return {.rows = space.residual,
          .row_count = row_count,
          .addend = addend,
          .norm = &norm,
          .normed = norm.exists() ? space.normed : Rows{}};
}

// The same of a whole layer, at its end.
Addend AddendOf(const Network& network, const Layer& layer, const Workspace& space) {
  Addend addend = AddendOf(network, layer.feed_forward_output_norm, space);
  if (!layer.output_scale.empty()) addend.sum_scale = layer.output_scale.front();
  return addend;
}

Input MixerInput(const Network& network, size_t index, int64_t row_count, const Workspace& space) {
  const Addend before = index == 0 ? Addend{} : AddendOf(network, network.layers[index - 1], space);
  return InputOf(network.layers[index].mixer_norm, row_count, before, space);
}

Input FeedForwardInput(const Network& network, const Layer& layer, int64_t row_count,
                       const Workspace& space) {
  const Addend mixed = AddendOf(network, layer.mixer_output_norm, space);
  Input input = InputOf(layer.feed_forward_norm, row_count, mixed, space);
  if (layer.order == LayerOrder::kParallel) {
    // What the mixer has read stands there still: no mixer writes to it.
    input.norm = nullptr;
    input.normed = space.normed;
  }
  return input;
}

// What the last block gives, and the final norm.
Input HeadInput(const Network& network, int64_t row_count, const Workspace& space) {
  const Addend last = AddendOf(network, network.layers.back(), space);
  return InputOf(network.head.norm, row_count, last, space);
}

// Runs all layers and returns how many rows stand at the front of the residual stream then: those
// of which something is wanted. What the last block gives still has to be added to them.
int64_t RunLayers(const Network& network, const StepBatch& batch, const Context& context) {
  const Workspace& space = context.workspace;
  const auto layers = static_cast<int64_t>(network.layers.size());
  int64_t rows = batch.row_count();
  LayerPlace place;
  for (int64_t index = 0; index < layers; ++index) {
    const Layer& layer = network.layers[static_cast<size_t>(index)];
    const RowsKept kept = index + 1 == layers ? RowsKept::kOutputRows : RowsKept::kAll;
    const Input mixed = MixerInput(network, static_cast<size_t>(index), rows, space);
    std::visit(
        [&](const auto& mixer) {
          Run(mixer, mixed, {batch, place, kept}, context);
        },
        layer.mixer);
    place = Behind(layer, place);
    if (kept == RowsKept::kOutputRows) {
      rows = batch.output_count();
      // Behind the mixer, which reads the rows at their old places.
      MoveOutputRows(batch, network.width, space.residual);
      if (layer.order == LayerOrder::kParallel) MoveOutputRows(batch, network.width, space.normed);
    }
    if (rows == 0) break;
    const Input fed = FeedForwardInput(network, layer, rows, space);
    std::visit([&](const auto& block) { Run(block, fed, context); }, layer.feed_forward);
  }
  return rows;
}

// The last sum and the final norm of the rows from `first` on, whose hidden states are wanted.
void NormHiddenRows(const Network& network, int64_t first, int64_t count, const Context& context) {
  const ScopedPhase phase(context.execution.profile, Phase::kHead);
  Input input = HeadInput(network, count, context.workspace);
  // From the rows behind the logit rows to the front.
  input.rows.data = input.rows.row(first);
  input.addend.rows.data = input.addend.rows.row(first);
  context.execution.pool.Run(count, [&](int64_t row, int) {
    AddAndNorm(input, {row, 1}, network.width, context.execution);
  });
}

// Factor and soft cap of the logits.
void FinishLogits(const Head& head, int64_t vocab, int64_t rows, const Context& context) {
  if (head.scale == 1 && head.soft_cap == 0) return;
  const ScopedPhase phase(context.execution.profile, Phase::kHead);
  constexpr int64_t kUnit = 4096;  // a few microseconds
  const int64_t units = DivCeil(vocab, kUnit);
  context.execution.pool.Run(rows * units, [&](int64_t unit, int) {
    const int64_t first = unit % units * kUnit;
    const int64_t count = std::min(kUnit, vocab - first);
    float* logits = context.workspace.logits.row(unit / units) + first;
    Scale(head.scale, logits, count);
    if (head.soft_cap > 0) context.execution.kernels.soft_cap(head.soft_cap, logits, count);
  });
}

}  // namespace

Transformer::Transformer(Network network, AlignedBuffer storage)
    : network_(std::move(network)), storage_(std::move(storage)) {
  if (network_.head.weights.panels == nullptr) network_.head.weights = network_.embedding;
}

void Transformer::Forward(const StepBatch& batch, const Context& context) const {
  CheckBatch(network_, batch, context);
  Embed(network_, batch, context);
  const int64_t rows = RunLayers(network_, batch, context);
  const auto logit_rows = static_cast<int64_t>(batch.logit_rows.size());
  if (logit_rows > 0) {
    const Workspace& space = context.workspace;
    const std::array head = {Product{&network_.head.weights, space.logits, network_.head.bias}};
    Prepare(HeadInput(network_, logit_rows, space), head, context);
    Multiply(head, logit_rows, Phase::kHead, context);
    FinishLogits(network_.head, network_.vocab, logit_rows, context);
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
