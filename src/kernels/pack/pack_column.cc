#include <algorithm>
#include <cstring>
#include <vector>

#include "base/check.h"
#include "kernels/pack/dequantize.h"
#include "kernels/pack/panel.h"
#include "kernels/pack/unit_access.h"

namespace skald::kernels {
namespace {

bool IsFloat(tensor::DType dtype) { return tensor::InfoOf(dtype).block_elements == 1; }

// The bfloat16 of a column in its unit; a column past the last of the matrix is zero.
void PutBFloat16Column(const PackedMatrix& matrix, int64_t column, const std::byte* elements,
                       std::byte* panels) {
  for (int64_t row = 0; row < matrix.padded_rows(); ++row) {
    uint16_t bits = 0;
    if (row < matrix.rows && column < matrix.cols) {
      std::memcpy(&bits, elements + row * int64_t{sizeof(bits)}, sizeof(bits));
    }
    std::byte* panel = panels + row / kPanelRows * matrix.panel_bytes();
    UnitBF16& unit = reinterpret_cast<UnitBF16*>(panel)[column / kBlockCols];
    ElementOf(unit, static_cast<int>(row % kPanelRows), static_cast<int>(column % kBlockCols)) =
        bits;
  }
}

void PackBFloat16Column(const PackedMatrix& matrix, int64_t column, const std::byte* elements,
                        std::byte* panels) {
  PutBFloat16Column(matrix, column, elements, panels);
  if (column + 1 < matrix.cols) return;
  for (int64_t past = column + 1; past % kBlockCols != 0; ++past) {
    PutBFloat16Column(matrix, past, elements, panels);
  }
}

// A unit of a panel of floats or halves is one column of 16 rows: a stored row is cut into such
// units.
void PackFloatColumn(const PackedMatrix& matrix, int64_t column, const std::byte* elements,
                     std::byte* panels) {
  const int64_t unit_bytes = InfoOf(matrix.type).unit_bytes;
  const int64_t element_bytes = unit_bytes / kPanelRows;
  for (int64_t panel = 0; panel < matrix.panel_count(); ++panel) {
    const int64_t rows = std::min<int64_t>(kPanelRows, matrix.rows - panel * kPanelRows);
    std::byte* unit = panels + panel * matrix.panel_bytes() + column * unit_bytes;
    std::memcpy(unit, elements + panel * unit_bytes, static_cast<size_t>(rows * element_bytes));
    std::fill(unit + rows * element_bytes, unit + unit_bytes, std::byte{0});
  }
}

}  // namespace

PanelType TransposedPanelTypeFor(tensor::DType dtype) {
  return IsFloat(dtype) ? PanelTypeFor(dtype) : PanelType::kF32;
}

void PackColumn(tensor::DType dtype, std::span<const std::byte> source, const PackedMatrix& matrix,
                int64_t column, std::byte* panels) {
  CHECK(matrix.type == TransposedPanelTypeFor(dtype) && column >= 0 && column < matrix.cols);
  std::vector<float> floats;
  const std::byte* elements = source.data();
  if (!IsFloat(dtype)) {
    floats.resize(static_cast<size_t>(matrix.rows));
    DequantizeRow(dtype, source, matrix.rows, floats.data());
    elements = reinterpret_cast<const std::byte*>(floats.data());
  } else {
    const int64_t element_bytes = tensor::InfoOf(dtype).block_bytes;
    CHECK(static_cast<int64_t>(source.size()) == matrix.rows * element_bytes);
  }
  if (matrix.type == PanelType::kBF16) {
    PackBFloat16Column(matrix, column, elements, panels);
  } else {
    PackFloatColumn(matrix, column, elements, panels);
  }
}

}  // namespace skald::kernels
