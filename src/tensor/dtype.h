/// Element types of tensors in model files, as one table.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace skald::tensor {

/// Element type of a stored tensor. The quantized ones pack `block_elements` consecutive elements
/// of a row into `block_bytes` bytes; quant_blocks.h and
/// low_bit_blocks.h show the layouts.
enum class DType : uint8_t {
  kF32,
  kF16,
  kBF16,
  kQ8_0,
  kQ4_0,
  kQ4_1,
  kQ5_0,
  kQ5_1,
  kQ2_K,
  kQ3_K,
  kQ4_K,
  kQ5_K,
  kQ6_K,
  kIQ4_NL,
  kIQ4_XS,
  kMXFP4,
  kIQ2_XXS,
  kIQ2_XS,
  kIQ2_S,
  kIQ3_XXS,
  kIQ3_S,
  kIQ1_S,
  kIQ1_M,
  kTQ1_0,
  kTQ2_0,
  kQ1_0,
  kQ2_0,
  kNVFP4,
};

/// One row of the table.
struct DTypeInfo {
  DType dtype;
  std::string_view name;    ///< as in GGUF tools: "Q4_K"
  uint32_t gguf_id;         ///< ggml_type number in the file
  uint32_t block_elements;  ///< elements of a row in one block; 1 for float types
  uint32_t block_bytes;     ///< bytes of one block
};

/// All element types, in the order of the enum.
std::span<const DTypeInfo> AllDTypes();

/// The row of `dtype`.
const DTypeInfo& InfoOf(DType dtype);

/// The element type a GGUF file means by `gguf_id`, or nothing if skald does not read it.
std::optional<DType> DTypeFromGguf(uint32_t gguf_id);

}  // namespace skald::tensor
