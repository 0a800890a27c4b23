#include "model/hidden_projection.h"

#include "base/status_macros.h"
#include "model/checks.h"

namespace skald::model {

Status Validate(const HiddenProjection& projection) {
  if (!projection.exists()) return Ok();
  RETURN_IF_ERROR(InRange("inner length of the projection", projection.inner, 1, kMaxWidth));
  return InRange("output length of the projection", projection.output, 1, kMaxWidth);
}

void Declare(HiddenProjection& projection, TensorList& tensors) {
  if (!projection.exists()) return;
  tensors.Matrix("dense_2.weight", projection.inner, projection.width, &projection.first);
  tensors.Matrix("dense_3.weight", projection.output, projection.inner, &projection.second);
}

Needs Size(const HiddenProjection& projection, const StepLimits& limits) {
  if (!projection.exists()) return {};
  Carver carver(nullptr);
  carver.Matrix(limits.rows, projection.inner);
  Needs needs = {.buffer_bytes = carver.used()};
  needs.AddInput(limits.rows, projection.width);
  needs.AddInput(limits.rows, projection.inner);
  return needs;
}

void Run(const HiddenProjection& projection, int64_t rows, const Context& context) {
  const Workspace& space = context.workspace;
  Carver carver(space.block);
  const Rows inner = carver.Matrix(space.limits().rows, projection.inner);
  MultiplyRows({space.normed, rows}, {&projection.first, inner}, Phase::kHead, context);
  MultiplyRows({inner, rows}, {&projection.second, space.normed}, Phase::kHead, context);
}

}  // namespace skald::model
