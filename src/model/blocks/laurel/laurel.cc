#include "model/blocks/laurel/laurel.h"

#include <array>

#include "base/status_macros.h"
#include "model/blocks/gathered.h"
#include "model/checks.h"

namespace skald::model {

Status Validate(const Laurel& laurel) {
  RETURN_IF_ERROR(InRange("LAuReL rank", laurel.rank, 1, kMaxWidth));
  return Validate(laurel.norm);
}

void Split(const Rank& rank, Laurel& laurel) {
  laurel.down_rows = PanelsOf(laurel.rank, rank);
  laurel.up_rows = PanelsOf(laurel.width, rank);
}

void Declare(Laurel& laurel, TensorList& tensors) {
  tensors.MatrixPart("laurel_l.weight", laurel.DownPart(), laurel.width, &laurel.down);
  tensors.MatrixPart("laurel_r.weight", laurel.UpPart(), laurel.rank, &laurel.up);
  Declare(laurel.norm, "laurel_post_norm", laurel.width, tensors);
}

Needs Size(const Laurel& laurel, const StepLimits& limits) {
  Carver carver(nullptr);
  carver.Matrix(limits.rows, laurel.rank);
  Needs needs = {.buffer_bytes = carver.used()};
  needs.AddInput(limits.rows, laurel.width);
  needs.AddInput(limits.rows, laurel.rank);
  return needs;
}

void Run(const Laurel& laurel, const Input& input, const Context& context) {
  const Workspace& space = context.workspace;
  Carver carver(space.block);
  const Rows inner = carver.Matrix(space.limits().rows, laurel.rank);
  const std::array down = {Product{&laurel.down, ColumnsOf(inner, laurel.DownPart())}};
  Prepare(input, down, context);
  Multiply(down, input.row_count, Phase::kGateUp, context);
  MultiplyPartedToAll({inner, input.row_count, RunsOf(laurel.DownPart()), Phase::kGateUp},
                      {&laurel.up, space.projected}, laurel.UpPart(), Phase::kDown, context);
  const int64_t width = laurel.width;
  context.execution.pool.Run(input.row_count, [&](int64_t row, int) {
    float* y = space.projected.row(row);
    Normalize(laurel.norm,
              {.x = y, .x_stride = width, .y = y, .y_stride = width, .rows = 1, .n = width},
              context.execution.kernels);
    context.execution.kernels.add(input.source().row(row), y, width);
  });
}

void AddWork(const Laurel& laurel, int64_t rows, StepWork& work) {
  AddWork(std::array{&laurel.down}, rows, Phase::kGateUp, work);
  AddWork(std::array{&laurel.up}, rows, Phase::kDown, work);
  AddGather(laurel.DownPart(), laurel.up, rows, work);
  AddGather(laurel.UpPart(), rows, work);
}

}  // namespace skald::model
