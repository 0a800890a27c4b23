#include <cstring>

#include "base/check.h"
#include "kernels/pack/panel.h"
#include "kernels/pack/unit_access.h"
#include "tensor/half.h"

namespace skald::kernels {
namespace {

// The columns of a row of a unit without integer scales.
template <typename Unit>
void UnpackBlock32(const Unit& unit, int row, float* out) {
  for (int i = 0; i < UnitTraits<Unit>::kCols; ++i) {
    out[i] = FloatScale(unit, row, i) * static_cast<float>(Weight(unit, row, i));
    if constexpr (UnitTraits<Unit>::kHasMin) out[i] += tensor::FloatFromHalf(unit.m[row]);
  }
}

// Columns 0..255 of a row of a unit with integer scales.
template <typename Unit>
void UnpackSuper(const Unit& unit, int row, float* out) {
  constexpr int kSub = UnitTraits<Unit>::kSubBlockCols;
  const float d = FloatScale(unit, row);
  for (int s = 0; s < kSuperCols / kSub; ++s) {
    const float step = d * static_cast<float>(Scale(unit, row, s));
    float* sub = out + s * kSub;
    for (int i = 0; i < kSub; ++i) {
      sub[i] = step * static_cast<float>(Weight(unit, row, s * kSub + i));
    }
    if constexpr (UnitTraits<Unit>::kHasMin) {
      const float dmin = tensor::FloatFromHalf(unit.dmin[row]);
      const float offset = dmin * static_cast<float>(Minimum(unit, row, s));
      for (int i = 0; i < kSub; ++i) sub[i] -= offset;
    }
  }
}

template <typename Unit>
void UnpackQuantized(const std::byte* panel, int64_t cols, int row, float* out) {
  constexpr int kCols = UnitTraits<Unit>::kCols;
  const Unit* units = reinterpret_cast<const Unit*>(panel);
  for (int64_t u = 0; u < cols / kCols; ++u) {
    if constexpr (requires(const Unit& unit) { Scale(unit, 0, 0); }) {
      UnpackSuper(units[u], row, out + u * kCols);
    } else {
      UnpackBlock32(units[u], row, out + u * kCols);
    }
  }
}

// Element `row` of column k of a float panel.
template <typename Bits>
Bits FloatBits(const std::byte* panel, int64_t k, int row) {
  Bits bits;
  std::memcpy(&bits, panel + (k * kPanelRows + row) * static_cast<int64_t>(sizeof(Bits)),
              sizeof(Bits));
  return bits;
}

// Without the factor of the matrix.
void UnpackPanelRow(const PackedMatrix& matrix, int64_t row, float* out) {
  const std::byte* panel = matrix.panels + row / kPanelRows * matrix.panel_bytes();
  const int lane = static_cast<int>(row % kPanelRows);
  const int64_t cols = matrix.cols;
  switch (matrix.type) {
    case PanelType::kF32:
      for (int64_t k = 0; k < cols; ++k) out[k] = FloatBits<float>(panel, k, lane);
      return;
    case PanelType::kF16:
      for (int64_t k = 0; k < cols; ++k) {
        out[k] = tensor::FloatFromHalf(FloatBits<uint16_t>(panel, k, lane));
      }
      return;
    case PanelType::kBF16:
      for (int64_t k = 0; k < cols; ++k) {
        const UnitBF16& unit = reinterpret_cast<const UnitBF16*>(panel)[k / kBlockCols];
        out[k] = tensor::FloatFromBf16(ElementOf(unit, lane, static_cast<int>(k % kBlockCols)));
      }
      return;
    case PanelType::kQ8: UnpackQuantized<UnitQ8>(panel, cols, lane, out); return;
    case PanelType::kQ5: UnpackQuantized<UnitQ5>(panel, cols, lane, out); return;
    case PanelType::kQ5M: UnpackQuantized<UnitQ5M>(panel, cols, lane, out); return;
    case PanelType::kQ4: UnpackQuantized<UnitQ4>(panel, cols, lane, out); return;
    case PanelType::kQ4M: UnpackQuantized<UnitQ4M>(panel, cols, lane, out); return;
    case PanelType::kI4NL: UnpackQuantized<UnitI4NL>(panel, cols, lane, out); return;
    case PanelType::kMX4: UnpackQuantized<UnitMX4>(panel, cols, lane, out); return;
    case PanelType::kQ4K: UnpackQuantized<UnitQ4K>(panel, cols, lane, out); return;
    case PanelType::kQ5K: UnpackQuantized<UnitQ5K>(panel, cols, lane, out); return;
    case PanelType::kQ6K: UnpackQuantized<UnitQ6K>(panel, cols, lane, out); return;
    case PanelType::kI4XS: UnpackQuantized<UnitI4XS>(panel, cols, lane, out); return;
    case PanelType::kQ2K: UnpackQuantized<UnitQ2K>(panel, cols, lane, out); return;
    case PanelType::kQ3K: UnpackQuantized<UnitQ3K>(panel, cols, lane, out); return;
    case PanelType::kI2XXS: UnpackQuantized<UnitI2XXS>(panel, cols, lane, out); return;
    case PanelType::kI2XS: UnpackQuantized<UnitI2XS>(panel, cols, lane, out); return;
    case PanelType::kI2S: UnpackQuantized<UnitI2S>(panel, cols, lane, out); return;
    case PanelType::kI3XXS: UnpackQuantized<UnitI3XXS>(panel, cols, lane, out); return;
    case PanelType::kI3S: UnpackQuantized<UnitI3S>(panel, cols, lane, out); return;
    case PanelType::kI1: UnpackQuantized<UnitI1>(panel, cols, lane, out); return;
    case PanelType::kT2: UnpackQuantized<UnitT2>(panel, cols, lane, out); return;
    case PanelType::kQ1: UnpackQuantized<UnitQ1>(panel, cols, lane, out); return;
    case PanelType::kQ2: UnpackQuantized<UnitQ2>(panel, cols, lane, out); return;
    case PanelType::kNV4: UnpackQuantized<UnitNV4>(panel, cols, lane, out); return;
  }
  UNREACHABLE();
}

}  // namespace

void UnpackRow(const PackedMatrix& matrix, int64_t row, float* out) {
  CHECK(row >= 0 && row < matrix.rows);
  UnpackPanelRow(matrix, row, out);
  if (matrix.factor == 1) return;
  for (int64_t k = 0; k < matrix.cols; ++k) out[k] *= matrix.factor;
}

}  // namespace skald::kernels
