/// Random inputs for the tests of this room: reproducible, and with the values that break kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "tensor/dtype.h"
#include "tensor/half.h"

namespace skald::kernels {

/// Where the half-precision fields of a stored block stand; the other bytes are integers, of which
/// every bit pattern is legal.
struct HalfFields {
  int count = 0;
  int offsets[2] = {};
};

inline HalfFields HalfFieldsOf(tensor::DType dtype) {
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
  }
  return {};
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

/// Floats of mixed magnitude around 1.
inline float RandomFloat(std::mt19937& random) {
  const float value = static_cast<float>(random() % 20001) * 1e-4f - 1.0f;
  return random() % 64 == 0 ? value * 30.0f : value;
}

/// `elements` stored elements of `dtype`: random integers, in a quarter of the blocks all bits zero
/// or all bits one (the largest integers, where saturating instructions would show), scales as
/// RandomHalf.
inline std::vector<std::byte> RandomBlocks(tensor::DType dtype, int64_t elements,
                                           std::mt19937& random) {
  const tensor::DTypeInfo& info = tensor::InfoOf(dtype);
  const int64_t blocks = elements / info.block_elements;
  std::vector<std::byte> bytes(static_cast<size_t>(blocks * info.block_bytes));
  const HalfFields halves = HalfFieldsOf(dtype);
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
    for (int h = 0; h < halves.count; ++h) {
      const uint16_t value = RandomHalf(random);
      std::memcpy(block + halves.offsets[h], &value, 2);
    }
  }
  return bytes;
}

}  // namespace skald::kernels
