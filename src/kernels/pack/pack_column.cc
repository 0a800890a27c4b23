#include <algorithm>
#include <cstring>
#include <vector>

#include "base/check.h"
#include "kernels/pack/dequantize.h"
#include "kernels/pack/panel.h"

namespace skald::kernels {
namespace {

bool IsFloat(tensor::DType dtype) { return tensor::InfoOf(dtype).block_elements == 1; }

}  // namespace

PanelType TransposedPanelTypeFor(tensor::DType dtype) {
  return IsFloat(dtype) ? PanelTypeFor(dtype) : PanelType::kF32;
}

// A unit of a float panel is one column of 16 rows: a stored row is cut into such units.
void PackColumn(tensor::DType dtype, std::span<const std::byte> source, const PackedMatrix& matrix,
                int64_t column, std::byte* panels) {
  CHECK(matrix.type == TransposedPanelTypeFor(dtype) && column >= 0 && column < matrix.cols);
  const int64_t unit_bytes = InfoOf(matrix.type).unit_bytes;
  const int64_t element_bytes = unit_bytes / kPanelRows;
  std::vector<float> floats;
  const std::byte* elements = source.data();
  if (!IsFloat(dtype)) {
    floats.resize(static_cast<size_t>(matrix.rows));
    DequantizeRow(dtype, source, matrix.rows, floats.data());
    elements = reinterpret_cast<const std::byte*>(floats.data());
  } else {
    CHECK(static_cast<int64_t>(source.size()) == matrix.rows * element_bytes);
  }
  for (int64_t panel = 0; panel < matrix.panel_count(); ++panel) {
    const int64_t rows = std::min<int64_t>(kPanelRows, matrix.rows - panel * kPanelRows);
    std::byte* unit = panels + panel * matrix.panel_bytes() + column * unit_bytes;
    std::memcpy(unit, elements + panel * unit_bytes, static_cast<size_t>(rows * element_bytes));
    std::fill(unit + rows * element_bytes, unit + unit_bytes, std::byte{0});
  }
}

}  // namespace skald::kernels
