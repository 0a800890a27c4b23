#include "model/blocks/delta_net/delta_net.h"

#include <algorithm>
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
  Rows mixed;  // [rows][channels]: queries, keys, values; in place of the values what is read
  Rows z;      // [rows][value_width]
  Rows gated;  // [rows][value_width of all ranks]: the gated heads
  Rows decay;  // [rows][value_heads]
  Rows beta;   // [rows][value_heads]
  Rows fused;  // [rows][2 * value_heads], of fused gates
  Rows joint;  // [rows][channels + value_width], of fused projections
};

Buffers Layout(const DeltaNet& net, const StepLimits& limits, Carver& carver) {
  Buffers buffers;
  buffers.mixed = carver.Matrix(limits.rows, net.channels());
  buffers.z = carver.Matrix(limits.rows, net.value_width());
  const int64_t all_values = net.all_value_heads() * net.value_dim;
  const bool alone = all_values == net.value_width();
  buffers.gated = alone ? buffers.z : carver.Matrix(limits.rows, all_values);
  buffers.decay = carver.Matrix(limits.rows, net.value_heads);
  buffers.beta = carver.Matrix(limits.rows, net.value_heads);
  if (net.gates == Fusion::kFused) {
    buffers.fused = carver.Matrix(limits.rows, 2 * net.value_heads);
  }
  if (net.projections == Fusion::kFused) {
    buffers.joint = carver.Matrix(limits.rows, net.channels() + net.value_width());
  }
  return buffers;
}

int64_t KeyHeadOf(const DeltaNet& net, int64_t value_head) {
  return net.order == KeyHeadOrder::kModulo ? value_head % net.key_heads
                                            : value_head / (net.value_heads / net.key_heads);
}

// Queries, keys, values and z of a row, each in one piece.
void SplitProjections(const DeltaNet& net, const Buffers& buffers, int64_t row) {
  const float* from = buffers.joint.row(row);
  float* query = buffers.mixed.row(row);
  float* value = query + 2 * net.key_width();
  float* z = buffers.z.row(row);
  const int64_t values = net.value_width() / net.key_heads;
  for (int64_t head = 0; head < net.key_heads; ++head) {
    std::copy_n(from, net.key_dim, query + head * net.key_dim);
    from += net.key_dim;
    std::copy_n(from, net.key_dim, query + net.key_width() + head * net.key_dim);
    from += net.key_dim;
    std::copy_n(from, values, value + head * values);
    from += values;
    std::copy_n(from, values, z + head * values);
    from += values;
  }
}

void Project(const DeltaNet& net, const Input& input, const Buffers& buffers,
             const Context& context) {
  const bool joint = net.projections == Fusion::kFused;
  const bool fused = net.gates == Fusion::kFused;
  std::array<Product, 4> products = {};
  size_t count = 0;
  products[count++] = {&net.qkv, joint ? buffers.joint : buffers.mixed};
  if (!joint) products[count++] = {&net.z, buffers.z};
  products[count++] = {&net.beta, fused ? buffers.fused : buffers.beta};
  if (!fused) products[count++] = {&net.decay, buffers.decay};
  const auto used = std::span(products).first(count);
  Prepare(input, used, context);
  Multiply(used, input.row_count, Phase::kQkv, context);
  if (!joint) return;
  context.execution.pool.Run(input.row_count,
                             [&](int64_t row, int) { SplitProjections(net, buffers, row); });
}

void Convolve(const DeltaNet& net, const Buffers& buffers, const MixerStep& step,
              const Context& context) {
  const ScopedPhase phase(context.execution.profile, Phase::kRecurrence);
  const auto convolve = [&](const SequenceStep& sequence, int64_t first, int64_t channels) {
    float* rows = buffers.mixed.row(sequence.first_row) + first;
    context.execution.kernels.conv(
        {.x = rows,
         .x_stride = buffers.mixed.stride,
         .weights = net.weights.data() + first * net.taps,
         .state = sequence.state + net.value_heads * net.head_floats() + first,
         .state_stride = net.channels(),
         .begins = sequence.begins,
         .activation = kernels::ConvActivation::kSilu,
         .y = rows,
         .y_stride = buffers.mixed.stride,
         .rows = sequence.rows,
         .channels = channels,
         .taps = net.taps});
  };
  ForEachChannelRange(step, net.channels(), context, convolve);
}

// The gates of one row, each value head's at its index.
void FinishGates(const DeltaNet& net, const Buffers& buffers, int64_t row) {
  float* decay = buffers.decay.row(row);
  float* beta = buffers.beta.row(row);
  const int64_t group = net.value_heads / net.key_heads;
  for (int64_t head = 0; head < net.value_heads; ++head) {
    if (net.gates == Fusion::kFused) {
      const float* fused = buffers.fused.row(row) + head / group * 2 * group + head % group;
      beta[head] = fused[0];
      decay[head] = fused[group];
    }
    const auto h = static_cast<size_t>(head);
    beta[head] = kernels::Sigmoid(beta[head]);
    const float step = kernels::Softplus(decay[head] + net.decay_bias[h]);
    decay[head] = kernels::Decay(step, net.decay_rate[h]);
  }
}

// Queries, keys and gates of every row.
void FinishRows(const DeltaNet& net, const Buffers& buffers, int64_t rows, const Context& context) {
  const ScopedPhase phase(context.execution.profile, Phase::kRecurrence);
  const float scale = DefaultAttentionScale(net.key_dim);
  context.execution.pool.Run(rows, [&](int64_t row, int) {
    float* heads = buffers.mixed.row(row);
    context.execution.kernels.l2_norm(
        {.x = heads, .heads = net.key_heads, .n = net.key_dim, .scale = scale});
    context.execution.kernels.l2_norm(
        {.x = heads + net.key_width(), .heads = net.key_heads, .n = net.key_dim});
    FinishGates(net, buffers, row);
  });
}

// What the delta rule is about to read of these rows; it writes over the values.
void ShowQueriesKeysAndValues(const DeltaNet& net, const Buffers& buffers, int64_t rows,
                              const Execution& execution) {
  const auto from = [&](int64_t first) {
    return Rows{buffers.mixed.data + first, buffers.mixed.stride};
  };
  const int64_t keys = net.key_width();
  ShowValues(ValueRole::kQuery, from(0), rows, keys, execution);
  ShowValues(ValueRole::kKey, from(keys), rows, keys, execution);
  ShowValues(ValueRole::kValue, from(2 * keys), rows, net.value_width(), execution);
}

void Recur(const DeltaNet& net, const Buffers& buffers, const MixerStep& step,
           const Context& context) {
  const ScopedPhase phase(context.execution.profile, Phase::kRecurrence);
  const auto sequences = static_cast<int64_t>(step.batch.sequences.size());
  context.execution.pool.Run(sequences * net.value_heads, [&](int64_t unit, int) {
    const SequenceStep sequence = SequenceAt(step, unit / net.value_heads, context);
    const int64_t head = unit % net.value_heads;
    float* rows = buffers.mixed.row(sequence.first_row);
    const int64_t stride = buffers.mixed.stride;
    const float* query = rows + KeyHeadOf(net, head) * net.key_dim;
    float* value = rows + 2 * net.key_width() + head * net.value_dim;
    context.execution.kernels.delta({.query = query,
                                     .query_stride = stride,
                                     .key = query + net.key_width(),
                                     .key_stride = stride,
                                     .value = value,
                                     .value_stride = stride,
                                     .decay = buffers.decay.row(sequence.first_row) + head,
                                     .decay_stride = buffers.decay.stride,
                                     .beta = buffers.beta.row(sequence.first_row) + head,
                                     .beta_stride = buffers.beta.stride,
                                     .state = sequence.state + head * net.head_floats(),
                                     .begins = sequence.begins,
                                     .out = value,
                                     .out_stride = stride,
                                     .rows = sequence.rows,
                                     .key_dim = net.key_dim,
                                     .value_dim = net.value_dim});
  });
}

// Norms the heads of each row and gates them, to their places among those of all.
void GateHeads(const DeltaNet& net, const Buffers& buffers, int64_t rows, const Context& context) {
  const ScopedPhase phase(context.execution.profile, Phase::kRecurrence);
  const ColumnRuns own = net.ValueRuns(net.value_dim);
  context.execution.pool.Run(rows, [&](int64_t row, int) {
    float* heads = buffers.mixed.row(row) + 2 * net.key_width();
    context.execution.kernels.rms_norm({.x = heads,
                                        .x_stride = net.value_dim,
                                        .weight = net.norm.data(),
                                        .y = heads,
                                        .y_stride = net.value_dim,
                                        .rows = net.value_heads,
                                        .n = net.value_dim,
                                        .eps = net.norm_epsilon});
    for (int64_t run = 0; run < own.runs; ++run) {
      const int64_t first = run * own.count;
      float* gated = buffers.gated.row(row) + own.first + run * own.run_stride;
      context.execution.kernels.swiglu(buffers.z.row(row) + first, heads + first, gated, own.count);
    }
  });
}

}  // namespace

Status Validate(const DeltaNet& net, std::span<const Rope>) {
  RETURN_IF_ERROR(InRange("key head count of the delta rule", net.key_heads, 1, kMaxHeads));
  RETURN_IF_ERROR(InRange("value head count of the delta rule", net.value_heads, 1, kMaxHeads));
  if (net.value_heads % net.key_heads != 0) {
    return Status(ErrorCode::kBadModel,
                  "value head count of the delta rule " + std::to_string(net.value_heads) +
                      " is not a multiple of its key head count " + std::to_string(net.key_heads));
  }
  RETURN_IF_ERROR(InRange("key length of the delta rule", net.key_dim, 1, kMaxHeadDim));
  RETURN_IF_ERROR(InRange("value length of the delta rule", net.value_dim, 1, kMaxHeadDim));
  RETURN_IF_ERROR(InRange("convolution length", net.taps, 2, kernels::kMaxConvTaps));
  RETURN_IF_ERROR(NotNegative("norm epsilon", net.norm_epsilon));
  return InRange("state of the delta rule", StateFloats(net), 1, kMaxStateFloats);
}

Needs Size(const DeltaNet& net, const StepLimits& limits) {
  Carver carver(nullptr);
  Layout(net, limits, carver);
  Needs needs = {.buffer_bytes = carver.used()};
  needs.AddInput(limits.rows, net.width);
  needs.AddInput(limits.rows, net.all_value_heads() * net.value_dim);
  return needs;
}

kv::KvShape Cache(const DeltaNet&) { return {}; }

int64_t StateFloats(const DeltaNet& net) {
  return net.value_heads * net.head_floats() + (net.taps - 1) * net.channels();
}

void Run(const DeltaNet& net, const Input& input, const MixerStep& step, const Context& context) {
  Carver carver(context.workspace.block);
  const Buffers buffers = Layout(net, context.workspace.limits(), carver);
  Project(net, input, buffers, context);
  // All rows, also where nothing is wanted of them: the next step goes on from their state.
  Convolve(net, buffers, step, context);
  FinishRows(net, buffers, input.row_count, context);
  ShowQueriesKeysAndValues(net, buffers, input.row_count, context.execution);
  Recur(net, buffers, step, context);
  if (step.kept == RowsKept::kOutputRows && step.batch.output_count() == 0) return;
  GateHeads(net, buffers, input.row_count, context);
  const int64_t rows = KeepRows(step, net.all_value_heads() * net.value_dim, buffers.gated);
  MultiplyPartedToAll({buffers.gated, rows, net.ValueRuns(net.value_dim), Phase::kRecurrence},
                      {&net.output, context.workspace.projected}, net.OutputPart(), Phase::kOutput,
                      context);
}

void AddWork(const DeltaNet& net, const MixerShape& shape, StepWork& work) {
  const StepShape& step = shape.step;
  // A fused matrix has the rows of both.
  std::array<const kernels::PackedMatrix*, 4> projections = {&net.qkv, &net.beta};
  size_t count = 2;
  if (net.projections == Fusion::kSeparate) projections[count++] = &net.z;
  if (net.gates == Fusion::kSeparate) projections[count++] = &net.decay;
  AddWork(std::span(projections).first(count), step.rows, Phase::kQkv, work);
  const auto rows = static_cast<double>(step.rows);
  const auto channels = static_cast<double>(net.channels());
  const auto state = static_cast<double>(net.value_heads * net.head_floats());
  const auto states = static_cast<double>(step.sequences * StateFloats(net));
  // Decay, read, write, read of each element of the state; it is read and written once a step.
  work.Add({.phase = Phase::kRecurrence,
            .input = {step.rows, net.channels()},
            .other = {StateFloats(net)},
            .output = {step.rows, net.value_width()},
            .work = {.float_macs = rows * (4 * state + channels * static_cast<double>(net.taps)),
                     .bytes = double{sizeof(float)} *
                              (rows * (4 * channels + 2 * static_cast<double>(net.value_width())) +
                               2 * states)}});
  if (shape.rows_kept == 0) return;
  AddWork(std::array{&net.output}, shape.rows_kept, Phase::kOutput, work);
  AddGather(net.ValueRuns(net.value_dim), net.all_value_heads() * net.value_dim, net.output,
            shape.rows_kept, work);
  AddGather(net.OutputPart(), shape.rows_kept, work);
}

}  // namespace skald::model
