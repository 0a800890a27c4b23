/// Weights of 1 to 3 bits in 512-bit registers: what weights_avx512.h is for the others.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/isa/intrinsics.h"
#include "kernels/matmul/weights_avx512.h"
#include "kernels/pack/unit_layout.h"

// clang-format off: the region must open after everything else.
#include "kernels/isa/target_avx512_begin.h"
// clang-format on

namespace skald::kernels::avx512 {

// ---------------------------------------------------------------------------------------------
// Codebooks. The weights of a block come out unsigned, with kOffsetOf<Unit> added.

template <>
inline constexpr int kOffsetOf<UnitI2XXS> = 64;
template <>
inline constexpr int kOffsetOf<UnitI2XS> = 64;
template <>
inline constexpr int kOffsetOf<UnitI2S> = 64;
template <>
inline constexpr int kOffsetOf<UnitI3XXS> = 64;
template <>
inline constexpr int kOffsetOf<UnitI3S> = 64;
template <>
inline constexpr int kOffsetOf<UnitI1> = 16;

[[gnu::always_inline]] inline __mmask64 LoadMask(const uint8_t (&bits)[8]) {
  uint64_t mask;
  __builtin_memcpy(&mask, bits, 8);
  return mask;
}

// 64 + the magnitudes with their signs.
[[gnu::always_inline]] inline __m512i AddSigns(__m512i magnitudes, const uint8_t (&signs)[8]) {
  const __m512i offset = _mm512_set1_epi8(64);
  return _mm512_mask_sub_epi8(_mm512_add_epi8(offset, magnitudes), LoadMask(signs), offset,
                              magnitudes);
}

// The entries of 16 rows, 8 columns each: `low` has columns 0..3 of each row, `high` 4..7. Two
// gathers of eight 64-bit entries are half the loads of two gathers of sixteen 32-bit ones.
[[gnu::always_inline]] inline void GatherEights(const uint64_t* entries, __m512i index,
                                                __m512i& low, __m512i& high) {
  const __m256i last = _mm512_extracti64x4_epi64(index, 1);
  const __m512i a = _mm512_i32gather_epi64(_mm512_castsi512_si256(index), entries, 8);
  const __m512i b = _mm512_i32gather_epi64(last, entries, 8);
  const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  low = _mm512_permutex2var_epi32(a, even, b);
  high = _mm512_permutex2var_epi32(a, _mm512_add_epi32(even, _mm512_set1_epi32(1)), b);
}

template <Codebook kBook>
[[gnu::always_inline]] inline void UnpackBlock(const UnitCodes<BlockI2, kBook>& unit, int b,
                                               Weights& w) {
  const BlockI2& block = unit.blocks[b];
  const __m512i high_bits = _mm512_slli_epi32(LoadBytes(block.high), 8);
  const __m512i mask = _mm512_set1_epi32(0x300);
#pragma GCC unroll 4
  for (int g = 0; g < 4; ++g) {
    const __m512i shifted = _mm512_srli_epi32(high_bits, static_cast<unsigned>(2 * g));
    __m512i low;
    __m512i high;
    GatherEights(EntriesOf<kBook>(), OrMasked(LoadBytes(block.low[g]), shifted, mask), low, high);
    w[2 * g] = AddSigns(low, block.signs[2 * g]);
    w[2 * g + 1] = AddSigns(high, block.signs[2 * g + 1]);
  }
}

template <Codebook kBook>
[[gnu::always_inline]] inline void UnpackBlock(const UnitCodes<BlockI3, kBook>& unit, int b,
                                               Weights& w) {
  const BlockI3& block = unit.blocks[b];
  const __m512i high_bits = _mm512_slli_epi32(LoadBytes(block.high), 8);
  const __m512i mask = _mm512_set1_epi32(0x100);
#pragma GCC unroll 8
  for (int k = 0; k < 8; ++k) {
    const __m512i shifted = _mm512_srli_epi32(high_bits, static_cast<unsigned>(k));
    const __m512i index = OrMasked(LoadBytes(block.low[k]), shifted, mask);
    w[k] = AddSigns(_mm512_i32gather_epi32(index, EntriesOf<kBook>(), 4), block.signs[k]);
  }
}

// 16 + 8 g +- 1, of entries that are g + 1 in each byte: no byte carries into its neighbour.
[[gnu::always_inline]] inline __m512i AddShift(__m512i entries, __mmask16 negative) {
  const __m512i positive = _mm512_add_epi8(_mm512_slli_epi32(entries, 3), _mm512_set1_epi8(9));
  return _mm512_mask_sub_epi32(positive, negative, positive, _mm512_set1_epi8(2));
}

[[gnu::always_inline]] inline void UnpackBlock(const UnitI1& unit, int b, Weights& w) {
  const BlockI1& block = unit.blocks[b];
#pragma GCC unroll 4
  for (int g = 0; g < 4; ++g) {
    const __m512i nibbles = _mm512_slli_epi32(LoadBytes(block.high[g / 2]), g % 2 == 0 ? 8 : 4);
    const __m512i index = OrMasked(LoadBytes(block.low[g]), nibbles, _mm512_set1_epi32(0x700));
    const __mmask16 negative = _mm512_test_epi32_mask(nibbles, _mm512_set1_epi32(0x800));
    __m512i low;
    __m512i high;
    GatherEights(EntriesOf<Codebook::kIQ1>(), index, low, high);
    w[2 * g] = AddShift(low, negative);
    w[2 * g + 1] = AddShift(high, negative);
  }
}

template <typename BlockType, Codebook kBook>
[[gnu::always_inline]] inline __m512 LoadScales(const UnitCodes<BlockType, kBook>& unit) {
  return _mm512_mul_ps(LoadHalves(unit.d), _mm512_set1_ps(unit.kStep));
}

template <typename BlockType, Codebook kBook>
[[gnu::always_inline]] inline HalfScales HalfScalesOf(const UnitCodes<BlockType, kBook>& unit,
                                                      int b) {
  const __m512i bytes = LoadBytes(unit.blocks[b].scales);
  const __m512i one = _mm512_set1_epi32(1);
  // 2 s + 1, of the nibble in place.
  const __m512i low = _mm512_and_si512(_mm512_slli_epi32(bytes, 1), _mm512_set1_epi32(30));
  const __m512i high = _mm512_and_si512(_mm512_srli_epi32(bytes, 3), _mm512_set1_epi32(30));
  return {_mm512_or_si512(low, one), _mm512_or_si512(high, one)};
}

// ---------------------------------------------------------------------------------------------
// Fields of 1 and 2 bits.

template <>
inline constexpr int kOffsetOf<UnitQ2> = 1;
template <>
inline constexpr int kOffsetOf<UnitQ1> = 1;

// Twice the bit.
[[gnu::always_inline]] inline void UnpackBlock(const BlockBits& bits, Weights& w) {
#pragma GCC unroll 8
  for (int k = 0; k < 8; ++k) w[k] = _mm512_maskz_set1_epi8(LoadMask(bits[k]), 2);
}

[[gnu::always_inline]] inline void UnpackBlock(const uint8_t (&nibbles)[4][16][4], Weights& w) {
  UnpackValues(nibbles, tensor::kMXFP4Values, w);
}

// The scales of sub-block s, as tensor::HalfOfE4M3.
[[gnu::always_inline]] inline __m512 LoadE4M3(const UnitNV4& unit, int s) {
  const __m512i bytes = _mm512_and_si512(LoadBytes(unit.d[s]), _mm512_set1_epi32(127));
  const __m512 bits = _mm512_castsi512_ps(_mm512_slli_epi32(bytes, 20));
  return _mm512_mul_ps(bits, _mm512_set1_ps(0x1p119f));
}

// Block b of a unit of 32-column blocks, of which there may be several.
template <typename Unit>
inline constexpr int kBlocksOf = 1;
template <>
inline constexpr int kBlocksOf<UnitQ2> = 2;
template <>
inline constexpr int kBlocksOf<UnitQ1> = 4;
template <>
inline constexpr int kBlocksOf<UnitNV4> = 2;

template <typename Unit>
[[gnu::always_inline]] inline void UnpackColumns(const Unit& unit, int b, Weights& w) {
  if constexpr (kBlocksOf<Unit> == 1) {
    Unpack(unit, w);
  } else {
    UnpackBlock(unit.blocks[b], w);
  }
}

}  // namespace skald::kernels::avx512

#include "kernels/isa/target_end.h"
