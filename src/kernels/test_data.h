/// Random inputs for the tests of this room: reproducible, and with the values that break kernels.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "tensor/dtype.h"
#include "tensor/half.h"

namespace skald::kernels {

/// Where the scales and minimums of a stored block stand, halves or, of one byte, exponents; the
/// other bytes are integers, of which every bit pattern is legal. The half of IQ1_M is spread over
/// the high nibbles of four words: StoreScaleBits knows.
struct ScaleFields {
  int count = 0;
  int offsets[4] = {};
  size_t bytes = 2;
};

inline ScaleFields ScaleFieldsOf(tensor::DType dtype) {
  switch (dtype) {
    case tensor::DType::kF32:
    case tensor::DType::kF16:
    case tensor::DType::kBF16: return {};
    case tensor::DType::kQ4_1:
    case tensor::DType::kQ5_1:
    case tensor::DType::kQ4_K:
    case tensor::DType::kQ5_K: return {2, {0, 2}};
    case tensor::DType::kQ2_K: return {2, {80, 82}};
    case tensor::DType::kQ3_K: return {1, {108}};
    case tensor::DType::kQ6_K: return {1, {208}};
    case tensor::DType::kQ8_0:
    case tensor::DType::kQ4_0:
    case tensor::DType::kQ5_0:
    case tensor::DType::kIQ4_NL:
    case tensor::DType::kIQ4_XS: return {1, {0}};
    case tensor::DType::kIQ2_XXS:
    case tensor::DType::kIQ2_XS:
    case tensor::DType::kIQ2_S:
    case tensor::DType::kIQ3_XXS:
    case tensor::DType::kIQ3_S:
    case tensor::DType::kIQ1_S:
    case tensor::DType::kQ1_0:
    case tensor::DType::kQ2_0: return {1, {0}};
    case tensor::DType::kIQ1_M: return {1, {48}};
    case tensor::DType::kTQ1_0: return {1, {52}};
    case tensor::DType::kTQ2_0: return {1, {64}};
    case tensor::DType::kMXFP4: return {1, {0}, 1};
    case tensor::DType::kNVFP4: return {4, {0, 1, 2, 3}, 1};
  }
  return {};
}

/// Writes `bits` to scale field number `field` of a block.
inline void StoreScaleBits(tensor::DType dtype, uint16_t bits, std::byte* block, int field = 0) {
  const ScaleFields fields = ScaleFieldsOf(dtype);
  if (dtype == tensor::DType::kIQ1_M) {
    for (int i = 0; i < 4; ++i) {
      std::byte& high = block[fields.offsets[0] + 2 * i + 1];
      high = (high & std::byte{15}) | static_cast<std::byte>((bits >> 4 * i & 15) << 4);
    }
    return;
  }
  std::memcpy(block + fields.offsets[field], &bits, fields.bytes);
}

/// The bits of `scale` in a scale field: a half, or the exponent of the largest power of two that
/// is not above it (of E4M3: the largest power of two, or subnormal number). Infinity becomes what
/// the type has in its place.
inline uint16_t ScaleBits(tensor::DType dtype, float scale) {
  if (dtype == tensor::DType::kNVFP4) {
    if (!std::isfinite(scale)) return 127;
    if (scale < 0x1p-6f) return static_cast<uint16_t>(scale * 512);  // subnormal
    return static_cast<uint16_t>((std::min(std::ilogb(scale), 7) + 7) << 3);
  }
  if (dtype != tensor::DType::kMXFP4) return tensor::HalfFromFloat(scale);
  return static_cast<uint16_t>(std::isfinite(scale) ? std::ilogb(scale) + 128 : 255);
}

/// Writes `scale` to every scale field of a block.
inline void StoreScales(tensor::DType dtype, float scale, std::byte* block) {
  for (int field = 0; field < ScaleFieldsOf(dtype).count; ++field) {
    StoreScaleBits(dtype, ScaleBits(dtype, scale), block, field);
  }
}

/// Bits of a finite half: mostly of ordinary size, sometimes zero, subnormal, negative or the
/// largest.
inline uint16_t RandomHalf(std::mt19937& random) {
  switch (random() % 16) {
    case 0: return 0;
    case 1: return 0x8000;
    case 2: return static_cast<uint16_t>(random() % 0x400);  // subnormal
    case 3: return 0x7bff;                                   // 65504
    case 4: return static_cast<uint16_t>(0x8000 | random() % 0x7c00);
    default: {
      const float value = static_cast<float>(random() % 20000) * 1e-5f - 0.1f;
      return tensor::HalfFromFloat(value);
    }
  }
}

/// An E8M0 exponent: mostly of ordinary size, sometimes that of a subnormal or of a large float.
inline uint8_t RandomExponent(std::mt19937& random) {
  switch (random() % 16) {
    case 0: return 0;
    case 1: return 1;
    case 2: return 2;
    case 3: return 200;
    default: return static_cast<uint8_t>(118 + random() % 8);
  }
}

/// Bits of a scale field of `dtype`, as RandomHalf or RandomExponent; any E4M3 float but NaN.
inline uint16_t RandomScale(tensor::DType dtype, std::mt19937& random) {
  if (dtype == tensor::DType::kNVFP4) return static_cast<uint16_t>(random() % 127);
  return dtype == tensor::DType::kMXFP4 ? RandomExponent(random) : RandomHalf(random);
}

/// Floats of mixed magnitude around 1.
inline float RandomFloat(std::mt19937& random) {
  const float value = static_cast<float>(random() % 20001) * 1e-4f - 1.0f;
  return random() % 64 == 0 ? value * 30.0f : value;
}

/// `elements` stored elements of `dtype`: random integers, in a quarter of the blocks all bits zero
/// or all bits one (the largest integers, where saturating instructions would show), scales as
/// RandomScale.
inline std::vector<std::byte> RandomBlocks(tensor::DType dtype, int64_t elements,
                                           std::mt19937& random) {
  const tensor::DTypeInfo& info = tensor::InfoOf(dtype);
  const int64_t blocks = elements / info.block_elements;
  std::vector<std::byte> bytes(static_cast<size_t>(blocks * info.block_bytes));
  const ScaleFields scales = ScaleFieldsOf(dtype);
  for (int64_t b = 0; b < blocks; ++b) {
    std::byte* block = bytes.data() + b * info.block_bytes;
    if (dtype == tensor::DType::kF32) {
      const float value = RandomFloat(random);
      std::memcpy(block, &value, 4);
      continue;
    }
    if (dtype == tensor::DType::kF16 || dtype == tensor::DType::kBF16) {
      const uint32_t bits = std::bit_cast<uint32_t>(RandomFloat(random));
      const uint16_t value =
          dtype == tensor::DType::kF16 ? RandomHalf(random) : static_cast<uint16_t>(bits >> 16);
      std::memcpy(block, &value, 2);
      continue;
    }
    const uint32_t kind = static_cast<uint32_t>(random() % 8);
    for (uint32_t i = 0; i < info.block_bytes; ++i) {
      block[i] = static_cast<std::byte>(kind == 0 ? 0u : kind == 1 ? 255u : random() % 256);
    }
    for (int field = 0; field < scales.count; ++field) {
      StoreScaleBits(dtype, RandomScale(dtype, random), block, field);
    }
  }
  return bytes;
}

}  // namespace skald::kernels
