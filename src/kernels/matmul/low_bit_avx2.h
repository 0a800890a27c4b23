/// Weights of 1 to 3 bits in 256-bit registers: what weights_avx2.h is for the others.
#pragma once

#include <cstdint>

#include "kernels/isa/intrinsics.h"
#include "kernels/matmul/weights_avx2.h"
#include "kernels/pack/unit_layout.h"

// clang-format off: the region must open after everything else.
#include "kernels/isa/target_avx2_begin.h"
// clang-format on

namespace skald::kernels::avx2 {

// ---------------------------------------------------------------------------------------------
// Codebooks. The weights of a block come out with kOffsetOf<Unit> added: 64 +- 62 or 16 +- 15.

template <typename Unit>
inline constexpr int kOffsetOf = 64;
template <>
inline constexpr int kOffsetOf<UnitI3S> = 16;
template <>
inline constexpr int kOffsetOf<UnitI1> = 16;

// All bits of each byte whose bit is set, for 8 rows.
[[gnu::always_inline]] inline __m256i BytesOf(const uint8_t (&bits)[8], int half) {
  int32_t word;
  __builtin_memcpy(&word, bits + 4 * half, 4);
  const __m256i byte_of = _mm256_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1,  //
                                           2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3);
  const __m256i bit_of = _mm256_set1_epi64x(static_cast<int64_t>(0x8040201008040201));
  const __m256i bytes = _mm256_shuffle_epi8(_mm256_set1_epi32(word), byte_of);
  return _mm256_cmpeq_epi8(_mm256_and_si256(bytes, bit_of), bit_of);
}

// kOffset + the magnitudes with their signs.
template <int kOffset>
[[gnu::always_inline]] inline __m256i AddSigns(__m256i magnitudes, const uint8_t (&signs)[8],
                                               int half) {
  const __m256i negative = BytesOf(signs, half);
  const __m256i flipped = _mm256_xor_si256(magnitudes, negative);
  return _mm256_add_epi8(_mm256_sub_epi8(flipped, negative), _mm256_set1_epi8(kOffset));
}

// The entries of 8 rows, 8 columns each: `low` has columns 0..3 of each row, `high` 4..7. Gathers
// of 64-bit entries are half the loads of those of 32 bits.
[[gnu::always_inline]] inline void GatherEights(const uint64_t* entries, __m256i index,
                                                __m256i& low, __m256i& high) {
  const auto* base = reinterpret_cast<const long long*>(entries);  // NOLINT: the intrinsic's type
  const __m256 a =
      _mm256_castsi256_ps(_mm256_i32gather_epi64(base, _mm256_castsi256_si128(index), 8));
  const __m256 b =
      _mm256_castsi256_ps(_mm256_i32gather_epi64(base, _mm256_extracti128_si256(index, 1), 8));
  // Pairs of rows come out in the order 0, 2, 1, 3.
  const __m256i even = _mm256_castps_si256(_mm256_shuffle_ps(a, b, 0x88));
  const __m256i odd = _mm256_castps_si256(_mm256_shuffle_ps(a, b, 0xdd));
  low = _mm256_permute4x64_epi64(even, 0xd8);
  high = _mm256_permute4x64_epi64(odd, 0xd8);
}

template <Codebook kBook>
[[gnu::always_inline]] inline UnsignedWeights<1> UnpackBlock(const UnitCodes<BlockI2, kBook>& unit,
                                                             int b, int half) {
  const BlockI2& block = unit.blocks[b];
  const __m256i high_bits = _mm256_slli_epi32(LoadBytes(block.high + kHalfRows * half), 8);
  const __m256i mask = _mm256_set1_epi32(0x300);
  UnsignedWeights<1> weights;
#pragma GCC unroll 4
  for (int g = 0; g < 4; ++g) {
    const __m256i low_bits = LoadBytes(block.low[g] + kHalfRows * half);
    __m256i low;
    __m256i high;
    GatherEights(EntriesOf<kBook>(), OrMasked(low_bits, _mm256_srli_epi32(high_bits, 2 * g), mask),
                 low, high);
    weights.w[2 * g] = AddSigns<64>(low, block.signs[2 * g], half);
    weights.w[2 * g + 1] = AddSigns<64>(high, block.signs[2 * g + 1], half);
  }
  return weights;
}

template <Codebook kBook>
[[gnu::always_inline]] inline auto UnpackBlock(const UnitCodes<BlockI3, kBook>& unit, int b,
                                               int half) {
  constexpr int kOffset = kOffsetOf<UnitCodes<BlockI3, kBook>>;
  const BlockI3& block = unit.blocks[b];
  const int* entries = reinterpret_cast<const int*>(EntriesOf<kBook>());
  const __m256i high_bits = _mm256_slli_epi32(LoadBytes(block.high + kHalfRows * half), 8);
  const __m256i mask = _mm256_set1_epi32(0x100);
  UnsignedWeights<kOffset == 16 ? 4 : 1> weights;
#pragma GCC unroll 8
  for (int k = 0; k < 8; ++k) {
    const __m256i low_bits = LoadBytes(block.low[k] + kHalfRows * half);
    const __m256i index = OrMasked(low_bits, _mm256_srli_epi32(high_bits, k), mask);
    weights.w[k] =
        AddSigns<kOffset>(_mm256_i32gather_epi32(entries, index, 4), block.signs[k], half);
  }
  return weights;
}

// 16 + 8 g +- 1, of entries that are g + 1 in each byte: no byte carries into its neighbour.
[[gnu::always_inline]] inline __m256i AddShift(__m256i entries, __m256i negative) {
  const __m256i positive = _mm256_add_epi8(_mm256_slli_epi32(entries, 3), _mm256_set1_epi8(9));
  return _mm256_sub_epi8(positive, _mm256_and_si256(negative, _mm256_set1_epi8(2)));
}

[[gnu::always_inline]] inline UnsignedWeights<4> UnpackBlock(const UnitI1& unit, int b, int half) {
  const BlockI1& block = unit.blocks[b];
  UnsignedWeights<4> weights;
#pragma GCC unroll 4
  for (int g = 0; g < 4; ++g) {
    const __m256i pair = LoadBytes(block.high[g / 2] + kHalfRows * half);
    const __m256i nibbles = _mm256_slli_epi32(pair, g % 2 == 0 ? 8 : 4);
    const __m256i low_bits = LoadBytes(block.low[g] + kHalfRows * half);
    const __m256i shift = _mm256_set1_epi32(0x800);
    const __m256i negative = _mm256_cmpeq_epi32(_mm256_and_si256(nibbles, shift), shift);
    __m256i low;
    __m256i high;
    GatherEights(EntriesOf<Codebook::kIQ1>(), OrMasked(low_bits, nibbles, _mm256_set1_epi32(0x700)),
                 low, high);
    weights.w[2 * g] = AddShift(low, negative);
    weights.w[2 * g + 1] = AddShift(high, negative);
  }
  return weights;
}

// ---------------------------------------------------------------------------------------------
// Fields of 1 and 2 bits.

[[gnu::always_inline]] inline UnsignedWeights<8> UnpackBlock(const BlockTwoBits& block, int half) {
  return UnpackTwoBits<8>(block, half);
}

// Twice the bit.
[[gnu::always_inline]] inline UnsignedWeights<8> UnpackBlock(const BlockBits& bits, int half) {
  UnsignedWeights<8> weights;
#pragma GCC unroll 8
  for (int k = 0; k < 8; ++k) {
    weights.w[k] = _mm256_and_si256(BytesOf(bits[k], half), _mm256_set1_epi8(2));
  }
  return weights;
}

// Blocks of 32 columns in a unit.
template <typename Unit>
inline constexpr int kBlocksOf = 1;
template <>
inline constexpr int kBlocksOf<UnitQ2> = 2;
template <>
inline constexpr int kBlocksOf<UnitQ1> = 4;
template <>
inline constexpr int kBlocksOf<UnitNV4> = 2;

}  // namespace skald::kernels::avx2

#include "kernels/isa/target_end.h"
