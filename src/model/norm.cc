#include "model/norm.h"

#include <string>

#include "base/check.h"
#include "model/checks.h"

namespace skald::model {

Status Validate(const Norm& norm) { return NotNegative("norm epsilon", norm.epsilon); }

void Declare(Norm& norm, std::string_view usual_name, int64_t width, TensorList& tensors) {
  if (!norm.exists()) return;
  const std::string name(norm.name.empty() ? usual_name : norm.name);
  tensors.Vector(name + std::string(norm.weight_suffix), width, &norm.weight);
  if (norm.kind == NormKind::kLayer) {
    tensors.Vector(name + ".bias", width, &norm.bias, Presence::kOptional);
  }
}

void Normalize(const Norm& norm, const NormRows& rows, const kernels::KernelTable& kernels) {
  CHECK(norm.exists());
  if (norm.kind == NormKind::kRms) {
    kernels.rms_norm({.x = rows.x,
                      .x_stride = rows.x_stride,
                      .weight = norm.weight.data(),
                      .y = rows.y,
                      .y_stride = rows.y_stride,
                      .rows = rows.rows,
                      .n = rows.n,
                      .eps = norm.epsilon});
    return;
  }
  kernels.layer_norm({.x = rows.x,
                      .x_stride = rows.x_stride,
                      .weight = norm.weight.data(),
                      .bias = norm.bias.empty() ? nullptr : norm.bias.data(),
                      .y = rows.y,
                      .y_stride = rows.y_stride,
                      .rows = rows.rows,
                      .n = rows.n,
                      .eps = norm.epsilon});
}

}  // namespace skald::model
