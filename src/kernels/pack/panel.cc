#include "kernels/pack/panel.h"

#include <array>

#include "base/check.h"
#include "base/checked_math.h"
#include "kernels/pack/unit_layout.h"

namespace skald::kernels {
namespace {

using enum ActivationFormat;

constexpr std::array<PanelInfo, kPanelTypeCount> kTable = {{
    {PanelType::kF32, kF32, 1, kPanelRows * 4},
    {PanelType::kF16, kF32, 1, kPanelRows * 2},
    {PanelType::kBF16, kBFloat16, kBlockCols, sizeof(UnitBF16)},
    {PanelType::kQ8, kBlock32, kBlockCols, sizeof(UnitQ8)},
    {PanelType::kQ5, kBlock32, kBlockCols, sizeof(UnitQ5)},
    {PanelType::kQ5M, kBlock32, kBlockCols, sizeof(UnitQ5M)},
    {PanelType::kQ4, kBlock32, kBlockCols, sizeof(UnitQ4)},
    {PanelType::kQ4M, kBlock32, kBlockCols, sizeof(UnitQ4M)},
    {PanelType::kI4NL, kBlock32, kBlockCols, sizeof(UnitI4NL)},
    {PanelType::kMX4, kBlock32, kBlockCols, sizeof(UnitMX4)},
    {PanelType::kQ4K, kBlock128, kSuperCols, sizeof(UnitQ4K)},
    {PanelType::kQ5K, kBlock128, kSuperCols, sizeof(UnitQ5K)},
    {PanelType::kQ6K, kBlock128, kSuperCols, sizeof(UnitQ6K)},
    {PanelType::kI4XS, kBlock128, kSuperCols, sizeof(UnitI4XS)},
    {PanelType::kQ2K, kBlock128, kSuperCols, sizeof(UnitQ2K)},
    {PanelType::kQ3K, kBlock128, kSuperCols, sizeof(UnitQ3K)},
    {PanelType::kI2XXS, kBlock128, kSuperCols, sizeof(UnitI2XXS)},
    {PanelType::kI2XS, kBlock128, kSuperCols, sizeof(UnitI2XS)},
    {PanelType::kI2S, kBlock128, kSuperCols, sizeof(UnitI2S)},
    {PanelType::kI3XXS, kBlock128, kSuperCols, sizeof(UnitI3XXS)},
    {PanelType::kI3S, kBlock128, kSuperCols, sizeof(UnitI3S)},
    {PanelType::kI1, kBlock128, kSuperCols, sizeof(UnitI1)},
    {PanelType::kT2, kBlock128, kSuperCols, sizeof(UnitT2)},
    {PanelType::kQ1, kBlock32, 4 * kBlockCols, sizeof(UnitQ1)},
    {PanelType::kQ2, kBlock32, 2 * kBlockCols, sizeof(UnitQ2)},
    {PanelType::kNV4, kBlock32, 2 * kBlockCols, sizeof(UnitNV4)},
}};

}  // namespace

const PanelInfo& InfoOf(PanelType type) { return kTable[static_cast<size_t>(type)]; }

PanelType PanelTypeFor(tensor::DType dtype) {
  switch (dtype) {
    case tensor::DType::kF32: return PanelType::kF32;
    case tensor::DType::kF16: return PanelType::kF16;
    case tensor::DType::kBF16: return PanelType::kBF16;
    case tensor::DType::kQ8_0: return PanelType::kQ8;
    case tensor::DType::kQ5_0: return PanelType::kQ5;
    case tensor::DType::kQ5_1: return PanelType::kQ5M;
    case tensor::DType::kQ4_0: return PanelType::kQ4;
    case tensor::DType::kQ4_1: return PanelType::kQ4M;
    case tensor::DType::kIQ4_NL: return PanelType::kI4NL;
    case tensor::DType::kMXFP4: return PanelType::kMX4;
    case tensor::DType::kQ4_K: return PanelType::kQ4K;
    case tensor::DType::kQ5_K: return PanelType::kQ5K;
    case tensor::DType::kQ6_K: return PanelType::kQ6K;
    case tensor::DType::kIQ4_XS: return PanelType::kI4XS;
    case tensor::DType::kQ2_K: return PanelType::kQ2K;
    case tensor::DType::kQ3_K: return PanelType::kQ3K;
    case tensor::DType::kIQ2_XXS: return PanelType::kI2XXS;
    case tensor::DType::kIQ2_XS: return PanelType::kI2XS;
    case tensor::DType::kIQ2_S: return PanelType::kI2S;
    case tensor::DType::kIQ3_XXS: return PanelType::kI3XXS;
    case tensor::DType::kIQ3_S: return PanelType::kI3S;
    case tensor::DType::kIQ1_S:
    case tensor::DType::kIQ1_M: return PanelType::kI1;
    case tensor::DType::kTQ1_0:
    case tensor::DType::kTQ2_0: return PanelType::kT2;
    case tensor::DType::kQ1_0: return PanelType::kQ1;
    case tensor::DType::kQ2_0: return PanelType::kQ2;
    case tensor::DType::kNVFP4: return PanelType::kNV4;
  }
  UNREACHABLE();
}

int64_t PanelBytes(PanelType type, int64_t cols) {
  const PanelInfo& info = InfoOf(type);
  if (type == PanelType::kBF16) return DivCeil<int64_t>(cols, info.unit_cols) * info.unit_bytes;
  CHECK(cols % info.unit_cols == 0);
  return cols / info.unit_cols * info.unit_bytes;
}

}  // namespace skald::kernels
