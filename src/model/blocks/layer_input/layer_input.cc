#include "model/blocks/layer_input/layer_input.h"

#include <array>

#include "model/blocks/gathered.h"
#include "model/checks.h"

namespace skald::model {

Status Validate(const LayerInput& block) {
  return InRange("embedding length per layer input", block.inner, 1, kMaxWidth);
}

void Split(const Rank& rank, LayerInput& block) {
  block.gate_rows = PanelsOf(block.inner, rank);
  block.projection_rows = PanelsOf(block.width, rank);
}

void Declare(LayerInput& block, TensorList& tensors) {
  tensors.MatrixPart("inp_gate.weight", block.GatePart(), block.width, &block.gate);
  tensors.MatrixPart("proj.weight", block.ProjectionPart(), block.inner, &block.projection);
}

Needs Size(const LayerInput& block, const StepLimits& limits) {
  Carver carver(nullptr);
  carver.Matrix(limits.rows, block.inner);
  Needs needs = {.buffer_bytes = carver.used()};
  needs.AddInput(limits.rows, block.width);
  needs.AddInput(limits.rows, block.inner);
  return needs;
}

void Run(const LayerInput& block, const Input& input, const Context& context) {
  Carver carver(context.workspace.block);
  const Rows gated = carver.Matrix(context.workspace.limits().rows, block.inner);
  const RowPart own = block.GatePart();
  const Rows part = ColumnsOf(gated, own);
  const std::array gate = {Product{&block.gate, part}};
  Prepare(input, gate, context);
  Multiply(gate, input.row_count, Phase::kGateUp, context);
  context.execution.pool.Run(input.row_count, [&](int64_t row, int) {
    const float* e = context.workspace.layer_inputs.row(row) + block.first + own.first_row;
    context.execution.kernels.geglu(part.row(row), e, part.row(row), own.rows);
  });
  MultiplyPartedToAll({gated, input.row_count, RunsOf(own), Phase::kGateUp},
                      {&block.projection, context.workspace.projected}, block.ProjectionPart(),
                      Phase::kDown, context);
}

void AddWork(const LayerInput& block, int64_t rows, StepWork& work) {
  AddWork(std::array{&block.gate}, rows, Phase::kGateUp, work);
  AddWork(std::array{&block.projection}, rows, Phase::kDown, work);
  AddGather(block.GatePart(), block.projection, rows, work);
  AddGather(block.ProjectionPart(), rows, work);
}

}  // namespace skald::model
