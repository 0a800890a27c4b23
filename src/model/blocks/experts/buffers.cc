#include "model/blocks/experts/buffers.h"

#include "base/checked_math.h"

namespace skald::model {
namespace {

template <typename T>
T* Carve(Carver& carver, int64_t count) {
  return reinterpret_cast<T*>(carver.Bytes(count * static_cast<int64_t>(sizeof(T))));
}

}  // namespace

ExpertBuffers LayoutExperts(const Experts& experts, const StepLimits& limits, Carver& carver) {
  const int64_t slots = limits.rows * experts.used;
  ExpertBuffers buffers;
  if (experts.router_norm.exists()) buffers.routed = carver.Matrix(limits.rows, experts.width);
  buffers.scores = carver.Matrix(limits.rows, experts.count);
  buffers.choice = carver.Matrix(limits.rows, experts.count);
  buffers.chosen = Carve<int32_t>(carver, slots);
  buffers.weights = Carve<float>(carver, slots);
  buffers.slots = Carve<int32_t>(carver, slots);
  buffers.sources = Carve<int32_t>(carver, slots);
  buffers.groups = Carve<Group>(carver, experts.count);
  if (experts.latent > 0) buffers.latent = carver.Matrix(limits.rows, experts.latent);
  buffers.rows = carver.Matrix(slots, experts.expert_width());
  buffers.gate = carver.Matrix(slots, experts.hidden);
  if (experts.is_gated()) buffers.up = carver.Matrix(slots, experts.hidden);
  if (!experts.has_shared()) return buffers;
  buffers.shared_gate = carver.Matrix(limits.rows, experts.shared.hidden);
  if (experts.is_gated()) buffers.shared_up = carver.Matrix(limits.rows, experts.shared.hidden);
  buffers.shared_out = carver.Matrix(limits.rows, experts.width);
  buffers.selector = carver.Matrix(limits.rows, 1);
  return buffers;
}

// Every format takes as many bytes as it has columns, times a constant.
int64_t SharedPlace(const Experts& experts, int64_t uses) {
  if (!experts.has_shared()) return 0;
  return DivCeil(uses * experts.hidden, experts.shared.hidden);
}

}  // namespace skald::model
