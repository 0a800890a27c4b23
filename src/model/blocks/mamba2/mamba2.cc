#include "model/blocks/mamba2/mamba2.h"

#include <array>
#include <optional>
#include <string>

#include "base/status_macros.h"
#include "model/blocks/gathered.h"
#include "model/blocks/recurrence.h"
#include "model/checks.h"
#include "model/step_tap.h"

namespace skald::model {
namespace {

struct Buffers {
  Rows mixed;  // [rows][input_rows]: z, x, B, C, dt
  Rows step;   // [rows][heads]
  Rows decay;  // [rows][heads]
  Rows heads;  // [rows][inner of all ranks]
};

Buffers Layout(const Mamba2& mamba, const StepLimits& limits, Carver& carver) {
  Buffers buffers;
  buffers.mixed = carver.Matrix(limits.rows, mamba.input_rows());
  buffers.step = carver.Matrix(limits.rows, mamba.heads);
  buffers.decay = carver.Matrix(limits.rows, mamba.heads);
  buffers.heads = carver.Matrix(limits.rows, mamba.HeadPart(mamba.head_dim).all_rows);
  return buffers;
}

void Convolve(const Mamba2& mamba, const Buffers& buffers, const MixerStep& step,
              const Context& context) {
  const ScopedPhase phase(context.execution.profile, Phase::kRecurrence);
  const auto convolve = [&](const SequenceStep& sequence, int64_t first, int64_t channels) {
    // Behind z.
    float* rows = buffers.mixed.row(sequence.first_row) + mamba.inner() + first;
    context.execution.kernels.conv(
        {.x = rows,
         .x_stride = buffers.mixed.stride,
         .weights = mamba.weights.data() + first * mamba.taps,
         .bias = mamba.conv_bias.data() + first,
         .state = sequence.state + mamba.heads * mamba.head_floats() + first,
         .state_stride = mamba.channels(),
         .begins = sequence.begins,
         .activation = kernels::ConvActivation::kSilu,
         .y = rows,
         .y_stride = buffers.mixed.stride,
         .rows = sequence.rows,
         .channels = channels,
         .taps = mamba.taps});
  };
  ForEachChannelRange(step, mamba.channels(), context, convolve);
}

// Steps and decays of every row's heads.
void FinishSteps(const Mamba2& mamba, const Buffers& buffers, int64_t rows,
                 const Context& context) {
  const ScopedPhase phase(context.execution.profile, Phase::kRecurrence);
  context.execution.pool.Run(rows, [&](int64_t row, int) {
    const float* raw = buffers.mixed.row(row) + mamba.inner() + mamba.channels();
    for (int64_t head = 0; head < mamba.heads; ++head) {
      const auto h = static_cast<size_t>(head);
      const float step = kernels::Softplus(raw[head] + mamba.step_bias[h]);
      buffers.step.row(row)[head] = step;
      buffers.decay.row(row)[head] = kernels::Decay(step, mamba.decay_rate[h]);
    }
  });
}

// What the scan is about to read of these rows: C asks the state, B is where x goes into it.
void ShowQueriesKeysAndValues(const Mamba2& mamba, const Buffers& buffers, int64_t rows,
                              const Execution& execution) {
  float* x = buffers.mixed.data + mamba.inner();  // behind z
  float* b = x + mamba.inner();
  const int64_t shared = mamba.groups * mamba.state_dim;
  const auto show = [&](ValueRole role, float* first, int64_t width) {
    ShowValues(role, {first, buffers.mixed.stride}, rows, width, execution);
  };
  show(ValueRole::kQuery, b + shared, shared);
  show(ValueRole::kKey, b, shared);
  show(ValueRole::kValue, x, mamba.inner());
}

void Scan(const Mamba2& mamba, const Buffers& buffers, const MixerStep& step,
          const Context& context) {
  const ScopedPhase phase(context.execution.profile, Phase::kRecurrence);
  const Rows own = ColumnsOf(buffers.heads, mamba.HeadPart(mamba.head_dim));
  const auto sequences = static_cast<int64_t>(step.batch.sequences.size());
  context.execution.pool.Run(sequences * mamba.heads, [&](int64_t unit, int) {
    const SequenceStep sequence = SequenceAt(step, unit / mamba.heads, context);
    const int64_t head = unit % mamba.heads;
    const int64_t group = head / (mamba.heads / mamba.groups);
    const float* rows = buffers.mixed.row(sequence.first_row) + mamba.inner();
    const float* b = rows + mamba.inner() + group * mamba.state_dim;
    context.execution.kernels.scan({.x = rows + head * mamba.head_dim,
                                    .b = b,
                                    .c = b + mamba.groups * mamba.state_dim,
                                    .row_stride = buffers.mixed.stride,
                                    .decay = buffers.decay.row(sequence.first_row) + head,
                                    .step = buffers.step.row(sequence.first_row) + head,
                                    .gate_stride = buffers.step.stride,
                                    .skip = mamba.skip[static_cast<size_t>(head)],
                                    .state = sequence.state + head * mamba.head_floats(),
                                    .begins = sequence.begins,
                                    .y = own.row(sequence.first_row) + head * mamba.head_dim,
                                    .y_stride = own.stride,
                                    .rows = sequence.rows,
                                    .state_dim = mamba.state_dim,
                                    .head_dim = mamba.head_dim});
  });
}

// Gates the heads of each row.
void GateHeads(const Mamba2& mamba, const Buffers& buffers, int64_t rows, const Context& context) {
  const ScopedPhase phase(context.execution.profile, Phase::kRecurrence);
  const Rows own = ColumnsOf(buffers.heads, mamba.HeadPart(mamba.head_dim));
  context.execution.pool.Run(rows, [&](int64_t row, int) {
    float* heads = own.row(row);
    context.execution.kernels.swiglu(buffers.mixed.row(row), heads, heads, mamba.inner());
  });
}

// Norms all groups of each row, where they are normed: several ranks may share one.
void NormGroups(const Mamba2& mamba, const Buffers& buffers, int64_t rows, const Context& context) {
  if (mamba.group_norm == GroupNorm::kNone) return;
  const ScopedPhase phase(context.execution.profile, Phase::kRecurrence);
  const int64_t inner = mamba.HeadPart(mamba.head_dim).all_rows;
  const int64_t group = inner / mamba.GroupPart(1).all_rows;
  context.execution.pool.Run(rows, [&](int64_t row, int) {
    float* heads = buffers.heads.row(row);
    for (int64_t first = 0; first < inner; first += group) {
      context.execution.kernels.rms_norm({.x = heads + first,
                                          .x_stride = group,
                                          .weight = mamba.norm.data() + first,
                                          .y = heads + first,
                                          .y_stride = group,
                                          .rows = 1,
                                          .n = group,
                                          .eps = mamba.norm_epsilon});
    }
  });
}

// The channels of x, B and C of this rank, those of all beginning at row `first` of a tensor.
void AddChannels(const Mamba2& mamba, int64_t first, RowPieces* pieces) {
  const RowPart inner = mamba.HeadPart(mamba.head_dim);
  const RowPart shared = mamba.GroupPart(mamba.state_dim);
  pieces->Add(first + inner.first_row, inner.rows);
  pieces->Add(first + inner.all_rows + shared.first_row, shared.rows);
  pieces->Add(first + inner.all_rows + shared.all_rows + shared.first_row, shared.rows);
}

// Of all ranks.
int64_t ChannelCount(const Mamba2& mamba) {
  return mamba.HeadPart(mamba.head_dim).all_rows + 2 * mamba.GroupPart(mamba.state_dim).all_rows;
}

RowPieces ChannelsOf(const Mamba2& mamba) {
  RowPieces pieces = {.all_rows = ChannelCount(mamba)};
  AddChannels(mamba, 0, &pieces);
  return pieces;
}

// z, x, B, C, dt.
RowPieces InputRowsOf(const Mamba2& mamba) {
  const RowPart inner = mamba.HeadPart(mamba.head_dim);
  const RowPart heads = mamba.HeadPart(1);
  const int64_t steps = inner.all_rows + ChannelCount(mamba);
  RowPieces pieces = {.all_rows = steps + heads.all_rows};
  pieces.Add(inner.first_row, inner.rows);
  AddChannels(mamba, inner.all_rows, &pieces);
  pieces.Add(steps + heads.first_row, heads.rows);
  return pieces;
}

}  // namespace

Status Validate(const Mamba2& mamba, std::span<const Rope>) {
  RETURN_IF_ERROR(InRange("head count of the state space", mamba.heads, 1, kMaxHeads));
  RETURN_IF_ERROR(InRange("group count of the state space", mamba.groups, 1, mamba.heads));
  if (mamba.heads % mamba.groups != 0) {
    return Status(ErrorCode::kBadModel,
                  "head count of the state space " + std::to_string(mamba.heads) +
                      " is not a multiple of its group count " + std::to_string(mamba.groups));
  }
  RETURN_IF_ERROR(InRange("head length of the state space", mamba.head_dim, 1, kMaxHeadDim));
  RETURN_IF_ERROR(InRange("state length of the state space", mamba.state_dim, 1, kMaxHeadDim));
  RETURN_IF_ERROR(InRange("convolution length", mamba.taps, 2, kernels::kMaxConvTaps));
  RETURN_IF_ERROR(NotNegative("norm epsilon", mamba.norm_epsilon));
  return InRange("state of the state space", StateFloats(mamba), 1, kMaxStateFloats);
}

Status Split(const Rank& rank, Mamba2& mamba) {
  const std::optional<HeadShare> share = ShareHeads(rank, {mamba.heads, mamba.groups});
  if (!share) {
    return TooManyRanks(rank, std::to_string(mamba.heads) + " heads of the state space, " +
                                  std::to_string(mamba.heads / mamba.groups) + " of a group");
  }
  mamba.share = *share;
  mamba.heads = share->heads.rows;
  mamba.groups = share->groups.rows;
  mamba.output_rows = PanelsOf(mamba.width, rank);
  return Ok();
}

void Declare(Mamba2& mamba, TensorList& tensors) {
  const RowPart heads = mamba.HeadPart(1);
  const RowPart inner = mamba.HeadPart(mamba.head_dim);
  const RowPieces channels = ChannelsOf(mamba);
  tensors.MatrixPieces("ssm_in.weight", InputRowsOf(mamba), mamba.width, &mamba.input);
  tensors.TablePieces("ssm_conv1d.weight", channels, mamba.taps, &mamba.weights);
  tensors.VectorPieces("ssm_conv1d.bias", channels, &mamba.conv_bias);
  tensors.VectorPart("ssm_dt.bias", heads, &mamba.step_bias);
  tensors.TablePieces("ssm_a", PiecesOf(heads), 1, &mamba.decay_rate);
  tensors.TablePieces("ssm_d", PiecesOf(heads), 1, &mamba.skip);
  if (mamba.group_norm == GroupNorm::kRms) {
    const int64_t groups = mamba.GroupPart(1).all_rows;
    tensors.Table("ssm_norm.weight", groups, inner.all_rows / groups, &mamba.norm);
  }
  tensors.MatrixPart("ssm_out.weight", mamba.OutputPart(), inner.all_rows, &mamba.output);
}

Needs Size(const Mamba2& mamba, const StepLimits& limits) {
  Carver carver(nullptr);
  Layout(mamba, limits, carver);
  Needs needs = {.buffer_bytes = carver.used()};
  needs.AddInput(limits.rows, mamba.width);
  needs.AddInput(limits.rows, mamba.HeadPart(mamba.head_dim).all_rows);
  return needs;
}

kv::KvShape Cache(const Mamba2&) { return {}; }

int64_t StateFloats(const Mamba2& mamba) {
  return mamba.heads * mamba.head_floats() + (mamba.taps - 1) * mamba.channels();
}

void Run(const Mamba2& mamba, const Input& input, const MixerStep& step, const Context& context) {
  Carver carver(context.workspace.block);
  const Buffers buffers = Layout(mamba, context.workspace.limits(), carver);
  const std::array projection = {Product{&mamba.input, buffers.mixed}};
  Prepare(input, projection, context);
  Multiply(projection, input.row_count, Phase::kQkv, context);
  // All rows, also where nothing is wanted of them: the next step goes on from their state.
  Convolve(mamba, buffers, step, context);
  FinishSteps(mamba, buffers, input.row_count, context);
  ShowQueriesKeysAndValues(mamba, buffers, input.row_count, context.execution);
  Scan(mamba, buffers, step, context);
  if (step.kept == RowsKept::kOutputRows && step.batch.output_count() == 0) return;
  GateHeads(mamba, buffers, input.row_count, context);
  const RowPart inner = mamba.HeadPart(mamba.head_dim);
  const int64_t rows = KeepRows(step, inner.all_rows, buffers.heads);
  Gather(buffers.heads, rows, inner, Phase::kRecurrence, context);
  NormGroups(mamba, buffers, rows, context);
  MultiplyPart({buffers.heads, rows}, {&mamba.output, context.workspace.projected},
               mamba.OutputPart(), Phase::kOutput, context);
}

void AddWork(const Mamba2& mamba, const MixerShape& shape, StepWork& work) {
  const StepShape& step = shape.step;
  AddWork(std::array{&mamba.input}, step.rows, Phase::kQkv, work);
  const auto rows = static_cast<double>(step.rows);
  const auto channels = static_cast<double>(mamba.channels());
  const auto state = static_cast<double>(mamba.heads * mamba.head_floats());
  const auto states = static_cast<double>(step.sequences * StateFloats(mamba));
  // Decay, write, read of each element of the state; it is read and written once a step.
  work.Add({.phase = Phase::kRecurrence,
            .input = {step.rows, mamba.channels()},
            .other = {StateFloats(mamba)},
            .output = {step.rows, mamba.inner()},
            .work = {.float_macs = rows * (3 * state + channels * static_cast<double>(mamba.taps)),
                     .bytes = double{sizeof(float)} *
                              (rows * (3 * channels + 3 * static_cast<double>(mamba.inner())) +
                               2 * states)}});
  if (shape.rows_kept == 0) return;
  AddWork(std::array{&mamba.output}, shape.rows_kept, Phase::kOutput, work);
  AddGather(mamba.HeadPart(mamba.head_dim), shape.rows_kept, work);
  AddGather(mamba.OutputPart(), shape.rows_kept, work);
}

}  // namespace skald::model
