#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "kernels/pack/pack_units.h"
#include "kernels/pack/panel.h"
#include "kernels/pack/unit_access.h"

namespace skald::kernels {
namespace {

// Transposes rows of float or half elements to [column][row].
template <typename Bits>
void PackFloats(const RowSource& rows, std::byte* panel) {
  for (int row = 0; row < rows.row_count; ++row) {
    const std::byte* source = rows.source + row * rows.units * static_cast<int64_t>(sizeof(Bits));
    std::byte* target = panel + row * static_cast<int64_t>(sizeof(Bits));
    for (int64_t column = 0; column < rows.units; ++column) {
      std::memcpy(target + column * static_cast<int64_t>(kPanelRows * sizeof(Bits)),
                  source + column * static_cast<int64_t>(sizeof(Bits)), sizeof(Bits));
    }
  }
}

// What fills the last unit up stays zero.
void PackBFloat16(const RowSource& rows, std::byte* panel) {
  UnitBF16* units = reinterpret_cast<UnitBF16*>(panel);
  const std::byte* source = rows.source;
  for (int row = 0; row < rows.row_count; ++row) {
    for (int64_t column = 0; column < rows.units; ++column, source += sizeof(uint16_t)) {
      const int place = static_cast<int>(column % kBlockCols);
      std::memcpy(&ElementOf(units[column / kBlockCols], row, place), source, sizeof(uint16_t));
    }
  }
}

}  // namespace

void PackPanel(tensor::DType dtype, std::span<const std::byte> source, int row_count, int64_t cols,
               std::byte* panel) {
  const tensor::DTypeInfo& info = tensor::InfoOf(dtype);
  CHECK(row_count >= 1 && row_count <= kPanelRows);
  CHECK(cols % info.block_elements == 0);
  const int64_t units = cols / info.block_elements;
  CHECK(static_cast<int64_t>(source.size()) == row_count * units * info.block_bytes);
  // Rows past row_count stay zero; and bit fields are or-ed into zeroed bytes.
  std::fill_n(panel, PanelBytes(PanelTypeFor(dtype), cols), std::byte{0});
  const RowSource rows = {dtype, source.data(), row_count, units};
  switch (dtype) {
    case tensor::DType::kF32: PackFloats<uint32_t>(rows, panel); return;
    case tensor::DType::kF16: PackFloats<uint16_t>(rows, panel); return;
    case tensor::DType::kBF16: PackBFloat16(rows, panel); return;
    case tensor::DType::kQ8_0:
    case tensor::DType::kQ4_0:
    case tensor::DType::kQ4_1:
    case tensor::DType::kQ5_0:
    case tensor::DType::kQ5_1:
    case tensor::DType::kIQ4_NL:
    case tensor::DType::kMXFP4:
    case tensor::DType::kNVFP4: PackRows32(rows, panel); return;
    case tensor::DType::kQ2_K:
    case tensor::DType::kQ3_K:
    case tensor::DType::kQ4_K:
    case tensor::DType::kQ5_K:
    case tensor::DType::kQ6_K:
    case tensor::DType::kIQ4_XS: PackRows256(rows, panel); return;
    default: PackRowsLowBit(rows, panel); return;
  }
}

}  // namespace skald::kernels
