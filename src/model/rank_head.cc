#include "model/rank_head.h"

#include <algorithm>

#include "base/check.h"
#include "base/status_macros.h"
#include "model/checks.h"

namespace skald::model {
namespace {

// One row each, as Score and Size lay them out.
struct Buffers {
  Rows state, inner, outputs;
};
Buffers Layout(const RankHead& head, Carver& carver) {
  return {carver.Matrix(1, head.width), carver.Matrix(1, head.width),
          carver.Matrix(1, head.outputs)};
}

void Apply(RankFunction function, float* x, int64_t n, const kernels::KernelTable& kernels) {
  switch (function) {
    case RankFunction::kTanh: return kernels.soft_cap(1, x, n);  // a cap of 1 is tanh
    case RankFunction::kGelu: return kernels.gelu(x, x, n);
    case RankFunction::kGeluErf: return kernels.gelu_erf(x, x, n);
  }
  UNREACHABLE();
}

}  // namespace

Status Validate(const RankHead& head) {
  if (!head.exists()) return Ok();
  RETURN_IF_ERROR(InRange("outputs of the head that ranks", head.outputs, 1, 2));
  return Validate(head.norm);
}

void Declare(RankHead& head, TensorList& tensors) {
  if (!head.exists()) return;
  if (head.function) {
    tensors.Matrix("cls.weight", head.width, head.width, &head.dense);
    tensors.Vector("cls.bias", head.width, &head.dense_bias, Presence::kOptional);
  }
  Declare(head.norm, "cls.norm", head.width, tensors);
  const std::string name(head.output_name);
  tensors.Matrix(name + ".weight", head.outputs, head.width, &head.output);
  tensors.Vector(name + ".bias", head.outputs, &head.output_bias, Presence::kOptional);
}

Needs Size(const RankHead& head, const StepLimits& limits) {
  if (!head.exists()) return {};
  Carver carver(nullptr);
  Layout(head, carver);
  Needs needs = {.buffer_bytes = carver.used()};
  needs.AddInput(limits.rows, head.width);
  return needs;
}

float Score(const RankHead& head, std::span<const float> state, const Context& context) {
  CHECK(static_cast<int64_t>(state.size()) == head.width);
  Carver carver(context.workspace.block);
  const Buffers buffers = Layout(head, carver);
  std::copy(state.begin(), state.end(), buffers.state.row(0));
  Rows input = buffers.state;
  if (head.function) {
    MultiplyRows({input, 1}, {&head.dense, buffers.inner, head.dense_bias}, Phase::kHead, context);
    input = buffers.inner;
    Apply(*head.function, input.row(0), head.width, context.execution.kernels);
  }
  if (head.norm.exists()) {
    float* x = input.row(0);
    const int64_t n = head.width;
    Normalize(head.norm, {.x = x, .x_stride = n, .y = x, .y_stride = n, .rows = 1, .n = n},
              context.execution.kernels);
  }
  MultiplyRows({input, 1}, {&head.output, buffers.outputs, head.output_bias}, Phase::kHead,
               context);
  const float* outputs = buffers.outputs.row(0);
  return head.outputs == 2 ? outputs[0] - outputs[1] : outputs[0];
}

}  // namespace skald::model
