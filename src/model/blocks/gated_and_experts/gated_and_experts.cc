#include "model/blocks/gated_and_experts/gated_and_experts.h"

#include <algorithm>

#include "base/status_macros.h"

namespace skald::model {
namespace {

// What the gated feed-forward gave, behind all that the two blocks write between their matrices:
// they run one after the other and share that.
Rows Layout(const GatedAndExperts& both, const StepLimits& limits, Carver& carver) {
  carver.Bytes(std::max(Size(both.gated, limits).buffer_bytes,  //
                        Size(both.experts, limits).buffer_bytes));
  return carver.Matrix(limits.rows, both.gated.width);
}

// Norms what stands in workspace.projected into `to`.
void NormResult(const Norm& norm, const Rows& to, int64_t row, int64_t width,
                const Context& context) {
  const Rows& from = context.workspace.projected;
  Normalize(norm,
            {.x = from.row(row),
             .x_stride = from.stride,
             .y = to.row(row),
             .y_stride = to.stride,
             .rows = 1,
             .n = width},
            context.execution.kernels);
}

}  // namespace

Status Validate(const GatedAndExperts& both) {
  for (const Norm* norm : {&both.gated_output_norm, &both.expert_norm, &both.expert_output_norm}) {
    RETURN_IF_ERROR(Validate(*norm));
  }
  RETURN_IF_ERROR(Validate(both.gated));
  return Validate(both.experts);
}

Status Split(const Rank& rank, GatedAndExperts& both) {
  RETURN_IF_ERROR(Split(rank, both.gated));
  return Split(rank, both.experts);
}

void Declare(GatedAndExperts& both, TensorList& tensors) {
  const int64_t width = both.gated.width;
  Declare(both.gated, tensors);
  Declare(both.gated_output_norm, "post_ffw_norm_1", width, tensors);
  Declare(both.expert_norm, "pre_ffw_norm_2", width, tensors);
  Declare(both.experts, tensors);
  Declare(both.expert_output_norm, "post_ffw_norm_2", width, tensors);
}

Needs Size(const GatedAndExperts& both, const StepLimits& limits) {
  Carver carver(nullptr);
  Layout(both, limits, carver);
  Needs needs = {.buffer_bytes = carver.used()};
  needs.Include(Size(both.gated, limits));
  needs.Include(Size(both.experts, limits));
  return needs;
}

void Run(const GatedAndExperts& both, const Input& input, const Context& context) {
  Carver carver(context.workspace.block);
  const Rows first = Layout(both, context.workspace.limits(), carver);
  const int64_t width = both.gated.width;
  Run(both.gated, input, context);
  context.execution.pool.Run(input.row_count, [&](int64_t row, int) {
    NormResult(both.gated_output_norm, first, row, width, context);
  });
  // The residual stream is whole by now.
  Run(both.experts,
      {.rows = input.rows,
       .row_count = input.row_count,
       .norm = &both.expert_norm,
       .normed = context.workspace.normed},
      context);
  context.execution.pool.Run(input.row_count, [&](int64_t row, int) {
    const Rows& sum = context.workspace.projected;
    NormResult(both.expert_output_norm, sum, row, width, context);
    context.execution.kernels.add(first.row(row), sum.row(row), width);
  });
}

void AddWork(const GatedAndExperts& both, int64_t rows, StepWork& work) {
  AddWork(both.gated, rows, work);
  AddWork(both.experts, rows, work);
}

}  // namespace skald::model
