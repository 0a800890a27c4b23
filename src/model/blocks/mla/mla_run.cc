#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/checked_math.h"
#include "model/blocks/gathered.h"
#include "model/blocks/mla/buffers.h"
#include "model/blocks/mla/mla.h"
#include "model/step_tap.h"

namespace skald::model {
namespace {

// Some tokens of one sequence and some heads: from their queries to what their heads give.
struct Unit {
  const SequenceRows* sequence;
  int64_t row;  // of its first token, in the buffers
  int64_t tokens;
  int64_t position;  // of its first token
  int64_t first_head;
  int64_t heads;
};

int64_t HeadUnits(const Mla& mla, const MlaUnitShape& shape) {
  return DivCeil(mla.heads, shape.heads);
}

// How a step is cut into units: by the threads that share it. No bit depends on it.
struct Cutting {
  const Mla& mla;
  const MixerStep& step;
  int64_t share;

  MlaUnitShape ShapeOf(int64_t rows) const { return UnitShapeOf(mla, rows, share); }
};

Cutting CuttingOf(const Mla& mla, const MixerStep& step, const Context& context) {
  const bool all = step.kept == RowsKept::kAll;
  const int64_t rows = all ? step.batch.row_count() : step.batch.output_count();
  return {mla, step, rows * mla.heads / context.execution.pool.thread_count()};
}

int64_t UnitCount(const Cutting& cutting) {
  const auto& [mla, step, share] = cutting;
  if (step.kept == RowsKept::kOutputRows) {
    return step.batch.output_count() * HeadUnits(mla, cutting.ShapeOf(1));
  }
  int64_t units = 0;
  for (const SequenceRows& sequence : step.batch.sequences) {
    const MlaUnitShape shape = cutting.ShapeOf(sequence.row_count);
    units += DivCeil(sequence.row_count, shape.tokens) * HeadUnits(mla, shape);
  }
  return units;
}

// The unit `index` of the tokens from `first` on, counted from 0.
Unit Cut(const Mla& mla, const MlaUnitShape& shape, int64_t index, const Unit& tokens) {
  const int64_t offset = index / HeadUnits(mla, shape) * shape.tokens;
  const int64_t first_head = index % HeadUnits(mla, shape) * shape.heads;
  return {.sequence = tokens.sequence,
          .row = tokens.row + offset,
          .tokens = std::min(shape.tokens, tokens.tokens - offset),
          .position = tokens.position + offset,
          .first_head = first_head,
          .heads = std::min(shape.heads, mla.heads - first_head)};
}

Unit FindUnit(const Cutting& cutting, int64_t index) {
  const auto& [mla, step, share] = cutting;
  if (step.kept == RowsKept::kOutputRows) {
    const MlaUnitShape shape = cutting.ShapeOf(1);
    const int64_t output = index / HeadUnits(mla, shape);
    const StepRow row = FindRow(step.batch, step.batch.output_row(output));
    return Cut(mla, shape, index % HeadUnits(mla, shape),
               {row.sequence, output, 1, row.position, 0, mla.heads});
  }
  int64_t first_row = 0;
  for (const SequenceRows& sequence : step.batch.sequences) {
    const MlaUnitShape shape = cutting.ShapeOf(sequence.row_count);
    const int64_t units = DivCeil(sequence.row_count, shape.tokens) * HeadUnits(mla, shape);
    if (index < units) {
      return Cut(mla, shape, index,
                 {&sequence, first_row, sequence.row_count, sequence.first_position, 0, mla.heads});
    }
    index -= units;
    first_row += sequence.row_count;
  }
  UNREACHABLE();
}

void Turn(const Mla& mla, float* x, int64_t position, const Context& context) {
  if (!mla.rope) return;
  const RopeTable& rope = context.ropes[*mla.rope];
  context.execution.kernels.rope({.x = x,
                                  .heads = 1,
                                  .head_dim = mla.rope_dim,
                                  .rotated = rope.rotated(),
                                  .cosine = rope.Cosine(position),
                                  .sine = rope.Sine(position),
                                  .pairing = rope.pairing()});
}

// What reads the residual stream: the latents of queries, or queries, and those of keys.
void Project(const Mla& mla, const MlaBuffers& buffers, const Input& input,
             const Context& context) {
  const RowPart down = mla.QueryDownPart();
  const RowPart latent = mla.LatentPart();
  const Product first = mla.has_query_rank()
                            ? Product{&mla.query_down, ColumnsOf(buffers.query_latent, down)}
                            : Product{&mla.query, buffers.query};
  const std::array projections = {first, Product{&mla.latent, ColumnsOf(buffers.latent, latent)}};
  Prepare(input, projections, context);
  Multiply(projections, input.row_count, Phase::kQkv, context);
  if (mla.has_query_rank()) {
    Gather(buffers.query_latent, input.row_count, down, Phase::kQkv, context);
  }
  Gather(buffers.latent, input.row_count, latent, Phase::kQkv, context);
}

// Latents and turned keys of all rows, into their pages.
void FinishKeys(const Mla& mla, const MlaBuffers& buffers, const MixerStep& step,
                const Context& context) {
  const ScopedPhase phase(context.execution.profile, Phase::kRope);
  context.execution.pool.Run(step.batch.row_count(), [&](int64_t index, int) {
    const StepRow row = FindRow(step.batch, index);
    float* key = buffers.latent.row(index);
    Normalize(
        mla.latent_norm,
        {.x = key, .x_stride = mla.rank, .y = key, .y_stride = mla.rank, .rows = 1, .n = mla.rank},
        context.execution.kernels);
    Turn(mla, key + mla.rank, row.position, context);
    context.execution.kernels.append_kv(
        context.store.View(step.place.kv_layer, 0, row.sequence->pages), row.position, key,
        nullptr);
  });
}

// Rows of the buffers that go on: all, or those of which something is wanted, moved to the front.
int64_t KeepQueries(const Mla& mla, const MlaBuffers& buffers, const MixerStep& step) {
  if (step.kept == RowsKept::kAll) return step.batch.row_count();
  if (mla.has_query_rank()) {
    MoveOutputRows(step.batch, mla.query_rank, buffers.query_latent);
  } else {
    MoveOutputRows(step.batch, mla.query_width(), buffers.query);
  }
  return step.batch.output_count();
}

// What all units of a step share.
struct Sharing {
  const Mla& mla;
  const MlaBuffers& buffers;
  const MixerStep& step;
  const Context& context;
};

// The queries of a unit, carried into the space of the latents (numerics 3.17).
void AbsorbQueries(const Sharing& run, const Unit& unit, const MlaWorker& own) {
  const Mla& mla = run.mla;
  for (int64_t h = 0; h < unit.heads; ++h) {
    const int64_t head = unit.first_head + h;
    const Rows source = {run.buffers.query.row(unit.row) + head * mla.query_dim(),
                         run.buffers.query.stride};
    MultiplyAlone({&mla.key_up[static_cast<size_t>(head)], own.product}, source, unit.tokens,
                  {own.tiles, own.index}, run.context);
    for (int64_t i = 0; i < unit.tokens; ++i) {
      float* query = own.query + (i * unit.heads + h) * mla.key_dim();
      std::copy_n(own.product.row(i), mla.rank, query);
      std::copy_n(source.row(i) + mla.nope_dim, mla.rope_dim, query + mla.rank);
      const int64_t position = unit.position + i;
      if (SeesPinned({.window = mla.window, .pinned = mla.pinned}, position)) {
        float* pinned = own.pinned_query + (query - own.query);
        std::copy_n(query, mla.key_dim(), pinned);
        Turn(mla, pinned + mla.rank, mla.pinned + mla.window - 1, run.context);
        WarmQueries(mla.temperature, position, pinned, mla.key_dim());
      }
      Turn(mla, query + mla.rank, position, run.context);
      WarmQueries(mla.temperature, position, query, mla.key_dim());
    }
  }
}

void Attend(const Sharing& run, const Unit& unit, const MlaWorker& own) {
  const Context& context = run.context;
  AttendPages(run.mla.HeadPart(1).first_row + unit.first_head,
              {.kv = context.store.View(run.step.place.kv_layer, 0, unit.sequence->pages),
               .query = own.query,
               .query_stride = unit.heads * run.mla.key_dim(),
               .out = own.mixed,
               .out_stride = unit.heads * run.mla.rank,
               .tokens = unit.tokens,
               .first_position = unit.position,
               .group = static_cast<int>(unit.heads),
               .scale = run.mla.scale,
               .window = run.mla.window,
               .pinned = run.mla.pinned,
               .pinned_query = own.pinned_query,
               .scratch = context.workspace.attention_scratch(own.index)},
              context.execution);
}

// What the heads of a unit give, out of the sums of latents.
void RaiseValues(const Sharing& run, const Unit& unit, const MlaWorker& own) {
  const Mla& mla = run.mla;
  const Rows heads = ColumnsOf(run.buffers.heads, mla.HeadPart(mla.value_dim));
  for (int64_t h = 0; h < unit.heads; ++h) {
    const int64_t head = unit.first_head + h;
    const Rows source = {own.mixed + h * mla.rank, unit.heads * mla.rank};
    MultiplyAlone({&mla.value_up[static_cast<size_t>(head)], own.product}, source, unit.tokens,
                  {own.tiles, own.index}, run.context);
    for (int64_t i = 0; i < unit.tokens; ++i) {
      std::copy_n(own.product.row(i), mla.value_dim,
                  heads.row(unit.row + i) + head * mla.value_dim);
    }
  }
}

// Each unit goes all the way, so that queries and sums in the space of the latents, the largest
// buffers there would be, are a unit's and stay in its cache.
void AttendAll(const Sharing& run) {
  const Execution& execution = run.context.execution;
  const ScopedPhase phase(execution.profile, Phase::kAttention);
  const Cutting cutting = CuttingOf(run.mla, run.step, run.context);
  execution.pool.Run(UnitCount(cutting), [&](int64_t index, int worker) {
    const Unit unit = FindUnit(cutting, index);
    const MlaWorker own = WorkerOf(run.mla, run.buffers, worker);
    AbsorbQueries(run, unit, own);
    Attend(run, unit, own);
    RaiseValues(run, unit, own);
  });
}

}  // namespace

void Run(const Mla& mla, const Input& input, const MixerStep& step, const Context& context) {
  Carver carver(context.workspace.block);
  const MlaBuffers buffers = LayOut(mla, context.workspace.limits(), carver);
  Project(mla, buffers, input, context);
  // All latents before any attention: rows of one sequence see each other's.
  FinishKeys(mla, buffers, step, context);
  ShowValues(ValueRole::kLatent, buffers.latent, step.batch.row_count(), mla.key_dim(),
             context.execution);
  const int64_t rows = KeepQueries(mla, buffers, step);
  if (rows == 0) return;
  if (mla.has_query_rank()) {
    const std::array query = {Product{&mla.query, buffers.query}};
    Prepare({.rows = buffers.query_latent,
             .row_count = rows,
             .norm = &mla.query_norm,
             .normed = buffers.query_latent},
            query, context);
    Multiply(query, rows, Phase::kQkv, context);
  }
  ShowValues(ValueRole::kQuery, buffers.query, rows, mla.query_width(), context.execution);
  AttendAll({mla, buffers, step, context});
  const RowPart own = mla.HeadPart(mla.value_dim);
  MultiplyPartedToAll({buffers.heads, rows, RunsOf(own), Phase::kAttention},
                      {&mla.output, context.workspace.projected}, mla.OutputPart(), Phase::kOutput,
                      context);
}

}  // namespace skald::model
