#include "model/blocks/mamba2/mamba2.h"

#include <array>
#include <string>

#include "base/status_macros.h"
#include "model/blocks/recurrence.h"
#include "model/checks.h"

namespace skald::model {
namespace {

struct Buffers {
  Rows mixed;  // [rows][input_rows]: z, x, B, C, dt
  Rows step;   // [rows][heads]
  Rows decay;  // [rows][heads]
  Rows heads;  // [rows][inner]
};

Buffers Layout(const Mamba2& mamba, const StepLimits& limits, Carver& carver) {
  Buffers buffers;
  buffers.mixed = carver.Matrix(limits.rows, mamba.input_rows());
  buffers.step = carver.Matrix(limits.rows, mamba.heads);
  buffers.decay = carver.Matrix(limits.rows, mamba.heads);
  buffers.heads = carver.Matrix(limits.rows, mamba.inner());
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

void Scan(const Mamba2& mamba, const Buffers& buffers, const MixerStep& step,
          const Context& context) {
  const ScopedPhase phase(context.execution.profile, Phase::kRecurrence);
  const auto sequences = static_cast<int64_t>(step.batch.sequences.size());
  context.execution.pool.Run(sequences * mamba.heads, [&](int64_t unit, int) {
    const SequenceStep sequence = SequenceAt(step, unit / mamba.heads, context);
    const int64_t head = unit % mamba.heads;
    const int64_t group = head / (mamba.heads / mamba.groups);
    const float* rows = buffers.mixed.row(sequence.first_row) + mamba.inner();
    const float* b = rows + mamba.inner() + group * mamba.state_dim;
    context.execution.kernels.scan(
        {.x = rows + head * mamba.head_dim,
         .b = b,
         .c = b + mamba.groups * mamba.state_dim,
         .row_stride = buffers.mixed.stride,
         .decay = buffers.decay.row(sequence.first_row) + head,
         .step = buffers.step.row(sequence.first_row) + head,
         .gate_stride = buffers.step.stride,
         .skip = mamba.skip[static_cast<size_t>(head)],
         .state = sequence.state + head * mamba.head_floats(),
         .begins = sequence.begins,
         .y = buffers.heads.row(sequence.first_row) + head * mamba.head_dim,
         .y_stride = buffers.heads.stride,
         .rows = sequence.rows,
         .state_dim = mamba.state_dim,
         .head_dim = mamba.head_dim});
  });
}

// Gates the heads of each row, then norms their groups, where they are normed.
void GateHeads(const Mamba2& mamba, const Buffers& buffers, int64_t rows, const Context& context) {
  const ScopedPhase phase(context.execution.profile, Phase::kRecurrence);
  const int64_t group = mamba.inner() / mamba.groups;
  context.execution.pool.Run(rows, [&](int64_t row, int) {
    float* heads = buffers.heads.row(row);
    context.execution.kernels.swiglu(buffers.mixed.row(row), heads, heads, mamba.inner());
    if (mamba.group_norm == GroupNorm::kNone) return;
    for (int64_t first = 0; first < mamba.inner(); first += group) {
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

void Declare(Mamba2& mamba, TensorList& tensors) {
  tensors.Matrix("ssm_in.weight", mamba.input_rows(), mamba.width, &mamba.input);
  tensors.Table("ssm_conv1d.weight", mamba.channels(), mamba.taps, &mamba.weights);
  tensors.Vector("ssm_conv1d.bias", mamba.channels(), &mamba.conv_bias);
  tensors.Vector("ssm_dt.bias", mamba.heads, &mamba.step_bias);
  tensors.Table("ssm_a", mamba.heads, 1, &mamba.decay_rate);
  tensors.Table("ssm_d", mamba.heads, 1, &mamba.skip);
  if (mamba.group_norm == GroupNorm::kRms) {
    tensors.Table("ssm_norm.weight", mamba.groups, mamba.inner() / mamba.groups, &mamba.norm);
  }
  tensors.Matrix("ssm_out.weight", mamba.width, mamba.inner(), &mamba.output);
}

Needs Size(const Mamba2& mamba, const StepLimits& limits) {
  Carver carver(nullptr);
  Layout(mamba, limits, carver);
  Needs needs = {.buffer_bytes = carver.used()};
  needs.AddInput(limits.rows, mamba.width);
  needs.AddInput(limits.rows, mamba.inner());
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
  Scan(mamba, buffers, step, context);
  if (step.kept == RowsKept::kOutputRows && step.batch.output_count() == 0) return;
  GateHeads(mamba, buffers, input.row_count, context);
  const int64_t rows = KeepRows(step, mamba.inner(), buffers.heads);
  MultiplyRows({buffers.heads, rows}, {&mamba.output, context.workspace.projected}, Phase::kOutput,
               context);
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
}

}  // namespace skald::model
