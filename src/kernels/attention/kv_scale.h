/// The scale of a quantized head, and where its integers go (numerics 3.20): a few operations of a
/// vector, the same code for every instruction set.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/attention/attention.h"
#include "kernels/isa/bfloat16.h"

namespace skald::kernels {

/// A head whose largest element is less than this is zero, as in numerics 3.5: what follows is
/// never subnormal.
inline constexpr float kSmallestQuantizedMaximum = 0x1p-96f;

/// Of the elements of a head, and 0: whether all are finite, and if so their ends.
struct HeadRange {
  float least = 0;
  float largest = 0;
  bool finite = true;
};

/// The scale as it is kept, and what elements are multiplied by: 0 where all integers are 0.
struct KvScale {
  BFloat16 scale = {0};
  float inverse = 0;
};

inline float FloatOf(BFloat16 x) { return std::bit_cast<float>(uint32_t{x.bits} << 16); }

inline KvScale ScaleOf(KvType type, const HeadRange& range) {
  constexpr uint16_t kNaN = 0x7fc0;
  if (!range.finite) return {.scale = {kNaN}};
  const bool below = -range.least >= range.largest;
  const float magnitude = below ? -range.least : range.largest;
  if (magnitude < kSmallestQuantizedMaximum) return {};
  float step = magnitude / 127;
  // Of -8 .. 7 the end that has one more number is for the larger end of the elements.
  if (type == KvType::kQ4) step = below ? magnitude / 8 : magnitude / -8;
  // Away from zero, so that no integer is outside of its range.
  const BFloat16 scale = {static_cast<uint16_t>((std::bit_cast<uint32_t>(step) + 0xffffu) >> 16)};
  return {.scale = scale, .inverse = 1 / FloatOf(scale)};
}

/// The largest integer. The least needs no bound.
inline float LargestInteger(KvType type) { return type == KvType::kQ8 ? 127.0f : 7.0f; }

/// The scale of a query, or of the weights of a row, and what its elements are multiplied by.
struct RowScale {
  float scale = 0;
  float inverse = 0;
};

/// The largest integer of a query, and of weights.
inline constexpr float kLargestOfQuery = 127;
inline constexpr float kLargestWeight = 32767;

inline RowScale RowScaleOf(const HeadRange& range, float largest) {
  if (!range.finite) return {.scale = std::bit_cast<float>(0x7fc00000u)};
  const float magnitude = -range.least >= range.largest ? -range.least : range.largest;
  if (magnitude < kSmallestQuantizedMaximum) return {};
  return {.scale = magnitude / largest, .inverse = largest / magnitude};
}

inline uint32_t LoadWord(const void* p) {
  uint32_t word;
  std::memcpy(&word, p, sizeof(word));
  return word;
}

/// Two's complement nibbles with 8 added, in the low half of each byte.
inline uint32_t OffsetNibbles(uint32_t word) { return (word & 0x0f0f0f0fu) ^ 0x08080808u; }

/// Writes the integers of a key of `token` into its tile. q: zeros behind the last, to whole
/// groups.
inline void WriteKeyIntegers(const PagedKv& kv, const int8_t* q, int64_t token, std::byte* tile) {
  const int64_t padded = PaddedKeyDim(kv.types.keys, kv.key_dim);
  std::byte* out = tile + 4 * token;
  constexpr int64_t kStep = 4 * kKeyTileTokens;
  if (kv.types.keys == KvType::kQ8) {
    for (int64_t d = 0; d < padded; d += 4, out += kStep) {
      const uint32_t word = LoadWord(q + d) ^ 0x80808080u;
      std::memcpy(out, &word, sizeof(word));
    }
    return;
  }
  for (int64_t d = 0; d < padded; d += 8, out += kStep) {
    const uint32_t word = OffsetNibbles(LoadWord(q + d)) | OffsetNibbles(LoadWord(q + d + 4)) << 4;
    std::memcpy(out, &word, sizeof(word));
  }
}

/// Writes the words of a query, zeros behind the last element as for keys, `stride` words apart.
/// Returns minus what the numbers that are added to the integers of keys make of this query.
inline int32_t WriteQueryIntegers(const PagedKv& kv, const int8_t* q, int32_t* words,
                                  int64_t stride) {
  const int64_t padded = PaddedKeyDim(kv.types.keys, kv.key_dim);
  int32_t sum = 0;
  for (int64_t d = 0; d < padded; d += 4, words += stride) {
    for (int64_t i = d; i < d + 4; ++i) sum += q[i];
    *words = static_cast<int32_t>(LoadWord(q + d));
  }
  return (kv.types.keys == KvType::kQ8 ? -128 : -8) * sum;
}

/// Writes the integers of a value, byte by byte: its neighbour of the pair may be written at the
/// same time. q: zeros behind the last, to whole vectors of 16.
inline void WriteValueIntegers(const PagedKv& kv, const int8_t* q, std::byte* row) {
  const int64_t padded = PaddedValueDim(kv.value_dim);
  if (kv.types.values == KvType::kQ8) {
    for (int64_t d = 0; d < padded; ++d) row[2 * d] = static_cast<std::byte>(q[d]);
    return;
  }
  for (int64_t d = 0; d < padded; d += 2) {
    row[d] = static_cast<std::byte>((q[d] + 8) | (q[d + 1] + 8) << 4);
  }
}

}  // namespace skald::kernels
