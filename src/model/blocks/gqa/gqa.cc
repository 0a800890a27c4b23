#include "model/blocks/gqa/gqa.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/check.h"
#include "base/checked_math.h"
#include "base/status_macros.h"
#include "kernels/route/route.h"
#include "model/blocks/gathered.h"
#include "model/checks.h"
#include "model/step_tap.h"

namespace skald::model {
namespace {

struct Buffers {
  // [rows][heads * key_dim] and [rows][kv_heads * key_dim]. Where a row is normed as one, those of
  // this rank stand among those of all.
  Rows query, all_queries;
  Rows pinned_query, all_pinned_queries;  // of endless texts: for the pinned positions
  Rows key, all_keys;
  Rows value;      // [rows][kv_heads * value_dim]
  Rows attention;  // [rows][heads * value_dim], of all ranks
  // With an output gate, the former where Q's tensor has it:
  Rows gated_query;  // [rows][heads * 2 * key_dim]: of each head the query, then its gate
  Rows gate;         // [rows][gate_width]
};

bool NormsRows(const Gqa& gqa) { return gqa.head_norm == HeadNorm::kRmsOfRow; }

// Queries or keys. A product ends in a whole panel, wherever its part of a row does.
Rows CarveHeads(const Gqa& gqa, const RowPart& part, int64_t rows, Carver& carver) {
  const bool among_others = NormsRows(gqa) && part.rows < part.all_rows;
  return carver.Matrix(rows, among_others ? part.all_rows + kernels::kPanelRows : part.rows);
}

Buffers Layout(const Gqa& gqa, const StepLimits& limits, Carver& carver) {
  Buffers buffers;
  const RowPart query = gqa.QueryPart(gqa.key_dim);
  const RowPart key = gqa.KvPart(gqa.key_dim);
  buffers.all_queries = CarveHeads(gqa, query, limits.rows, carver);
  buffers.query = NormsRows(gqa) ? ColumnsOf(buffers.all_queries, query) : buffers.all_queries;
  if (gqa.pinned > 0) {
    buffers.all_pinned_queries = CarveHeads(gqa, query, limits.rows, carver);
    buffers.pinned_query =
        NormsRows(gqa) ? ColumnsOf(buffers.all_pinned_queries, query) : buffers.all_pinned_queries;
  }
  if (!gqa.shared_kv) {
    buffers.all_keys = CarveHeads(gqa, key, limits.rows, carver);
    buffers.key = NormsRows(gqa) ? ColumnsOf(buffers.all_keys, key) : buffers.all_keys;
    buffers.value = carver.Matrix(limits.rows, gqa.value_width());
  }
  buffers.attention = carver.Matrix(limits.rows, gqa.QueryPart(gqa.value_dim).all_rows);
  if (gqa.has_gates()) buffers.gate = carver.Matrix(limits.rows, gqa.gate_width());
  if (gqa.gates_in_query()) buffers.gated_query = carver.Matrix(limits.rows, gqa.query_rows());
  return buffers;
}

// Rows (of the workspace) of one attention unit. With all heads of a group they are at least 64
// query rows, enough to share the widening of K and V; but few enough to spread over threads.
int64_t UnitRows(const Gqa& gqa) { return std::max<int64_t>(16, 64 / gqa.group()); }

// Norm and RoPE of one row's query or key heads.
struct HeadArgs {
  float* x;
  int64_t heads;
  RowPart part;  // of the heads of all ranks, in elements
  const std::vector<float>& norm;
};

// The weight of a norm that has none.
constexpr std::array<float, kMaxHeadDim> kOnes = [] {
  std::array<float, kMaxHeadDim> ones = {};
  for (float& one : ones) one = 1;
  return ones;
}();

// Each head with a weight of its own.
void NormEachHead(const Gqa& gqa, const HeadArgs& args, const Context& context) {
  for (int64_t first = 0; first < args.heads * gqa.key_dim; first += gqa.key_dim) {
    context.execution.kernels.layer_norm({.x = args.x + first,
                                          .x_stride = gqa.key_dim,
                                          .weight = args.norm.data() + args.part.first_row + first,
                                          .y = args.x + first,
                                          .y_stride = gqa.key_dim,
                                          .rows = 1,
                                          .n = gqa.key_dim,
                                          .eps = gqa.norm_epsilon});
  }
}

void NormHeads(const Gqa& gqa, const HeadArgs& args, const Context& context) {
  if (gqa.head_norm == HeadNorm::kLayerOfEachHead) return NormEachHead(gqa, args, context);
  const bool weighted = gqa.head_norm != HeadNorm::kRmsWithoutWeight;
  const int64_t rows = NormsRows(gqa) ? 1 : args.heads;
  const int64_t n = NormsRows(gqa) ? args.part.all_rows : gqa.key_dim;
  float* x = NormsRows(gqa) ? args.x - args.part.first_row : args.x;
  context.execution.kernels.rms_norm({.x = x,
                                      .x_stride = n,
                                      .weight = weighted ? args.norm.data() : kOnes.data(),
                                      .y = x,
                                      .y_stride = n,
                                      .rows = rows,
                                      .n = n,
                                      .eps = gqa.norm_epsilon});
}

void TurnHeads(const Gqa& gqa, const HeadArgs& args, int64_t position, const Context& context) {
  const RopeTable& rope = context.ropes[*gqa.rope];
  context.execution.kernels.rope({.x = args.x,
                                  .heads = args.heads,
                                  .head_dim = gqa.key_dim,
                                  .rotated = rope.rotated(),
                                  .cosine = rope.Cosine(position),
                                  .sine = rope.Sine(position),
                                  .pairing = rope.pairing()});
}

void NormValues(const Gqa& gqa, float* values, const Context& context) {
  context.execution.kernels.rms_norm({.x = values,
                                      .x_stride = gqa.value_dim,
                                      .weight = kOnes.data(),
                                      .y = values,
                                      .y_stride = gqa.value_dim,
                                      .rows = gqa.kv_heads,
                                      .n = gqa.value_dim,
                                      .eps = gqa.norm_epsilon});
}

void ScaleValues(const Gqa& gqa, float* values) {
  if (gqa.value_scale == 1) return;
  for (int64_t i = 0; i < gqa.value_width(); ++i) values[i] = values[i] * gqa.value_scale;
}

void FinishHeads(const Gqa& gqa, const HeadArgs& args, int64_t position, const Context& context) {
  const bool norms = gqa.head_norm != HeadNorm::kNone;
  const bool behind = gqa.head_norm_place == HeadNormPlace::kBehindRope;
  if (norms && !behind) NormHeads(gqa, args, context);
  if (gqa.rope) TurnHeads(gqa, args, position, context);
  if (norms && behind) NormHeads(gqa, args, context);
}

// The queries and the gates of a row, each in one piece.
void SplitGates(const Gqa& gqa, const Buffers& buffers, int64_t row) {
  const float* from = buffers.gated_query.row(row);
  for (int64_t first = 0; first < gqa.query_width(); first += gqa.key_dim) {
    std::copy_n(from, gqa.key_dim, buffers.query.row(row) + first);
    std::copy_n(from + gqa.key_dim, gqa.key_dim, buffers.gate.row(row) + first);
    from += 2 * gqa.key_dim;
  }
}

// The same queries as `query`, before it is finished, turned to the one position from which pinned
// ones are seen.
void FinishPinnedQueries(const Gqa& gqa, const float* query, float* pinned, int64_t position,
                         const Context& context) {
  const RowPart part = gqa.QueryPart(gqa.key_dim);
  const int64_t before = NormsRows(gqa) ? part.first_row : 0;
  std::copy_n(query - before, NormsRows(gqa) ? part.all_rows : part.rows, pinned - before);
  FinishHeads(gqa, {pinned, gqa.heads, part, gqa.query_norm}, gqa.pinned + gqa.window - 1, context);
  WarmQueries(gqa.temperature, position, pinned, gqa.query_width());
}

void FinishQueries(const Gqa& gqa, const Buffers& buffers, int64_t index, int64_t position,
                   const Context& context) {
  float* query = buffers.query.row(index);
  if (gqa.gates_in_query()) SplitGates(gqa, buffers, index);
  if (SeesPinned({.window = gqa.window, .pinned = gqa.pinned}, position)) {
    FinishPinnedQueries(gqa, query, buffers.pinned_query.row(index), position, context);
  }
  const RowPart part = gqa.QueryPart(gqa.key_dim);
  FinishHeads(gqa, {query, gqa.heads, part, gqa.query_norm}, position, context);
  WarmQueries(gqa.temperature, position, query, gqa.query_width());
}

// K and V of a row, into its pages.
void FinishKeysAndValues(const Gqa& gqa, const Buffers& buffers, int64_t index, const StepRow& row,
                         int64_t kv_layer, const Context& context) {
  float* key = buffers.key.row(index);
  float* value = buffers.value.row(index);
  if (gqa.values == ValueSource::kKeys) std::copy_n(key, gqa.key_width(), value);
  if (gqa.value_norm == ValueNorm::kRms) NormValues(gqa, value, context);
  ScaleValues(gqa, value);
  const RowPart part = gqa.KvPart(gqa.key_dim);
  FinishHeads(gqa, {key, gqa.kv_heads, part, gqa.key_norm}, row.position, context);
  for (int64_t head = 0; head < gqa.kv_heads; ++head) {
    context.execution.kernels.append_kv(context.store.View(kv_layer, head, row.sequence->pages),
                                        row.position, key + head * gqa.key_dim,
                                        value + head * gqa.value_dim);
  }
}

// Finishes Q, K, V of every row and appends K and V to the row's pages.
void FinishRows(const Gqa& gqa, const Buffers& buffers, const MixerStep& step,
                const Context& context) {
  const ScopedPhase phase(context.execution.profile, Phase::kRope);
  context.execution.pool.Run(step.batch.row_count(), [&](int64_t index, int) {
    const StepRow row = FindRow(step.batch, index);
    FinishQueries(gqa, buffers, index, row.position, context);
    if (gqa.shared_kv) return;
    FinishKeysAndValues(gqa, buffers, index, row, step.place.kv_layer, context);
  });
}

// What attention is about to read of these rows.
void ShowQueriesKeysAndValues(const Gqa& gqa, const Buffers& buffers, int64_t rows,
                              const Execution& execution) {
  ShowValues(ValueRole::kQuery, buffers.query, rows, gqa.query_width(), execution);
  if (gqa.shared_kv) return;
  ShowValues(ValueRole::kKey, buffers.key, rows, gqa.key_width(), execution);
  ShowValues(ValueRole::kValue, buffers.value, rows, gqa.value_width(), execution);
}

// Attention of up to UnitRows rows of one sequence and one KV head.
struct AttentionUnit {
  const SequenceRows* sequence;
  int64_t row;  // of its first row in the workspace
  int64_t rows;
  int64_t position;  // of its first row
  int64_t head;
};

int64_t UnitCount(const Gqa& gqa, const MixerStep& step) {
  if (step.kept == RowsKept::kOutputRows) return step.batch.output_count() * gqa.kv_heads;
  int64_t units = 0;
  for (const SequenceRows& sequence : step.batch.sequences) {
    units += DivCeil(sequence.row_count, UnitRows(gqa)) * gqa.kv_heads;
  }
  return units;
}

AttentionUnit FindUnit(const Gqa& gqa, const MixerStep& step, int64_t unit) {
  const int64_t kv_heads = gqa.kv_heads;
  if (step.kept == RowsKept::kOutputRows) {
    const int64_t index = unit / kv_heads;
    const StepRow row = FindRow(step.batch, step.batch.output_row(index));
    return {row.sequence, index, 1, row.position, unit % kv_heads};
  }
  const int64_t unit_rows = UnitRows(gqa);
  int64_t first_row = 0;
  for (const SequenceRows& sequence : step.batch.sequences) {
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

// AttentionArgs::end.
int64_t EndSeen(const Gqa& gqa, const SequenceRows& sequence) {
  return gqa.mask == Mask::kCausal ? 0 : sequence.first_position + sequence.row_count;
}

void Attend(const Gqa& gqa, const Buffers& buffers, const MixerStep& step, const Context& context) {
  const ScopedPhase phase(context.execution.profile, Phase::kAttention);
  const int64_t kv_layer = gqa.shared_kv.value_or(step.place.kv_layer);
  const Rows own = ColumnsOf(buffers.attention, gqa.QueryPart(gqa.value_dim));
  context.execution.pool.Run(UnitCount(gqa, step), [&](int64_t index, int worker) {
    const AttentionUnit unit = FindUnit(gqa, step, index);
    const int64_t first_head = unit.head * gqa.group();
    const auto queries = [&](const Rows& rows) {
      return rows.row(unit.row) + first_head * gqa.key_dim;
    };
    AttendPages(gqa.QueryPart(1).first_row + first_head,
                {.kv = context.store.View(kv_layer, unit.head, unit.sequence->pages),
                 .query = queries(buffers.query),
                 .query_stride = buffers.query.stride,
                 .out = own.row(unit.row) + first_head * gqa.value_dim,
                 .out_stride = own.stride,
                 .tokens = unit.rows,
                 .first_position = unit.position,
                 .group = static_cast<int>(gqa.group()),
                 .scale = gqa.scale,
                 .end = EndSeen(gqa, *unit.sequence),
                 .window = gqa.window,
                 .chunk = gqa.chunk,
                 .pinned = gqa.pinned,
                 .pinned_query = gqa.pinned > 0 ? queries(buffers.pinned_query) : nullptr,
                 .soft_cap = gqa.soft_cap,
                 .sinks = gqa.sink.empty() ? nullptr : gqa.sink.data() + first_head,
                 .slopes = gqa.slopes.empty() ? nullptr : gqa.slopes.data() + first_head,
                 .scratch = context.workspace.attention_scratch(worker)},
                context.execution);
  });
}

// Multiplies the heads of each row with its gates.
void GateHeads(const Gqa& gqa, const Buffers& buffers, int64_t rows, const Context& context) {
  const ScopedPhase phase(context.execution.profile, Phase::kAttention);
  const Rows own = ColumnsOf(buffers.attention, gqa.QueryPart(gqa.value_dim));
  context.execution.pool.Run(rows, [&](int64_t row, int) {
    float* heads = own.row(row);
    const float* gates = buffers.gate.row(row);
    if (gqa.output_gate != OutputGate::kSigmoidOfHeads) {
      context.execution.kernels.glu(gates, heads, heads, gqa.output_width());
      return;
    }
    for (int64_t head = 0; head < gqa.heads; ++head) {
      const float gate = kernels::Sigmoid(gates[head]);
      float* values = heads + head * gqa.value_dim;
      for (int64_t i = 0; i < gqa.value_dim; ++i) values[i] = gate * values[i];
    }
  });
}

// Heads that are normed as one row.
Status CheckRowNorm(const Rank& rank, const Gqa& gqa) {
  if (gqa.gates_in_query() || gqa.head_norm_place == HeadNormPlace::kBehindRope) {
    return NotSplit("norms of all heads behind RoPE or gates");
  }
  if (rank.count <= gqa.kv_heads) return Ok();
  // Those that had the same KV head would write the same keys to each other.
  return TooManyRanks(rank, std::to_string(gqa.kv_heads) + " KV heads that are normed together");
}

// Q, K and V one below the other.
void DeclareFused(Gqa& gqa, TensorList& tensors) {
  RowPart query = gqa.QueryPart(gqa.key_dim);
  RowPart key = gqa.KvPart(gqa.key_dim);
  RowPart value = gqa.KvPart(gqa.value_dim);
  key.first_row += query.all_rows;
  value.first_row += query.all_rows + key.all_rows;
  const int64_t all = query.all_rows + key.all_rows + value.all_rows;
  query.all_rows = key.all_rows = value.all_rows = all;
  tensors.MatrixPart("attn_qkv.weight", query, gqa.width, &gqa.query);
  tensors.MatrixPart("attn_qkv.weight", key, gqa.width, &gqa.key);
  tensors.MatrixPart("attn_qkv.weight", value, gqa.width, &gqa.value);
  tensors.VectorPart("attn_qkv.bias", query, &gqa.query_bias, gqa.bias);
  tensors.VectorPart("attn_qkv.bias", key, &gqa.key_bias, gqa.bias);
  tensors.VectorPart("attn_qkv.bias", value, &gqa.value_bias, gqa.bias);
}

// Q, K and V by themselves, as far as values have a matrix.
void DeclareSeparate(Gqa& gqa, TensorList& tensors) {
  const bool has_values = gqa.values == ValueSource::kMatrix;
  const RowPart query = gqa.QueryPart(gqa.query_rows() / gqa.heads);
  const RowPart key = gqa.KvPart(gqa.key_dim);
  const RowPart value = gqa.KvPart(gqa.value_dim);
  tensors.MatrixPart("attn_q.weight", query, gqa.width, &gqa.query);
  if (gqa.shared_kv) return tensors.VectorPart("attn_q.bias", query, &gqa.query_bias, gqa.bias);
  tensors.MatrixPart("attn_k.weight", key, gqa.width, &gqa.key);
  if (has_values) tensors.MatrixPart("attn_v.weight", value, gqa.width, &gqa.value);
  tensors.VectorPart("attn_q.bias", query, &gqa.query_bias, gqa.bias);
  tensors.VectorPart("attn_k.bias", key, &gqa.key_bias, gqa.bias);
  if (has_values) tensors.VectorPart("attn_v.bias", value, &gqa.value_bias, gqa.bias);
}

void DeclareHeadNorms(Gqa& gqa, TensorList& tensors) {
  // Of all ranks: each takes what it needs.
  const auto declare = [&](std::string_view name, int64_t heads, std::vector<float>* norm) {
    switch (gqa.head_norm) {
      case HeadNorm::kNone:
      case HeadNorm::kRmsWithoutWeight: return;
      case HeadNorm::kRms: return tensors.Vector(name, gqa.key_dim, norm);
      case HeadNorm::kRmsOfRow: return tensors.Vector(name, heads * gqa.key_dim, norm);
      case HeadNorm::kLayerOfEachHead: return tensors.Table(name, heads, gqa.key_dim, norm);
    }
    UNREACHABLE();
  };
  declare("attn_q_norm.weight", gqa.QueryPart(1).all_rows, &gqa.query_norm);
  if (!gqa.shared_kv) declare("attn_k_norm.weight", gqa.KvPart(1).all_rows, &gqa.key_norm);
}

}  // namespace

Status Validate(const Gqa& gqa, std::span<const Rope> ropes) {
  RETURN_IF_ERROR(InRange("head count", gqa.heads, 1, kMaxHeads));
  RETURN_IF_ERROR(InRange("KV head count", gqa.kv_heads, 1, gqa.heads));
  if (gqa.heads % gqa.kv_heads != 0) {
    return Status(ErrorCode::kBadModel, "head count " + std::to_string(gqa.heads) +
                                            " is not a multiple of KV head count " +
                                            std::to_string(gqa.kv_heads));
  }
  RETURN_IF_ERROR(InRange("key length", gqa.key_dim, 1, kMaxHeadDim));
  RETURN_IF_ERROR(InRange("value length", gqa.value_dim, 1, kMaxHeadDim));
  if (gqa.values == ValueSource::kKeys && gqa.value_dim != gqa.key_dim) {
    return Status(ErrorCode::kBadModel,
                  "value length is " + std::to_string(gqa.value_dim) + ", expected that of keys, " +
                      std::to_string(gqa.key_dim) + ", which serve as values");
  }
  CHECK(!gqa.shared_kv || gqa.fusion == Fusion::kSeparate);
  CHECK(gqa.slopes.empty() || static_cast<int64_t>(gqa.slopes.size()) == gqa.heads);
  RETURN_IF_ERROR(InRange("sliding window", gqa.window, 0, kMaxContext));
  RETURN_IF_ERROR(InRange("attention chunk", gqa.chunk, 0, kMaxContext));
  CHECK(gqa.pinned == 0 || (gqa.window > 0 && gqa.chunk == 0 && gqa.mask == Mask::kCausal));
  CHECK(gqa.pinned >= 0 && gqa.pinned <= kernels::kPartitionTokens);
  RETURN_IF_ERROR(Positive("attention scale", gqa.scale));
  RETURN_IF_ERROR(Positive("attention value scale", gqa.value_scale));
  RETURN_IF_ERROR(NotNegative("attention soft cap", gqa.soft_cap));
  RETURN_IF_ERROR(Validate(gqa.temperature));
  RETURN_IF_ERROR(NotNegative("norm epsilon", gqa.norm_epsilon));
  if (gqa.gates_in_query() && gqa.value_dim != gqa.key_dim) {
    return Status(ErrorCode::kBadModel,
                  "value length is " + std::to_string(gqa.value_dim) +
                      ", expected the key length " + std::to_string(gqa.key_dim) +
                      ": gates of heads have as many elements as their queries");
  }
  if (!gqa.rope) return Ok();
  CHECK(*gqa.rope < ropes.size());
  return InRange("rope dimension", ropes[*gqa.rope].rotated, 2, gqa.key_dim);
}

Status Split(const Rank& rank, Gqa& gqa) {
  if (NormsRows(gqa)) RETURN_IF_ERROR(CheckRowNorm(rank, gqa));
  const std::optional<HeadShare> share = ShareHeads(rank, {gqa.heads, gqa.kv_heads});
  if (!share) {
    return TooManyRanks(rank, std::to_string(gqa.heads) + " heads, " + std::to_string(gqa.group()) +
                                  " of a KV head");
  }
  if (!gqa.slopes.empty()) {
    const auto first = gqa.slopes.begin() + share->heads.first_row;
    gqa.slopes = std::vector<float>(first, first + share->heads.rows);
  }
  gqa.share = *share;
  gqa.heads = share->heads.rows;
  gqa.kv_heads = share->groups.rows;
  gqa.output_rows = PanelsOf(gqa.width, rank);
  return Ok();
}

void Declare(Gqa& gqa, TensorList& tensors) {
  if (gqa.fusion == Fusion::kFused) {
    DeclareFused(gqa, tensors);
  } else {
    DeclareSeparate(gqa, tensors);
  }
  DeclareHeadNorms(gqa, tensors);
  if (gqa.sinks == Sinks::kOnePerHead) {
    tensors.VectorPart("attn_sinks.weight", gqa.QueryPart(1), &gqa.sink);
  }
  if (gqa.has_gates() && !gqa.gates_in_query()) {
    tensors.MatrixPart("attn_gate.weight", gqa.QueryPart(gqa.gate_width() / gqa.heads), gqa.width,
                       &gqa.gate);
  }
  const RowPart output = gqa.OutputPart();
  tensors.MatrixPart("attn_output.weight", output, gqa.QueryPart(gqa.value_dim).all_rows,
                     &gqa.output);
  tensors.VectorPart("attn_output.bias", output, &gqa.output_bias, Presence::kOptional);
}

Needs Size(const Gqa& gqa, const StepLimits& limits) {
  Carver carver(nullptr);
  Layout(gqa, limits, carver);
  const int64_t scratch_floats = kernels::AttentionScratchFloats(static_cast<int>(gqa.key_dim),
                                                                 static_cast<int>(gqa.value_dim),
                                                                 static_cast<int>(gqa.group()));
  Needs needs = {.buffer_bytes = carver.used(),
                 .scratch_bytes = scratch_floats * int64_t{sizeof(float)}};
  needs.AddInput(limits.rows, gqa.width);
  needs.AddInput(limits.rows, gqa.QueryPart(gqa.value_dim).all_rows);
  return needs;
}

kv::KvShape ShapeOf(const Gqa& gqa) {
  return {.kv_heads = gqa.kv_heads,
          .key_dim = static_cast<int>(gqa.key_dim),
          .value_dim = static_cast<int>(gqa.value_dim)};
}

kv::KvShape Cache(const Gqa& gqa) { return gqa.shared_kv ? kv::KvShape{} : ShapeOf(gqa); }

int64_t StateFloats(const Gqa&) { return 0; }

void Run(const Gqa& gqa, const Input& input, const MixerStep& step, const Context& context) {
  Carver carver(context.workspace.block);
  const Buffers buffers = Layout(gqa, context.workspace.limits(), carver);
  const Rows queries = gqa.gates_in_query() ? buffers.gated_query : buffers.query;
  std::array<Product, 4> all = {};
  size_t count = 0;
  all[count++] = {&gqa.query, queries, gqa.query_bias};
  if (!gqa.shared_kv) {
    all[count++] = {&gqa.key, buffers.key, gqa.key_bias};
    if (gqa.values == ValueSource::kMatrix) {
      all[count++] = {&gqa.value, buffers.value, gqa.value_bias};
    }
  }
  if (gqa.has_gates() && !gqa.gates_in_query()) all[count++] = {&gqa.gate, buffers.gate};
  const auto projections = std::span(all).first(count);
  Prepare(input, projections, context);
  Multiply(projections, input.row_count, Phase::kQkv, context);
  if (NormsRows(gqa)) {
    Gather(buffers.all_queries, input.row_count, gqa.QueryPart(gqa.key_dim), Phase::kQkv, context);
    if (!gqa.shared_kv) {
      Gather(buffers.all_keys, input.row_count, gqa.KvPart(gqa.key_dim), Phase::kQkv, context);
    }
  }
  // All K and V before any attention: rows of one sequence see each other's.
  FinishRows(gqa, buffers, step, context);
  int64_t rows = step.batch.row_count();
  ShowQueriesKeysAndValues(gqa, buffers, rows, context.execution);
  if (step.kept == RowsKept::kOutputRows) {
    rows = step.batch.output_count();
    if (rows == 0) return;
    MoveOutputRows(step.batch, gqa.query_width(), buffers.query);
    if (gqa.pinned > 0) MoveOutputRows(step.batch, gqa.query_width(), buffers.pinned_query);
    if (gqa.has_gates()) MoveOutputRows(step.batch, gqa.gate_width(), buffers.gate);
  }
  Attend(gqa, buffers, step, context);
  if (gqa.has_gates()) GateHeads(gqa, buffers, rows, context);
  const RowPart own = gqa.QueryPart(gqa.value_dim);
  MultiplyPartedToAll({buffers.attention, rows, RunsOf(own), Phase::kAttention},
                      {&gqa.output, context.workspace.projected, gqa.output_bias}, gqa.OutputPart(),
                      Phase::kOutput, context);
}

void AddWork(const Gqa& gqa, const MixerShape& shape, StepWork& work) {
  const StepShape& step = shape.step;
  const std::array projections = {&gqa.query, &gqa.key, &gqa.value};
  AddWork(std::span(projections).first(gqa.shared_kv ? 1 : 3), step.rows, Phase::kQkv, work);
  if (gqa.has_gates() && !gqa.gates_in_query()) {
    AddProductWork(gqa.gate, step.rows, Phase::kQkv, work);
  }
  if (NormsRows(gqa)) {
    AddGather(gqa.QueryPart(gqa.key_dim), step.rows, work);
    if (!gqa.shared_kv) AddGather(gqa.KvPart(gqa.key_dim), step.rows, work);
  }
  const auto position_bytes = static_cast<double>(ShapeOf(gqa).position_bytes(shape.layout.types));
  const int64_t own = gqa.shared_kv ? 0 : 2 * gqa.key_width() + gqa.value_width();
  const double floats = double{sizeof(float)} * static_cast<double>(2 * gqa.query_width() + own);
  work[Phase::kRope].bytes +=
      static_cast<double>(step.rows) * (floats + (gqa.shared_kv ? 0 : position_bytes));
  if (shape.rows_kept == 0) return;
  // Attention of the last rows of each sequence.
  const auto sequences = static_cast<double>(step.sequences);
  const int64_t end = step.first_position + step.rows / step.sequences;
  const int64_t rows_each = std::max<int64_t>(1, shape.rows_kept / step.sequences);
  const Visible visible =
      VisibleTo({gqa.window, gqa.chunk, gqa.mask, gqa.pinned}, end - rows_each, rows_each);
  // One instruction multiplies four integers of a key.
  const double key_macs = static_cast<double>(gqa.heads * gqa.key_dim) /
                          (kernels::IsQuantized(shape.layout.types.keys) ? 4 : 1);
  const double macs = key_macs + static_cast<double>(gqa.heads * gqa.value_dim);
  work.Add({.phase = Phase::kAttention,
            .input = {shape.rows_kept, gqa.heads, gqa.key_dim},
            .other = {static_cast<int64_t>(visible.by_sequence), gqa.kv_heads, gqa.key_dim},
            .output = {shape.rows_kept, gqa.heads, gqa.value_dim},
            .work = {.float_macs = sequences * visible.by_rows * macs,
                     .bytes = sequences * visible.by_sequence * position_bytes}});
  AddWork(std::array{&gqa.output}, shape.rows_kept, Phase::kOutput, work);
  AddGather(gqa.QueryPart(gqa.value_dim), gqa.output, shape.rows_kept, work);
  AddGather(gqa.OutputPart(), shape.rows_kept, work);
}

}  // namespace skald::model
