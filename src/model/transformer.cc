#include "model/transformer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "model/blocks/attention_block.h"
#include "model/blocks/feed_forward_block.h"
#include "model/blocks/linear.h"

namespace skald::model {
namespace {

// The residual stream starts as the embedding of each token (numerics 3.8).
void Embed(const Weights& weights, const StepBatch& batch, const Transformer::Context& context) {
  const ScopedPhase phase(context.execution.profile, Phase::kEmbed);
  context.execution.pool.Run(batch.row_count(), [&](int64_t row, int) {
    kernels::UnpackRow(weights.token_embedding, batch.tokens[static_cast<size_t>(row)],
                       context.workspace.residual.row(row));
  });
}

void CheckBatch(const StepBatch& batch, const Transformer::Context& context) {
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
    CHECK(end <= context.rope.positions());
    CHECK(end <= static_cast<int64_t>(sequence.pages.size()) * kernels::kPageTokens);
    rows += sequence.row_count;
  }
  CHECK(rows == batch.row_count());
}

// The last sum and the final norm of the rows from `first` on, whose hidden states are wanted.
void NormHiddenRows(const Transformer& network, int64_t first, int64_t count,
                    const Transformer::Context& context) {
  const ScopedPhase phase(context.execution.profile, Phase::kHead);
  const Workspace& space = context.workspace;
  context.execution.pool.Run(count, [&](int64_t row, int) {
    context.execution.kernels.add(space.projected.row(first + row), space.residual.row(first + row),
                                  network.config().embedding);
    context.execution.kernels.rms_norm({.x = space.residual.row(first + row),
                                        .x_stride = space.residual.stride,
                                        .weight = network.weights().output_norm.data(),
                                        .y = space.normed.row(row),
                                        .y_stride = space.normed.stride,
                                        .rows = 1,
                                        .n = network.config().embedding,
                                        .eps = network.config().norm_epsilon});
  });
}

}  // namespace

Transformer::Transformer(ModelConfig config, Weights weights)
    : config_(std::move(config)), weights_(std::move(weights)) {}

kv::KvLayout KvLayoutOf(const ModelConfig& config, kernels::KvType type) {
  return {.type = type,
          .layers = config.layers,
          .kv_heads = config.kv_heads,
          .key_dim = static_cast<int>(config.key_dim),
          .value_dim = static_cast<int>(config.value_dim)};
}

kv::KvLayout Transformer::KvLayoutFor(kernels::KvType type) const {
  return KvLayoutOf(config_, type);
}

void Transformer::Forward(const StepBatch& batch, const Context& context) const {
  CheckBatch(batch, context);
  Embed(weights_, batch, context);
  int64_t rows = batch.row_count();
  for (int64_t layer = 0; layer < config_.layers; ++layer) {
    const bool last = layer + 1 == config_.layers;
    rows = AttentionBlock(*this, {layer, batch}, last ? RowsKept::kOutputRows : RowsKept::kAll,
                          context);
    if (rows > 0) FeedForwardBlock(*this, layer, rows, context);
  }
  const auto logit_rows = static_cast<int64_t>(batch.logit_rows.size());
  if (logit_rows > 0) {
    const Workspace& space = context.workspace;
    const std::array<Product, 1> head = {Product{&weights_.output, space.logits}};
    Linear({.rows = space.residual,
            .row_count = logit_rows,
            .addend = space.projected,
            .norm = weights_.output_norm.data(),
            .epsilon = config_.norm_epsilon,
            .normed = space.normed,
            .phase = Phase::kHead},
           head, space, context.execution);
  }
  // Behind the head, which is done with what stands in workspace.normed.
  if (rows > logit_rows) NormHiddenRows(*this, logit_rows, rows - logit_rows, context);
}

}  // namespace skald::model
