#include "tensor/dtype.h"

#include <array>

#include "tensor/low_bit_blocks.h"
#include "tensor/quant_blocks.h"

namespace skald::tensor {
namespace {

constexpr std::array kTable = {
    DTypeInfo{DType::kF32, "F32", 0, 1, 4},
    DTypeInfo{DType::kF16, "F16", 1, 1, 2},
    DTypeInfo{DType::kBF16, "BF16", 30, 1, 2},
    DTypeInfo{DType::kQ8_0, "Q8_0", 8, 32, sizeof(BlockQ8_0)},
    DTypeInfo{DType::kQ4_0, "Q4_0", 2, 32, sizeof(BlockQ4_0)},
    DTypeInfo{DType::kQ4_1, "Q4_1", 3, 32, sizeof(BlockQ4_1)},
    DTypeInfo{DType::kQ5_0, "Q5_0", 6, 32, sizeof(BlockQ5_0)},
    DTypeInfo{DType::kQ5_1, "Q5_1", 7, 32, sizeof(BlockQ5_1)},
    DTypeInfo{DType::kQ2_K, "Q2_K", 10, 256, sizeof(BlockQ2_K)},
    DTypeInfo{DType::kQ3_K, "Q3_K", 11, 256, sizeof(BlockQ3_K)},
    DTypeInfo{DType::kQ4_K, "Q4_K", 12, 256, sizeof(BlockQ4_K)},
    DTypeInfo{DType::kQ5_K, "Q5_K", 13, 256, sizeof(BlockQ5_K)},
    DTypeInfo{DType::kQ6_K, "Q6_K", 14, 256, sizeof(BlockQ6_K)},
    DTypeInfo{DType::kIQ4_NL, "IQ4_NL", 20, 32, sizeof(BlockIQ4_NL)},
    DTypeInfo{DType::kIQ4_XS, "IQ4_XS", 23, 256, sizeof(BlockIQ4_XS)},
    DTypeInfo{DType::kMXFP4, "MXFP4", 39, 32, sizeof(BlockMXFP4)},
    DTypeInfo{DType::kIQ2_XXS, "IQ2_XXS", 16, 256, sizeof(BlockIQ2_XXS)},
    DTypeInfo{DType::kIQ2_XS, "IQ2_XS", 17, 256, sizeof(BlockIQ2_XS)},
    DTypeInfo{DType::kIQ2_S, "IQ2_S", 22, 256, sizeof(BlockIQ2_S)},
    DTypeInfo{DType::kIQ3_XXS, "IQ3_XXS", 18, 256, sizeof(BlockIQ3_XXS)},
    DTypeInfo{DType::kIQ3_S, "IQ3_S", 21, 256, sizeof(BlockIQ3_S)},
    DTypeInfo{DType::kIQ1_S, "IQ1_S", 19, 256, sizeof(BlockIQ1_S)},
    DTypeInfo{DType::kIQ1_M, "IQ1_M", 29, 256, sizeof(BlockIQ1_M)},
    DTypeInfo{DType::kTQ1_0, "TQ1_0", 34, 256, sizeof(BlockTQ1_0)},
    DTypeInfo{DType::kTQ2_0, "TQ2_0", 35, 256, sizeof(BlockTQ2_0)},
    DTypeInfo{DType::kQ1_0, "Q1_0", 41, 128, sizeof(BlockQ1_0)},
    DTypeInfo{DType::kQ2_0, "Q2_0", 42, 64, sizeof(BlockQ2_0)},
    DTypeInfo{DType::kNVFP4, "NVFP4", 40, 64, sizeof(BlockNVFP4)},
};

}  // namespace

std::span<const DTypeInfo> AllDTypes() { return kTable; }

const DTypeInfo& InfoOf(DType dtype) { return kTable[static_cast<size_t>(dtype)]; }

std::optional<DType> DTypeFromGguf(uint32_t gguf_id) {
  for (const DTypeInfo& info : kTable) {
    if (info.gguf_id == gguf_id) return info.dtype;
  }
  return std::nullopt;
}

}  // namespace skald::tensor
