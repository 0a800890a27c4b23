#include "model/blocks/gated/gated.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/check.h"
#include "base/status_macros.h"
#include "model/blocks/gathered.h"
#include "model/checks.h"
#include "model/means.h"

namespace skald::model {
namespace {

struct Buffers {
  Rows gate;  // [rows][hidden]; then the product of both
  Rows up;    // [rows][hidden of this rank]
};

Buffers Layout(const Gated& gated, const StepLimits& limits, Carver& carver) {
  Buffers buffers;
  buffers.gate = carver.Matrix(limits.rows, gated.hidden);
  buffers.up = carver.Matrix(limits.rows, gated.HiddenPart().rows);
  return buffers;
}

// The products of gate and up, joined while both are in the cache.
void MultiplyGated(const GatedProducts& products, int64_t row_count, const Context& context) {
  const Execution& execution = context.execution;
  const ScopedPhase phase(execution.profile, Phase::kGateUp);
  const kernels::PackedMatrix& matrix = *products.gate.weights;
  CHECK(matrix.rows == products.up.weights->rows);
  // One matrix after the other is a share of L2, as in Multiply: with a share for both together,
  // twice as many units pass over all tiles, and prefill loses 3 to 10 %.
  const int64_t panels_per_unit =
      PanelsPerUnit(matrix, row_count, execution.kernels, execution.pool.thread_count());
  const int64_t units = DivCeil(matrix.panel_count(), panels_per_unit);
  execution.pool.Run(units, [&](int64_t unit, int worker) {
    const int64_t first = unit * panels_per_unit;
    const PanelRange panels = {first, std::min(panels_per_unit, matrix.panel_count() - first),
                               worker};
    MultiplyPanelsGated(products, panels, {0, row_count}, context);
  });
}

// Cuts the gates of a row.
void CutGates(const Gated& gated, float* gates) {
  const float mean = Mean(gates, gated.hidden);
  const float sum = SumOfSquaresAround(mean, gates, gated.hidden);
  const int64_t count = gated.hidden - int64_t{gated.spread == Spread::kOfOneLess};
  const float deviation = std::sqrt(sum / static_cast<float>(count));
  const float cut = mean + gated.sparsity * deviation;
  for (int64_t i = 0; i < gated.hidden; ++i) {
    const float above = gates[i] - cut;
    gates[i] = above < 0 ? 0 : above;  // NaN stays
  }
}

kernels::SwigluFn JoinOf(Gate function, const kernels::KernelTable& kernels) {
  switch (function) {
    case Gate::kSilu: return kernels.swiglu;
    case Gate::kGelu: return kernels.geglu;
    case Gate::kGeluErf: return kernels.geglu_erf;
    case Gate::kClampedSilu: return kernels.swiglu_clamped;
  }
  UNREACHABLE();
}

// The same for gates that are cut: where the cut is, the whole row says, so it is gathered
// before.
void MultiplySparse(const Gated& gated, const Buffers& buffers, int64_t row_count,
                    const Context& context) {
  const RowPart part = gated.HiddenPart();
  const Rows own = ColumnsOf(buffers.gate, part);
  Multiply(std::array{Product{&gated.gate, own}, Product{&gated.up, buffers.up}}, row_count,
           Phase::kGateUp, context);
  Gather(buffers.gate, row_count, part, Phase::kGateUp, context);
  const ScopedPhase phase(context.execution.profile, Phase::kGateUp);
  const auto join = JoinOf(gated.function, context.execution.kernels);
  context.execution.pool.Run(row_count, [&](int64_t row, int) {
    CutGates(gated, buffers.gate.row(row));
    join(own.row(row), buffers.up.row(row), own.row(row), part.rows);
  });
}

}  // namespace

void MultiplyPanelsGated(const GatedProducts& products, const PanelRange& panels,
                         const RowRange& rows, const Context& context) {
  const auto& [gate, up, function, limit] = products;
  const kernels::KernelTable& kernels = context.execution.kernels;
  const auto join = JoinOf(function, kernels);
  MultiplyPanels(gate, panels, rows, context);
  MultiplyPanels(up, panels, rows, context);
  const int64_t column = panels.first * kernels::kPanelRows;
  const int64_t columns = std::min(panels.count * kernels::kPanelRows, gate.weights->rows - column);
  for (int64_t row = rows.first; row < rows.first + rows.count; ++row) {
    float* out = gate.out.row(row) + column;
    const float* factor = up.out.row(row) + column;
    if (limit == 0) {
      join(out, factor, out, columns);
    } else {
      kernels.swiglu_limited(limit, out, factor, out, columns);
    }
  }
}

Status Validate(const Gated& gated) {
  RETURN_IF_ERROR(NotNegative("limit of the gates", gated.limit));
  CHECK(gated.limit == 0 || gated.function == Gate::kSilu);
  CHECK(gated.limit == 0 || gated.sparsity == 0);
  RETURN_IF_ERROR(NotNegative("activation sparsity", gated.sparsity));
  // A deviation of one is none.
  return InRange("feed forward length", gated.hidden, gated.sparsity > 0 ? 2 : 1, kMaxWidth);
}

Status Split(const Rank& rank, Gated& gated) {
  gated.hidden_rows = PanelsOf(gated.hidden, rank);
  gated.output_rows = PanelsOf(gated.width, rank);
  return Ok();
}

void Declare(Gated& gated, TensorList& tensors) {
  const RowPart own = gated.HiddenPart();
  if (gated.fusion == Fusion::kFused) {
    const RowPart gates = {own.first_row, own.rows, 2 * own.all_rows};
    const RowPart ups = {own.all_rows + own.first_row, own.rows, 2 * own.all_rows};
    tensors.MatrixPart("ffn_up.weight", gates, gated.width, &gated.gate);
    tensors.MatrixPart("ffn_up.weight", ups, gated.width, &gated.up);
  } else {
    tensors.MatrixPart("ffn_gate.weight", own, gated.width, &gated.gate);
    tensors.MatrixPart("ffn_up.weight", own, gated.width, &gated.up);
  }
  const RowPart output = gated.OutputPart();
  tensors.MatrixPart("ffn_down.weight", output, gated.hidden, &gated.down);
  tensors.VectorPart("ffn_down.bias", output, &gated.down_bias, Presence::kOptional);
}

Needs Size(const Gated& gated, const StepLimits& limits) {
  Carver carver(nullptr);
  Layout(gated, limits, carver);
  Needs needs = {.buffer_bytes = carver.used()};
  needs.AddInput(limits.rows, gated.width);
  needs.AddInput(limits.rows, gated.hidden);
  return needs;
}

void Run(const Gated& gated, const Input& input, const Context& context) {
  Carver carver(context.workspace.block);
  const Buffers buffers = Layout(gated, context.workspace.limits(), carver);
  const RowPart own = gated.HiddenPart();
  const Product gate = {&gated.gate, ColumnsOf(buffers.gate, own)};
  const Product up = {&gated.up, buffers.up};
  Prepare(input, std::array{gate, up}, context);
  if (gated.sparsity > 0) {
    MultiplySparse(gated, buffers, input.row_count, context);
  } else {
    MultiplyGated({gate, up, gated.function, gated.limit}, input.row_count, context);
  }
  MultiplyPartedToAll({buffers.gate, input.row_count, RunsOf(own), Phase::kGateUp},
                      {&gated.down, context.workspace.projected, gated.down_bias},
                      gated.OutputPart(), Phase::kDown, context);
}

void AddWork(const Gated& gated, int64_t rows, StepWork& work) {
  AddWork(std::array{&gated.gate, &gated.up}, rows, Phase::kGateUp, work);
  AddWork(std::array{&gated.down}, rows, Phase::kDown, work);
  // Gates that are cut are gathered before, too.
  if (gated.sparsity > 0) AddGather(gated.HiddenPart(), rows, work);
  AddGather(gated.HiddenPart(), gated.down, rows, work);
  AddGather(gated.OutputPart(), rows, work);
}

}  // namespace skald::model
