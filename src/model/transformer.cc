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

// Moves the rows whose logits are wanted to the front. They are ascending, so no row is overwritten
// before it is read.
void GatherLogitRows(const StepBatch& batch, int64_t width, const Workspace& workspace) {
  for (size_t i = 0; i < batch.logit_rows.size(); ++i) {
    const int64_t from = batch.logit_rows[i];
    const auto to = static_cast<int64_t>(i);
    if (from == to) continue;
    std::copy_n(workspace.residual.row(from), width, workspace.residual.row(to));
  }
}

void CheckBatch(const StepBatch& batch, const Transformer::Context& context) {
  const StepLimits& limits = context.workspace.limits();
  CHECK(batch.row_count() <= limits.rows);
  CHECK(static_cast<int64_t>(batch.logit_rows.size()) <= limits.logit_rows);
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
  for (int64_t layer = 0; layer < config_.layers; ++layer) {
    AttentionBlock(*this, layer, batch, context);
    FeedForwardBlock(*this, layer, batch.row_count(), context);
  }
  if (batch.logit_rows.empty()) return;
  const Workspace& space = context.workspace;
  GatherLogitRows(batch, config_.embedding, space);
  const std::array<Product, 1> head = {Product{&weights_.output, space.logits}};
  Linear({.rows = space.residual,
          .row_count = static_cast<int64_t>(batch.logit_rows.size()),
          .norm = weights_.output_norm.data(),
          .epsilon = config_.norm_epsilon,
          .normed = space.normed,
          .phase = Phase::kHead},
         head, space, context.execution);
}

}  // namespace skald::model
