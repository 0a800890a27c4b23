#include "model/layer_inputs.h"

#include <array>
#include <cmath>

#include "base/checked_math.h"
#include "base/status_macros.h"
#include "model/blocks/gathered.h"
#include "model/checks.h"

namespace skald::model {
namespace {

// A row of the table as floats, and what reading it takes.
int64_t RowFloatBytes(const LayerInputs& inputs) {
  return RoundUp<int64_t>(inputs.row_width() * int64_t{sizeof(float)}, 64);
}

// Roots in double, rounded once; sqrt is correctly rounded everywhere.
struct Factors {
  float projection;  // 1 / sqrt(width)
  float table;       // sqrt(inner)
  float sum;         // 1 / sqrt(2)
};

Factors FactorsOf(const LayerInputs& inputs) {
  return {.projection = static_cast<float>(1 / std::sqrt(static_cast<double>(inputs.width))),
          .table = static_cast<float>(std::sqrt(static_cast<double>(inputs.inner))),
          .sum = static_cast<float>(1 / std::sqrt(2.0))};
}

}  // namespace

Status Validate(const LayerInputs& inputs) {
  if (inputs.inner == 0) return Ok();
  RETURN_IF_ERROR(InRange("embedding length per layer input", inputs.inner, 1, kMaxWidth));
  RETURN_IF_ERROR(InRange("layer inputs of a token", inputs.row_width(), 1, kMaxWidth));
  return Validate(inputs.norm);
}

void Split(const Rank& rank, LayerInputs& inputs) {
  if (inputs.exist()) inputs.rows = PanelsOf(inputs.row_width(), rank);
}

void Declare(LayerInputs& inputs, TensorList& tensors) {
  if (!inputs.exist()) return;
  const int64_t row = inputs.row_width();
  tensors.RowTable("per_layer_token_embd.weight", inputs.vocab, row, &inputs.table);
  tensors.MatrixPart("per_layer_model_proj.weight", inputs.Part(), inputs.width,
                     &inputs.projection);
  Declare(inputs.norm, "per_layer_proj_norm", inputs.inner, tensors);
}

Needs Size(const LayerInputs& inputs, const StepLimits& limits) {
  if (!inputs.exist()) return {};
  Needs needs = {.scratch_bytes = RowFloatBytes(inputs) + inputs.table.scratch_bytes()};
  needs.AddInput(limits.rows, inputs.width);
  return needs;
}

void Run(const LayerInputs& inputs, const StepBatch& batch, const Context& context) {
  const Workspace& space = context.workspace;
  const kernels::KernelTable& kernels = context.execution.kernels;
  const Rows own = ColumnsOf(space.layer_inputs, inputs.Part());
  const std::array projection = {Product{&inputs.projection, own}};
  const int64_t rows = batch.row_count();
  Prepare({.rows = space.residual, .row_count = rows}, projection, context);
  Multiply(projection, rows, Phase::kEmbed, context);
  Gather(space.layer_inputs, rows, inputs.Part(), Phase::kEmbed, context);
  const Factors factors = FactorsOf(inputs);
  const ScopedPhase phase(context.execution.profile, Phase::kEmbed);
  context.execution.pool.Run(rows, [&](int64_t row, int worker) {
    float* x = space.layer_inputs.row(row);
    const int64_t n = inputs.row_width();
    for (int64_t i = 0; i < n; ++i) x[i] = x[i] * factors.projection;
    Normalize(inputs.norm,
              {.x = x,
               .x_stride = inputs.inner,
               .y = x,
               .y_stride = inputs.inner,
               .rows = inputs.layers,
               .n = inputs.inner},
              kernels);
    std::byte* scratch = space.matmul_scratch(worker);
    auto* token = reinterpret_cast<float*>(scratch);
    inputs.table.Row(batch.tokens[static_cast<size_t>(row)], scratch + RowFloatBytes(inputs),
                     token);
    for (int64_t i = 0; i < n; ++i) x[i] = (x[i] + token[i] * factors.table) * factors.sum;
  });
}

void AddWork(const LayerInputs& inputs, int64_t rows, StepWork& work) {
  if (!inputs.exist()) return;
  AddWork(std::array{&inputs.projection}, rows, Phase::kEmbed, work);
  AddGather(inputs.Part(), rows, work);
  // The row of the table is counted as floats.
  work[Phase::kEmbed].bytes +=
      static_cast<double>(rows * inputs.row_width()) * 2 * double{sizeof(float)};
}

}  // namespace skald::model
