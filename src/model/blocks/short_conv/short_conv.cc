#include "model/blocks/short_conv/short_conv.h"

#include <array>
#include <string>

#include "base/status_macros.h"
#include "model/blocks/gathered.h"
#include "model/blocks/recurrence.h"
#include "model/checks.h"

namespace skald::model {
namespace {

struct Buffers {
  Rows projected;  // [rows][3 * channels]: B, C, X
  Rows mixed;      // [rows][width], of all ranks
};

Buffers Layout(const ShortConv& conv, const StepLimits& limits, Carver& carver) {
  Buffers buffers;
  buffers.projected = carver.Matrix(limits.rows, 3 * conv.Part().rows);
  buffers.mixed = carver.Matrix(limits.rows, conv.width);
  return buffers;
}

void Convolve(const ShortConv& conv, const Buffers& buffers, const MixerStep& step,
              const Context& context) {
  const ScopedPhase phase(context.execution.profile, Phase::kRecurrence);
  const int64_t own = conv.Part().rows;
  const Rows mixed = ColumnsOf(buffers.mixed, conv.Part());
  const auto convolve = [&](const SequenceStep& sequence, int64_t first, int64_t channels) {
    const float* projected = buffers.projected.row(sequence.first_row) + first;
    const int64_t stride = buffers.projected.stride;
    context.execution.kernels.conv({.x = projected + 2 * own,
                                    .x_stride = stride,
                                    .x_gate = projected,
                                    .x_gate_stride = stride,
                                    .y_gate = projected + own,
                                    .y_gate_stride = stride,
                                    .weights = conv.weights.data() + first * conv.taps,
                                    .state = sequence.state + first,
                                    .state_stride = own,
                                    .begins = sequence.begins,
                                    .y = mixed.row(sequence.first_row) + first,
                                    .y_stride = mixed.stride,
                                    .rows = sequence.rows,
                                    .channels = channels,
                                    .taps = conv.taps});
  };
  ForEachChannelRange(step, own, context, convolve);
}

}  // namespace

Status Validate(const ShortConv& conv, std::span<const Rope>) {
  return InRange("short convolution length", conv.taps, 2, kernels::kMaxConvTaps);
}

Status Split(const Rank& rank, ShortConv& conv) {
  const int64_t panels = DivCeil<int64_t>(conv.width, kernels::kPanelRows);
  if (rank.count > panels) {
    return TooManyRanks(rank, std::to_string(panels) + " panels of a short convolution");
  }
  conv.rows = PanelsOf(conv.width, rank);
  return Ok();
}

void Declare(ShortConv& conv, TensorList& tensors) {
  const RowPart own = conv.Part();
  RowPieces inputs = {.all_rows = 3 * conv.width};
  for (int64_t input = 0; input < 3; ++input) {
    inputs.Add(input * conv.width + own.first_row, own.rows);
  }
  tensors.MatrixPieces("shortconv.in_proj.weight", inputs, conv.width, &conv.input);
  tensors.TablePieces("shortconv.conv.weight", PiecesOf(own), conv.taps, &conv.weights);
  tensors.MatrixPart("shortconv.out_proj.weight", own, conv.width, &conv.output);
}

Needs Size(const ShortConv& conv, const StepLimits& limits) {
  Carver carver(nullptr);
  Layout(conv, limits, carver);
  Needs needs = {.buffer_bytes = carver.used()};
  needs.AddInput(limits.rows, conv.width);
  return needs;
}

kv::KvShape Cache(const ShortConv&) { return {}; }

int64_t StateFloats(const ShortConv& conv) { return (conv.taps - 1) * conv.Part().rows; }

void Run(const ShortConv& conv, const Input& input, const MixerStep& step, const Context& context) {
  Carver carver(context.workspace.block);
  const Buffers buffers = Layout(conv, context.workspace.limits(), carver);
  const std::array projection = {Product{&conv.input, buffers.projected}};
  Prepare(input, projection, context);
  Multiply(projection, input.row_count, Phase::kQkv, context);
  // All rows, also where nothing is wanted of them: the next step goes on from their state.
  Convolve(conv, buffers, step, context);
  const int64_t rows = KeepRows(step, conv.width, buffers.mixed);
  if (rows == 0) return;
  MultiplyPartedToAll({buffers.mixed, rows, RunsOf(conv.Part()), Phase::kRecurrence},
                      {&conv.output, context.workspace.projected}, conv.Part(), Phase::kOutput,
                      context);
}

void AddWork(const ShortConv& conv, const MixerShape& shape, StepWork& work) {
  const StepShape& step = shape.step;
  AddWork(std::array{&conv.input}, step.rows, Phase::kQkv, work);
  const int64_t channels = conv.Part().rows;
  const auto rows = static_cast<double>(step.rows * channels);
  const auto states = static_cast<double>(step.sequences * StateFloats(conv));
  // Three operands and a result a row; a state is read and written.
  work.Add({.phase = Phase::kRecurrence,
            .input = {step.rows, channels},
            .other = {StateFloats(conv)},
            .output = {step.rows, channels},
            .work = {.float_macs = rows * static_cast<double>(conv.taps),
                     .bytes = double{sizeof(float)} * (4 * rows + 2 * states)}});
  if (shape.rows_kept == 0) return;
  AddWork(std::array{&conv.output}, shape.rows_kept, Phase::kOutput, work);
  AddGather(conv.Part(), conv.output, shape.rows_kept, work);
  AddGather(conv.Part(), shape.rows_kept, work);
}

}  // namespace skald::model
