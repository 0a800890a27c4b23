#include "explain/weight_cards.h"

#include <algorithm>

#include "base/checked_math.h"
#include "explain/tapped.h"
#include "kernels/pack/panel.h"
#include "model/value_summary.h"

namespace skald::explain {
namespace {

// Half a millisecond of unpacking: a model of four hundred tensors takes less than a second.
constexpr int64_t kMostValues = int64_t{1} << 18;

// Rows of all slices, as many of them as are looked at.
struct SomeRows {
  std::span<const kernels::PackedMatrix> slices;
  int64_t all;
  int64_t distance;

  int64_t count() const { return DivCeil(all, distance); }
  void Unpack(int64_t index, float* out) const {
    const int64_t row = index + 1 == count() ? all - 1 : index * distance;
    const int64_t of_slice = slices.front().rows;
    kernels::UnpackRow(slices[static_cast<size_t>(row / of_slice)], row % of_slice, out);
  }
};

TensorCard CardOfSlot(const model::TensorSlot& slot) {
  const std::span<const kernels::PackedMatrix> slices = slot.matrices();
  const int64_t cols = slices.front().cols;
  const int64_t all = std::ssize(slices) * slices.front().rows;
  const SomeRows rows = {slices, all, std::max<int64_t>(1, all * cols / kMostValues)};
  std::vector<float> row(static_cast<size_t>(cols));
  const model::ValueSummary summary = model::Summarize(rows.count(), [&](int64_t index) {
    rows.Unpack(index, row.data());
    return std::span<const float>(row);
  });
  std::vector<int64_t> shape = {slices.front().rows, cols};
  if (slices.size() > 1) shape.insert(shape.begin(), std::ssize(slices));
  return CardOf(summary, std::move(shape));
}

}  // namespace

std::vector<ExplainedTensor> WeightCards(const model::Network& network) {
  model::Network copy = network;  // its lists, not its matrices
  std::vector<ExplainedTensor> weights;
  for (const model::TensorSlot& slot : model::TensorsOf(copy)) {
    if (slot.is_vector() || slot.row_table() != nullptr) continue;
    const std::span<const kernels::PackedMatrix> slices = slot.matrices();
    if (slices.empty() || slices.front().panels == nullptr) continue;
    weights.push_back({.name = slot.name, .card = CardOfSlot(slot)});
  }
  return weights;
}

}  // namespace skald::explain
