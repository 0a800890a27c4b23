#include "kernels/pack/finite.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/check.h"
#include "tensor/low_bit_blocks.h"
#include "tensor/quant_blocks.h"

namespace skald::kernels {
namespace {

using namespace skald::tensor;

// Exponent bits of the formats: all set in infinity and NaN, and in nothing else.
constexpr uint16_t kHalfExponent = 0x7c00;
constexpr uint16_t kBf16Exponent = 0x7f80;
constexpr uint32_t kF32Exponent = 0x7f800000;
// The NaN of E8M0, which has no infinity.
constexpr uint8_t kE8M0NaN = 255;
// The NaN of E4M3, with any sign.
constexpr uint8_t kE4M3NaN = 127;

// The largest exponent decides; a maximum over all, without a branch, becomes vector code.
template <typename Bits>
bool FloatsAreFinite(std::span<const std::byte> source, Bits exponent) {
  Bits largest = 0;
  for (size_t at = 0; at < source.size(); at += sizeof(Bits)) {
    Bits bits = 0;
    std::memcpy(&bits, source.data() + at, sizeof(Bits));
    largest = std::max<Bits>(largest, bits & exponent);
  }
  return largest != exponent;
}

template <typename Block>
bool BlocksAreFinite(std::span<const std::byte> source) {
  int largest = 0;
  for (size_t at = 0; at < source.size(); at += sizeof(Block)) {
    Block block;
    std::memcpy(&block, source.data() + at, sizeof(Block));
    if constexpr (requires { block.d(); }) {
      largest = std::max(largest, block.d() & kHalfExponent);
    } else {
      largest = std::max(largest, block.d & kHalfExponent);
    }
    if constexpr (requires { block.m; }) largest = std::max(largest, block.m & kHalfExponent);
    if constexpr (requires { block.dmin; }) largest = std::max(largest, block.dmin & kHalfExponent);
  }
  return largest != kHalfExponent;
}

bool ExponentsAreFinite(std::span<const std::byte> source) {
  bool finite = true;
  for (size_t at = 0; at < source.size(); at += sizeof(BlockMXFP4)) {
    finite &= std::to_integer<uint8_t>(source[at]) != kE8M0NaN;  // e is the first byte
  }
  return finite;
}

bool E4M3ScalesAreFinite(std::span<const std::byte> source) {
  bool finite = true;
  for (size_t at = 0; at < source.size(); at += sizeof(BlockNVFP4)) {
    for (size_t s = 0; s < 4; ++s) {
      finite &= (std::to_integer<uint8_t>(source[at + s]) & kE4M3NaN) != kE4M3NaN;
    }
  }
  return finite;
}

}  // namespace

bool AllFinite(DType dtype, std::span<const std::byte> source) {
  CHECK(source.size() % InfoOf(dtype).block_bytes == 0);
  switch (dtype) {
    case DType::kF32: return FloatsAreFinite<uint32_t>(source, kF32Exponent);
    case DType::kF16: return FloatsAreFinite<uint16_t>(source, kHalfExponent);
    case DType::kBF16: return FloatsAreFinite<uint16_t>(source, kBf16Exponent);
    case DType::kQ8_0: return BlocksAreFinite<BlockQ8_0>(source);
    case DType::kQ4_0: return BlocksAreFinite<BlockQ4_0>(source);
    case DType::kQ4_1: return BlocksAreFinite<BlockQ4_1>(source);
    case DType::kQ5_0: return BlocksAreFinite<BlockQ5_0>(source);
    case DType::kQ5_1: return BlocksAreFinite<BlockQ5_1>(source);
    case DType::kQ2_K: return BlocksAreFinite<BlockQ2_K>(source);
    case DType::kQ3_K: return BlocksAreFinite<BlockQ3_K>(source);
    case DType::kQ4_K: return BlocksAreFinite<BlockQ4_K>(source);
    case DType::kQ5_K: return BlocksAreFinite<BlockQ5_K>(source);
    case DType::kQ6_K: return BlocksAreFinite<BlockQ6_K>(source);
    case DType::kIQ4_NL: return BlocksAreFinite<BlockIQ4_NL>(source);
    case DType::kIQ4_XS: return BlocksAreFinite<BlockIQ4_XS>(source);
    case DType::kMXFP4: return ExponentsAreFinite(source);
    case DType::kIQ2_XXS: return BlocksAreFinite<BlockIQ2_XXS>(source);
    case DType::kIQ2_XS: return BlocksAreFinite<BlockIQ2_XS>(source);
    case DType::kIQ2_S: return BlocksAreFinite<BlockIQ2_S>(source);
    case DType::kIQ3_XXS: return BlocksAreFinite<BlockIQ3_XXS>(source);
    case DType::kIQ3_S: return BlocksAreFinite<BlockIQ3_S>(source);
    case DType::kIQ1_S: return BlocksAreFinite<BlockIQ1_S>(source);
    case DType::kIQ1_M: return BlocksAreFinite<BlockIQ1_M>(source);
    case DType::kTQ1_0: return BlocksAreFinite<BlockTQ1_0>(source);
    case DType::kTQ2_0: return BlocksAreFinite<BlockTQ2_0>(source);
    case DType::kQ1_0: return BlocksAreFinite<BlockQ1_0>(source);
    case DType::kQ2_0: return BlocksAreFinite<BlockQ2_0>(source);
    case DType::kNVFP4: return E4M3ScalesAreFinite(source);
  }
  UNREACHABLE();
}

}  // namespace skald::kernels
