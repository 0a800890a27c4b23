#include "model/blocks/kda/kda.h"

#include <array>
#include <string>

#include "base/status_macros.h"
#include "kernels/route/route.h"
#include "model/blocks/attention.h"
#include "model/blocks/gathered.h"
#include "model/blocks/recurrence.h"
#include "model/checks.h"
#include "model/step_tap.h"

namespace skald::model {
namespace {

struct Buffers {
  std::array<Rows, 3> mixed;  // [rows][inner]: queries, keys, values; then what is read
  Rows decay_down;            // [rows][head_dim]
  Rows decay;                 // [rows][inner]
  Rows gate_down;             // [rows][head_dim]
  Rows gate;                  // [rows][inner]
  Rows beta;                  // [rows][heads]
  Rows all_heads;             // [rows][inner of all ranks]: the gated heads
};

Buffers Layout(const Kda& kda, const StepLimits& limits, Carver& carver) {
  Buffers buffers;
  for (Rows& rows : buffers.mixed) rows = carver.Matrix(limits.rows, kda.inner());
  buffers.decay_down = carver.Matrix(limits.rows, kda.head_dim);
  buffers.decay = carver.Matrix(limits.rows, kda.inner());
  buffers.gate_down = carver.Matrix(limits.rows, kda.head_dim);
  buffers.gate = carver.Matrix(limits.rows, kda.inner());
  buffers.beta = carver.Matrix(limits.rows, kda.heads);
  const RowPart inner = kda.HeadPart(kda.head_dim);
  const bool alone = inner.rows == inner.all_rows;
  buffers.all_heads = alone ? buffers.mixed[2] : carver.Matrix(limits.rows, inner.all_rows);
  return buffers;
}

std::array<const KdaInput*, 3> InputsOf(const Kda& kda) {
  return {&kda.query, &kda.key, &kda.value};
}

// The second matrix of a gate.
void Raise(const kernels::PackedMatrix& up, const Rows& from, const Rows& to, int64_t rows,
           const Context& context) {
  MultiplyRows({from, rows}, {&up, to}, Phase::kQkv, context);
}

void Project(const Kda& kda, const Input& input, const Buffers& buffers, const Context& context) {
  const std::array projections = {Product{&kda.query.matrix, buffers.mixed[0]},
                                  Product{&kda.key.matrix, buffers.mixed[1]},
                                  Product{&kda.value.matrix, buffers.mixed[2]},
                                  Product{&kda.decay.down, buffers.decay_down},
                                  Product{&kda.output_gate.down, buffers.gate_down},
                                  Product{&kda.beta, buffers.beta}};
  Prepare(input, projections, context);
  Multiply(projections, input.row_count, Phase::kQkv, context);
  Raise(kda.decay.up, buffers.decay_down, buffers.decay, input.row_count, context);
  Raise(kda.output_gate.up, buffers.gate_down, buffers.gate, input.row_count, context);
}

void Convolve(const Kda& kda, const Buffers& buffers, const MixerStep& step,
              const Context& context) {
  const ScopedPhase phase(context.execution.profile, Phase::kRecurrence);
  const auto convolve = [&](const SequenceStep& sequence, int64_t first, int64_t channels) {
    float* state = sequence.state + kda.heads * kda.head_floats() + first;
    for (size_t part = 0; part < 3; ++part) {
      float* rows = buffers.mixed[part].row(sequence.first_row) + first;
      context.execution.kernels.conv(
          {.x = rows,
           .x_stride = buffers.mixed[part].stride,
           .weights = InputsOf(kda)[part]->taps.data() + first * kda.taps,
           .state = state + static_cast<int64_t>(part) * kda.inner(),
           .state_stride = 3 * kda.inner(),
           .begins = sequence.begins,
           .activation = kernels::ConvActivation::kSilu,
           .y = rows,
           .y_stride = buffers.mixed[part].stride,
           .rows = sequence.rows,
           .channels = channels,
           .taps = kda.taps});
    }
  };
  ForEachChannelRange(step, kda.inner(), context, convolve);
}

// The decay of each element of a head's keys (numerics 3.18).
void FinishDecay(const Kda& kda, int64_t head, float* decay) {
  const float* bias = kda.decay_bias.data() + head * kda.head_dim;
  const float rate = kda.decay_rate[static_cast<size_t>(head)];
  for (int64_t i = 0; i < kda.head_dim; ++i) {
    decay[i] = kernels::Decay(kernels::Softplus(decay[i] + bias[i]), rate);
  }
}

// Queries, keys and gates. Logarithms make it the slow part beside the delta rule: a head is a
// unit, so that the rows of a decode are shared too.
void FinishHeads(const Kda& kda, const Buffers& buffers, int64_t rows, const Context& context) {
  const ScopedPhase phase(context.execution.profile, Phase::kRecurrence);
  const float scale = DefaultAttentionScale(kda.head_dim);
  context.execution.pool.Run(rows * kda.heads, [&](int64_t unit, int) {
    const int64_t row = unit / kda.heads;
    const int64_t head = unit % kda.heads;
    const int64_t first = head * kda.head_dim;
    context.execution.kernels.l2_norm(
        {.x = buffers.mixed[0].row(row) + first, .heads = 1, .n = kda.head_dim, .scale = scale});
    context.execution.kernels.l2_norm(
        {.x = buffers.mixed[1].row(row) + first, .heads = 1, .n = kda.head_dim});
    FinishDecay(kda, head, buffers.decay.row(row) + first);
    float& beta = buffers.beta.row(row)[head];
    beta = kernels::Sigmoid(beta);
  });
}

// What the delta rule is about to read of these rows; it writes over the values.
void ShowQueriesKeysAndValues(const Kda& kda, const Buffers& buffers, int64_t rows,
                              const Execution& execution) {
  const auto& [query, key, value] = buffers.mixed;
  ShowValues(ValueRole::kQuery, query, rows, kda.inner(), execution);
  ShowValues(ValueRole::kKey, key, rows, kda.inner(), execution);
  ShowValues(ValueRole::kValue, value, rows, kda.inner(), execution);
}

void Recur(const Kda& kda, const Buffers& buffers, const MixerStep& step, const Context& context) {
  const ScopedPhase phase(context.execution.profile, Phase::kRecurrence);
  const auto sequences = static_cast<int64_t>(step.batch.sequences.size());
  context.execution.pool.Run(sequences * kda.heads, [&](int64_t unit, int) {
    const SequenceStep sequence = SequenceAt(step, unit / kda.heads, context);
    const int64_t head = unit % kda.heads;
    const int64_t first = head * kda.head_dim;
    const auto& [query, key, value] = buffers.mixed;
    float* values = value.row(sequence.first_row) + first;
    context.execution.kernels.delta({.query = query.row(sequence.first_row) + first,
                                     .query_stride = query.stride,
                                     .key = key.row(sequence.first_row) + first,
                                     .key_stride = key.stride,
                                     .value = values,
                                     .value_stride = value.stride,
                                     .decay = buffers.decay.row(sequence.first_row) + first,
                                     .decay_stride = buffers.decay.stride,
                                     .decay_of = kernels::DecayOf::kKeyElement,
                                     .beta = buffers.beta.row(sequence.first_row) + head,
                                     .beta_stride = buffers.beta.stride,
                                     .state = sequence.state + head * kda.head_floats(),
                                     .begins = sequence.begins,
                                     .out = values,
                                     .out_stride = value.stride,
                                     .rows = sequence.rows,
                                     .key_dim = kda.head_dim,
                                     .value_dim = kda.head_dim});
  });
}

// Norms the heads of each row and gates them, to their place among those of all.
void GateHeads(const Kda& kda, const Buffers& buffers, int64_t rows, const Context& context) {
  const ScopedPhase phase(context.execution.profile, Phase::kRecurrence);
  const Rows own = ColumnsOf(buffers.all_heads, kda.HeadPart(kda.head_dim));
  context.execution.pool.Run(rows, [&](int64_t row, int) {
    float* heads = buffers.mixed[2].row(row);
    context.execution.kernels.rms_norm({.x = heads,
                                        .x_stride = kda.head_dim,
                                        .weight = kda.norm.data(),
                                        .y = heads,
                                        .y_stride = kda.head_dim,
                                        .rows = kda.heads,
                                        .n = kda.head_dim,
                                        .eps = kda.norm_epsilon});
    context.execution.kernels.glu(buffers.gate.row(row), heads, own.row(row), kda.inner());
  });
}

}  // namespace

Status Validate(const Kda& kda, std::span<const Rope>) {
  RETURN_IF_ERROR(InRange("head count of the delta rule", kda.heads, 1, kMaxHeads));
  RETURN_IF_ERROR(InRange("head length of the delta rule", kda.head_dim, 1, kMaxHeadDim));
  RETURN_IF_ERROR(InRange("convolution length", kda.taps, 2, kernels::kMaxConvTaps));
  RETURN_IF_ERROR(NotNegative("norm epsilon", kda.norm_epsilon));
  return InRange("state of the delta rule", StateFloats(kda), 1, kMaxStateFloats);
}

Status Split(const Rank& rank, Kda& kda) {
  if (rank.count > kda.heads) {
    return TooManyRanks(rank, std::to_string(kda.heads) + " heads of Kimi delta attention");
  }
  kda.head_rows = ShareOf(kda.heads, rank);
  kda.heads = kda.head_rows.rows;
  kda.output_rows = PanelsOf(kda.width, rank);
  return Ok();
}

void Declare(Kda& kda, TensorList& tensors) {
  const RowPart heads = kda.HeadPart(1);
  const RowPart inner = kda.HeadPart(kda.head_dim);
  tensors.MatrixPart("attn_q.weight", inner, kda.width, &kda.query.matrix);
  tensors.MatrixPart("attn_k.weight", inner, kda.width, &kda.key.matrix);
  tensors.MatrixPart("attn_v.weight", inner, kda.width, &kda.value.matrix);
  tensors.Matrix("ssm_f_a.weight", kda.head_dim, kda.width, &kda.decay.down);
  tensors.Matrix("ssm_g_a.weight", kda.head_dim, kda.width, &kda.output_gate.down);
  tensors.MatrixPart("ssm_beta.weight", heads, kda.width, &kda.beta);
  tensors.MatrixPart("ssm_f_b.weight", inner, kda.head_dim, &kda.decay.up);
  tensors.MatrixPart("ssm_g_b.weight", inner, kda.head_dim, &kda.output_gate.up);
  tensors.TablePieces("ssm_conv1d_q.weight", PiecesOf(inner), kda.taps, &kda.query.taps);
  tensors.TablePieces("ssm_conv1d_k.weight", PiecesOf(inner), kda.taps, &kda.key.taps);
  tensors.TablePieces("ssm_conv1d_v.weight", PiecesOf(inner), kda.taps, &kda.value.taps);
  tensors.VectorPart("ssm_dt.bias", inner, &kda.decay_bias);
  tensors.TablePieces("ssm_a", PiecesOf(heads), 1, &kda.decay_rate);
  tensors.Vector("ssm_norm.weight", kda.head_dim, &kda.norm);
  tensors.MatrixPart("attn_output.weight", kda.OutputPart(), inner.all_rows, &kda.output);
}

Needs Size(const Kda& kda, const StepLimits& limits) {
  Carver carver(nullptr);
  Layout(kda, limits, carver);
  Needs needs = {.buffer_bytes = carver.used()};
  needs.AddInput(limits.rows, kda.width);
  needs.AddInput(limits.rows, kda.head_dim);
  needs.AddInput(limits.rows, kda.HeadPart(kda.head_dim).all_rows);
  return needs;
}

kv::KvShape Cache(const Kda&) { return {}; }

int64_t StateFloats(const Kda& kda) {
  return kda.heads * kda.head_floats() + 3 * (kda.taps - 1) * kda.inner();
}

void Run(const Kda& kda, const Input& input, const MixerStep& step, const Context& context) {
  Carver carver(context.workspace.block);
  const Buffers buffers = Layout(kda, context.workspace.limits(), carver);
  Project(kda, input, buffers, context);
  // All rows, also where nothing is wanted of them: the next step goes on from their state.
  Convolve(kda, buffers, step, context);
  FinishHeads(kda, buffers, input.row_count, context);
  ShowQueriesKeysAndValues(kda, buffers, input.row_count, context.execution);
  Recur(kda, buffers, step, context);
  if (step.kept == RowsKept::kOutputRows && step.batch.output_count() == 0) return;
  GateHeads(kda, buffers, input.row_count, context);
  const RowPart inner = kda.HeadPart(kda.head_dim);
  const int64_t rows = KeepRows(step, inner.all_rows, buffers.all_heads);
  MultiplyPartedToAll({buffers.all_heads, rows, RunsOf(inner), Phase::kRecurrence},
                      {&kda.output, context.workspace.projected}, kda.OutputPart(), Phase::kOutput,
                      context);
}

void AddWork(const Kda& kda, const MixerShape& shape, StepWork& work) {
  const StepShape& step = shape.step;
  AddWork(std::array{&kda.query.matrix, &kda.key.matrix, &kda.value.matrix, &kda.decay.down,
                     &kda.output_gate.down, &kda.beta},
          step.rows, Phase::kQkv, work);
  AddWork(std::array{&kda.decay.up}, step.rows, Phase::kQkv, work);
  AddWork(std::array{&kda.output_gate.up}, step.rows, Phase::kQkv, work);
  const auto rows = static_cast<double>(step.rows);
  const auto inner = static_cast<double>(kda.inner());
  const auto state = static_cast<double>(kda.heads * kda.head_floats());
  const auto states = static_cast<double>(step.sequences * StateFloats(kda));
  // Decay, read, write, read of each element of the state; it is read and written once a step.
  work.Add({.phase = Phase::kRecurrence,
            .input = {step.rows, 3 * kda.inner()},
            .other = {StateFloats(kda)},
            .output = {step.rows, kda.inner()},
            .work = {.float_macs = rows * (4 * state + 3 * inner * static_cast<double>(kda.taps)),
                     .bytes = double{sizeof(float)} * (rows * 16 * inner + 2 * states)}});
  if (shape.rows_kept == 0) return;
  AddWork(std::array{&kda.output}, shape.rows_kept, Phase::kOutput, work);
  AddGather(kda.HeadPart(kda.head_dim), kda.output, shape.rows_kept, work);
  AddGather(kda.OutputPart(), shape.rows_kept, work);
}

}  // namespace skald::model
