#include "model/blocks/attention_block.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "base/check.h"
#include "base/checked_math.h"
#include "model/blocks/linear.h"

namespace skald::model {
namespace {

// Rows (of the workspace) of one attention unit. With all heads of a group they are at least 64
// query rows, enough to share the widening of K and V; but few enough to spread over threads.
int64_t UnitRows(const ModelConfig& config) { return std::max<int64_t>(16, 64 / config.group()); }

struct Row {
  const SequenceRows* sequence;
  int64_t position;
};

// The sequence and position of a row of the step. Steps have few sequences compared with the work
// per row.
Row FindRow(const StepBatch& batch, int64_t row) {
  for (const SequenceRows& sequence : batch.sequences) {
    if (row < sequence.row_count) return {&sequence, sequence.first_position + row};
    row -= sequence.row_count;
  }
  UNREACHABLE();
}

// Bias, norm and RoPE of one row's query or key heads.
struct HeadArgs {
  float* x;
  int64_t heads;
  const std::vector<float>& bias;
  const std::vector<float>& norm;
};

void FinishHeads(const HeadArgs& args, int64_t position, const ModelConfig& config,
                 const Transformer::Context& context) {
  const kernels::KernelTable& kernels = context.execution.kernels;
  const int64_t width = args.heads * config.key_dim;
  if (!args.bias.empty()) kernels.add(args.bias.data(), args.x, width);
  if (!args.norm.empty()) {
    kernels.rms_norm({.x = args.x,
                      .x_stride = config.key_dim,
                      .weight = args.norm.data(),
                      .y = args.x,
                      .y_stride = config.key_dim,
                      .rows = args.heads,
                      .n = config.key_dim,
                      .eps = config.norm_epsilon});
  }
  kernels.rope({.x = args.x,
                .heads = args.heads,
                .head_dim = config.key_dim,
                .rotated = config.rope.rotated,
                .cosine = context.rope.Cosine(position),
                .sine = context.rope.Sine(position),
                .pairing = config.family->pairing});
}

// Finishes Q, K, V of every row and appends K and V to the row's pages.
void FinishRows(const Transformer& transformer, int64_t layer, const StepBatch& batch,
                const Transformer::Context& context) {
  const ScopedPhase phase(context.execution.profile, Phase::kRope);
  const ModelConfig& config = transformer.config();
  const LayerWeights& weights = transformer.weights().layers[static_cast<size_t>(layer)];
  const Workspace& space = context.workspace;
  context.execution.pool.Run(batch.row_count(), [&](int64_t index, int) {
    const Row row = FindRow(batch, index);
    FinishHeads({space.query.row(index), config.heads, weights.query_bias, weights.query_norm},
                row.position, config, context);
    FinishHeads({space.key.row(index), config.kv_heads, weights.key_bias, weights.key_norm},
                row.position, config, context);
    float* value = space.value.row(index);
    if (!weights.value_bias.empty()) {
      context.execution.kernels.add(weights.value_bias.data(), value, config.value_width());
    }
    for (int64_t head = 0; head < config.kv_heads; ++head) {
      context.execution.kernels.append_kv(
          context.store.View(layer, head, row.sequence->pages), row.position,
          space.key.row(index) + head * config.key_dim, value + head * config.value_dim);
    }
  });
}

// Attention of up to UnitRows rows of one sequence and one KV head.
struct AttentionUnit {
  const SequenceRows* sequence;
  int64_t row;  // of its first row in the workspace
  int64_t rows;
  int64_t position;  // of its first row
  int64_t head;
};

int64_t UnitCount(const StepBatch& batch, RowsKept kept, const ModelConfig& config) {
  if (kept == RowsKept::kOutputRows) return batch.output_count() * config.kv_heads;
  int64_t units = 0;
  for (const SequenceRows& sequence : batch.sequences) {
    units += DivCeil(sequence.row_count, UnitRows(config)) * config.kv_heads;
  }
  return units;
}

AttentionUnit FindUnit(const StepBatch& batch, RowsKept kept, const ModelConfig& config,
                       int64_t unit) {
  const int64_t kv_heads = config.kv_heads;
  if (kept == RowsKept::kOutputRows) {
    const int64_t index = unit / kv_heads;
    const Row row = FindRow(batch, batch.output_row(index));
    return {row.sequence, index, 1, row.position, unit % kv_heads};
  }
  const int64_t unit_rows = UnitRows(config);
  int64_t first_row = 0;
  for (const SequenceRows& sequence : batch.sequences) {
    const int64_t units = DivCeil(sequence.row_count, unit_rows) * kv_heads;
    if (unit < units) {
      const int64_t offset = unit / kv_heads * unit_rows;
      return {&sequence, first_row + offset, std::min(unit_rows, sequence.row_count - offset),
              sequence.first_position + offset, unit % kv_heads};
    }
    unit -= units;
    first_row += sequence.row_count;
  }
  UNREACHABLE();
}

void Attend(const Transformer& transformer, const LayerStep& step, RowsKept kept,
            const Transformer::Context& context) {
  const ScopedPhase phase(context.execution.profile, Phase::kAttention);
  const ModelConfig& config = transformer.config();
  const Workspace& space = context.workspace;
  // sqrt is correctly rounded everywhere.
  const auto scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(config.key_dim)));
  const int64_t units = UnitCount(step.batch, kept, config);
  context.execution.pool.Run(units, [&](int64_t index, int worker) {
    const AttentionUnit unit = FindUnit(step.batch, kept, config, index);
    const int64_t group = config.group();
    context.execution.kernels.attention(
        {.kv = context.store.View(step.layer, unit.head, unit.sequence->pages),
         .query = space.query.row(unit.row) + unit.head * group * config.key_dim,
         .query_stride = space.query.stride,
         .out = space.attention.row(unit.row) + unit.head * group * config.value_dim,
         .out_stride = space.attention.stride,
         .tokens = unit.rows,
         .first_position = unit.position,
         .group = static_cast<int>(group),
         .scale = scale,
         .window = config.window,
         .scratch = space.attention_scratch(worker)});
  });
}

// Moves the rows of which something is wanted to the front. They are ascending, so no row is
// overwritten before it is read.
void MoveOutputRows(const StepBatch& batch, const ModelConfig& config, const Workspace& space) {
  for (int64_t to = 0; to < batch.output_count(); ++to) {
    const int64_t from = batch.output_row(to);
    if (from == to) continue;
    std::copy_n(space.residual.row(from), config.embedding, space.residual.row(to));
    std::copy_n(space.query.row(from), config.query_width(), space.query.row(to));
  }
}

}  // namespace

int64_t AttentionBlock(const Transformer& transformer, const LayerStep& step, RowsKept kept,
                       const Transformer::Context& context) {
  const ModelConfig& config = transformer.config();
  const LayerWeights& weights = transformer.weights().layers[static_cast<size_t>(step.layer)];
  const Workspace& space = context.workspace;
  const StepBatch& batch = step.batch;
  const std::array<Product, 3> projections = {Product{&weights.query, space.query},
                                              Product{&weights.key, space.key},
                                              Product{&weights.value, space.value}};
  Linear({.rows = space.residual,
          .row_count = batch.row_count(),
          .addend = step.layer > 0 ? space.projected : Workspace::Rows{},
          .norm = weights.attention_norm.data(),
          .epsilon = config.norm_epsilon,
          .normed = space.normed,
          .phase = Phase::kQkv},
         projections, space, context.execution);
  FinishRows(transformer, step.layer, batch, context);
  int64_t rows = batch.row_count();
  if (kept == RowsKept::kOutputRows) {
    rows = batch.output_count();
    if (rows == 0) return 0;
    MoveOutputRows(batch, config, space);
  }
  Attend(transformer, step, kept, context);
  const std::array<Product, 1> output = {Product{&weights.attention_output, space.projected}};
  Linear({.rows = space.attention, .row_count = rows, .phase = Phase::kOutput}, output, space,
         context.execution);
  return rows;
}

}  // namespace skald::model
