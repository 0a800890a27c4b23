#include "model/blocks/plain/plain.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/checked_math.h"
#include "model/blocks/gathered.h"
#include "model/checks.h"

namespace skald::model {
namespace {

Rows Layout(const Plain& plain, const StepLimits& limits, Carver& carver) {
  return carver.Matrix(limits.rows, plain.hidden);
}

// The product of up, and its activation.
void MultiplyUp(const Product& up, Activation function, int64_t row_count, const Context& context) {
  const Execution& execution = context.execution;
  const ScopedPhase phase(execution.profile, Phase::kGateUp);
  const kernels::PackedMatrix& matrix = *up.weights;
  const int64_t per_unit =
      PanelsPerUnit(matrix, row_count, execution.kernels, execution.pool.thread_count());
  const int64_t units = DivCeil(matrix.panel_count(), per_unit);
  execution.pool.Run(units, [&](int64_t unit, int worker) {
    const int64_t first = unit * per_unit;
    const int64_t count = std::min(per_unit, matrix.panel_count() - first);
    MultiplyPanelsPlain(up, function, {first, count, worker}, {0, row_count}, context);
  });
}

kernels::GeluFn FunctionOf(Activation function, const kernels::KernelTable& kernels) {
  switch (function) {
    case Activation::kGelu: return kernels.gelu;
    case Activation::kGeluErf: return kernels.gelu_erf;
    case Activation::kReluSquared: return kernels.relu_squared;
  }
  UNREACHABLE();
}

}  // namespace

void MultiplyPanelsPlain(const Product& up, Activation function, const PanelRange& panels,
                         const RowRange& rows, const Context& context) {
  const auto apply = FunctionOf(function, context.execution.kernels);
  MultiplyPanels(up, panels, rows, context);
  const int64_t column = panels.first * kernels::kPanelRows;
  const int64_t columns = std::min(panels.count * kernels::kPanelRows, up.weights->rows - column);
  for (int64_t row = rows.first; row < rows.first + rows.count; ++row) {
    float* out = up.out.row(row) + column;
    apply(out, out, columns);
  }
}

Status Validate(const Plain& plain) {
  return InRange("feed forward length", plain.hidden, 1, kMaxWidth);
}

Status Split(const Rank& rank, Plain& plain) {
  plain.hidden_rows = PanelsOf(plain.hidden, rank);
  plain.output_rows = PanelsOf(plain.width, rank);
  return Ok();
}

void Declare(Plain& plain, TensorList& tensors) {
  const RowPart own = plain.HiddenPart();
  const RowPart output = plain.OutputPart();
  tensors.MatrixPart("ffn_up.weight", own, plain.width, &plain.up);
  tensors.VectorPart("ffn_up.bias", own, &plain.up_bias, Presence::kOptional);
  tensors.MatrixPart("ffn_down.weight", output, plain.hidden, &plain.down);
  tensors.VectorPart("ffn_down.bias", output, &plain.down_bias, Presence::kOptional);
}

Needs Size(const Plain& plain, const StepLimits& limits) {
  Carver carver(nullptr);
  Layout(plain, limits, carver);
  Needs needs = {.buffer_bytes = carver.used()};
  needs.AddInput(limits.rows, plain.width);
  needs.AddInput(limits.rows, plain.hidden);
  return needs;
}

void Run(const Plain& plain, const Input& input, const Context& context) {
  Carver carver(context.workspace.block);
  const Rows hidden = Layout(plain, context.workspace.limits(), carver);
  const RowPart own = plain.HiddenPart();
  const std::array up = {Product{&plain.up, ColumnsOf(hidden, own), plain.up_bias}};
  Prepare(input, up, context);
  MultiplyUp(up[0], plain.function, input.row_count, context);
  MultiplyPartedToAll({hidden, input.row_count, RunsOf(own), Phase::kGateUp},
                      {&plain.down, context.workspace.projected, plain.down_bias},
                      plain.OutputPart(), Phase::kDown, context);
}

void AddWork(const Plain& plain, int64_t rows, StepWork& work) {
  AddWork(std::array{&plain.up}, rows, Phase::kGateUp, work);
  AddWork(std::array{&plain.down}, rows, Phase::kDown, work);
  AddGather(plain.HiddenPart(), plain.down, rows, work);
  AddGather(plain.OutputPart(), rows, work);
}

}  // namespace skald::model
