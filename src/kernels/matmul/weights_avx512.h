/// Weights in 512-bit registers: what the AVX-512 and the AMX matmul share. Opens the target region
/// for its own functions (isa/vec_avx512.h) and is included like any other header.
#pragma once

#include <cstdint>

#include "kernels/isa/intrinsics.h"
#include "kernels/pack/unit_layout.h"
#include "kernels/quantize/tile_layout.h"
#include "tensor/quant_blocks.h"

// clang-format off: the region must open after everything else.
#include "kernels/isa/target_avx512_begin.h"
// clang-format on

namespace skald::kernels::avx512 {

// acc + (2 products of the int16 pairs of each lane of w with the pair at `pair`).
[[gnu::always_inline]] inline __m512i AddPairs(__m512i acc, __m512i w, const int32_t* pair) {
  asm("vpdpwssd %2%{1to16%}, %1, %0" : "+v"(acc) : "v"(w), "m"(*pair));
  return acc;
}

// The same with the pairs of each lane of `pair`. With the intrinsic, as with that of AddTo, gcc 12
// copies sums between registers, and where registers are few it stores each sum that it has.
[[gnu::always_inline]] inline __m512i AddPairs(__m512i acc, __m512i w, __m512i pair) {
  asm("vpdpwssd %2, %1, %0" : "+v"(acc) : "v"(w), "v"(pair));
  return acc;
}
// acc + x.
[[gnu::always_inline]] inline __m512i AddTo(__m512i acc, __m512i x) {
  asm("vpaddd %1, %0, %0" : "+v"(acc) : "v"(x));
  return acc;
}

// One load, however often the result is used. Without the empty assembly gcc 12 makes an operand in
// memory of each use that can have one: a block of Q6_K had 16 loads for 6, and loads are what one
// token waits for where memory is fast (docs/log.md, 2026-12-01).
[[gnu::always_inline]] inline __m512i Load(const void* p) {
  __m512i x = _mm512_loadu_si512(p);
  asm("" : "+v"(x));
  return x;
}

// The same address, in a register of its own. gcc 12 would keep a base and an index where that
// saves it an addition, and Intel's cores split instructions with an indexed operand in two: a
// fifth of the speed of a loop of dot products (docs/log.md, 2026-12-01).
template <typename T>
[[gnu::always_inline]] inline const T* Unindexed(const T* p) {
  asm("" : "+r"(p));
  return p;
}

using AliasedInt32 __attribute__((may_alias)) = int32_t;
// The 4 bytes at p, in each lane.
[[gnu::always_inline]] inline __m512i Broadcast(const void* p) {
  return _mm512_set1_epi32(*static_cast<const AliasedInt32*>(p));
}
[[gnu::always_inline]] inline __m512 LoadHalves(const uint16_t* p) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
[[gnu::always_inline]] inline __m512i LoadBytes(const uint8_t* p) {
  return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
[[gnu::always_inline]] inline __m512i LoadBytes(const int8_t* p) {
  return _mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}

// The int16 pairs (low, high) of two int32 that fit int16.
[[gnu::always_inline]] inline __m512i PairOf(__m512i low, __m512i high) {
  return _mm512_or_si512(_mm512_and_si512(low, _mm512_set1_epi32(0xffff)),
                         _mm512_slli_epi32(high, 16));
}
[[gnu::always_inline]] inline __m512i Twice(__m512i x) { return PairOf(x, x); }

// The sums of the activations of N tokens from `first` on in both halves of each block, as int16
// pairs: [block][token]. Of all tokens at a time: token by token they would cost more than the
// products. corr32 = -32 * asum, and asum of 16 columns is at most 16 * 127.
template <int N, int MR>
[[gnu::always_inline]] inline void PairSums(const Block128Tile<MR>& a, int first,
                                            int32_t (*pairs)[16]) {
  constexpr __mmask16 kTokens = static_cast<__mmask16>((1u << N) - 1);
  const auto sums = [&](int half) {
    const __m512i corr = _mm512_maskz_loadu_epi32(kTokens, a.corr32[half] + first);
    return _mm512_srai_epi32(_mm512_sub_epi32(_mm512_setzero_si512(), corr), 5);
  };
#pragma GCC unroll 4
  for (int b = 0; b < 4; ++b) {
    _mm512_store_si512(pairs[b], PairOf(sums(2 * b), sums(2 * b + 1)));
  }
}

// The weights of a block of 32 columns: register k4 holds columns 4 k4 .. 4 k4 + 3 of all rows.
// Each unpacker fills one from its part of a unit.
using Weights = __m512i[8];

[[gnu::always_inline]] inline void UnpackBytes(const uint8_t (&q)[8][16][4], Weights& w) {
#pragma GCC unroll 8
  for (int k = 0; k < 8; ++k) w[k] = Load(q[k]);
}

[[gnu::always_inline]] inline void UnpackNibbles(const uint8_t (&nibbles)[4][16][4], Weights& w) {
  const __m512i mask = _mm512_set1_epi8(15);
#pragma GCC unroll 4
  for (int k = 0; k < 4; ++k) {
    const __m512i both = Load(nibbles[k]);
    w[k] = _mm512_and_si512(both, mask);
    w[k + 4] = _mm512_and_si512(_mm512_srli_epi16(both, 4), mask);
  }
}

// Register k of them alone.
[[gnu::always_inline]] inline __m512i NibbleColumn(const uint8_t (&nibbles)[4][16][4], int k) {
  const __m512i both = Load(nibbles[k % 4]);
  return _mm512_and_si512(k < 4 ? both : _mm512_srli_epi16(both, 4), _mm512_set1_epi8(15));
}

// x | (bits & mask), one instruction.
[[gnu::always_inline]] inline __m512i OrMasked(__m512i x, __m512i bits, __m512i mask) {
  return _mm512_ternarylogic_epi32(x, bits, mask, 0xf0 | (0xcc & 0xaa));
}

[[gnu::always_inline]] inline void UnpackFive(const BlockQ5& block, Weights& w) {
  UnpackNibbles(block.nibbles, w);
  const __m512i high = Load(block.high);
  const __m512i mask = _mm512_set1_epi8(16);
  // Bit k4 of each byte goes to bit 4; the 16-bit shifts carry nothing into the bit that is kept.
#pragma GCC unroll 4
  for (int k = 0; k < 4; ++k) {
    w[k] = OrMasked(w[k], _mm512_slli_epi16(high, static_cast<unsigned>(4 - k)), mask);
    w[k + 4] = OrMasked(w[k + 4], _mm512_srli_epi16(high, static_cast<unsigned>(k)), mask);
  }
}

// Register k of them alone.
[[gnu::always_inline]] inline __m512i FiveBitColumn(const BlockQ5& block, int k) {
  const __m512i high = Load(block.high);
  const __m512i shifted = k < 4 ? _mm512_slli_epi16(high, static_cast<unsigned>(4 - k))
                                : _mm512_srli_epi16(high, static_cast<unsigned>(k - 4));
  return OrMasked(NibbleColumn(block.nibbles, k), shifted, _mm512_set1_epi8(16));
}

[[gnu::always_inline]] inline void UnpackBlock(const BlockTwoBits& block, Weights& w) {
  const __m512i mask = _mm512_set1_epi8(3);
#pragma GCC unroll 2
  for (int k = 0; k < 2; ++k) {
    const __m512i all = Load(block.q[k]);
    w[k] = _mm512_and_si512(all, mask);
    w[k + 2] = _mm512_and_si512(_mm512_srli_epi16(all, 2), mask);
    w[k + 4] = _mm512_and_si512(_mm512_srli_epi16(all, 4), mask);
    w[k + 6] = _mm512_and_si512(_mm512_srli_epi16(all, 6), mask);
  }
}

[[gnu::always_inline]] inline void UnpackThree(const BlockQ3& block, Weights& w) {
  UnpackBlock(block.low, w);
  const __m512i high = Load(block.high);
  const __m512i mask = _mm512_set1_epi8(4);
  // Bit k4 of each byte goes to bit 2.
#pragma GCC unroll 3
  for (int k = 0; k < 3; ++k) {
    w[k] = OrMasked(w[k], _mm512_slli_epi16(high, static_cast<unsigned>(2 - k)), mask);
  }
#pragma GCC unroll 5
  for (int k = 3; k < 8; ++k) {
    w[k] = OrMasked(w[k], _mm512_srli_epi16(high, static_cast<unsigned>(k - 2)), mask);
  }
}

[[gnu::always_inline]] inline void UnpackSix(const BlockQ6& block, Weights& w) {
  UnpackNibbles(block.low, w);
  const __m512i mask = _mm512_set1_epi8(0x30);
  static_assert(kHighShiftQ6[0] == 0 && kHighShiftQ6[2] == 4 && kHighShiftQ6[4] == 2 &&
                kHighShiftQ6[6] == 6);
#pragma GCC unroll 2
  for (int k = 0; k < 2; ++k) {
    const __m512i high = Load(block.high[k]);
    w[k] = OrMasked(w[k], _mm512_slli_epi16(high, 4), mask);
    w[k + 2] = OrMasked(w[k + 2], high, mask);
    w[k + 4] = OrMasked(w[k + 4], _mm512_slli_epi16(high, 2), mask);
    w[k + 6] = OrMasked(w[k + 6], _mm512_srli_epi16(high, 2), mask);
  }
}

// Block b of a unit.
[[gnu::always_inline]] inline void UnpackBlock(const UnitQ3K& unit, int b, Weights& w) {
  UnpackThree(unit.blocks[b], w);
}
[[gnu::always_inline]] inline void UnpackBlock(const UnitQ6K& unit, int b, Weights& w) {
  UnpackSix(unit.blocks[b], w);
}

[[gnu::always_inline]] inline void Unpack(const UnitQ8& u, Weights& w) { UnpackBytes(u.q, w); }
[[gnu::always_inline]] inline void Unpack(const UnitQ5& u, Weights& w) { UnpackFive(u.block, w); }
[[gnu::always_inline]] inline void Unpack(const UnitQ5M& u, Weights& w) { UnpackFive(u.block, w); }
[[gnu::always_inline]] inline void Unpack(const UnitQ4& u, Weights& w) {
  UnpackNibbles(u.nibbles, w);
}
[[gnu::always_inline]] inline void Unpack(const UnitQ4M& u, Weights& w) {
  UnpackNibbles(u.nibbles, w);
}

// What nibbles stand for, plus 128: the activations carry the sums for that offset already.
[[gnu::always_inline]] inline __m512i Plus128(const int8_t (&values)[16]) {
  const __m128i table = _mm_loadu_si128(reinterpret_cast<const __m128i*>(values));
  return _mm512_xor_si512(_mm512_broadcast_i32x4(table), _mm512_set1_epi8(-128));
}
[[gnu::always_inline]] inline void UnpackValues(const uint8_t (&nibbles)[4][16][4],
                                                const int8_t (&values)[16], Weights& w) {
  UnpackNibbles(nibbles, w);
  const __m512i table = Plus128(values);
#pragma GCC unroll 8
  for (int k = 0; k < 8; ++k) w[k] = _mm512_shuffle_epi8(table, w[k]);
}

[[gnu::always_inline]] inline void Unpack(const UnitI4NL& u, Weights& w) {
  UnpackValues(u.nibbles, tensor::kIQ4Values, w);
}
[[gnu::always_inline]] inline void Unpack(const UnitMX4& u, Weights& w) {
  UnpackValues(u.nibbles, tensor::kMXFP4Values, w);
}

// Register k of the unpacked weights of a unit.
[[gnu::always_inline]] inline __m512i Column(const UnitQ8& u, int k) { return Load(u.q[k]); }
[[gnu::always_inline]] inline __m512i Column(const UnitQ5& u, int k) {
  return FiveBitColumn(u.block, k);
}
[[gnu::always_inline]] inline __m512i Column(const UnitQ5M& u, int k) {
  return FiveBitColumn(u.block, k);
}
[[gnu::always_inline]] inline __m512i Column(const UnitQ4& u, int k) {
  return NibbleColumn(u.nibbles, k);
}
[[gnu::always_inline]] inline __m512i Column(const UnitQ4M& u, int k) {
  return NibbleColumn(u.nibbles, k);
}
[[gnu::always_inline]] inline __m512i Column(const UnitI4NL& u, int k) {
  return _mm512_shuffle_epi8(Plus128(tensor::kIQ4Values), NibbleColumn(u.nibbles, k));
}
[[gnu::always_inline]] inline __m512i Column(const UnitMX4& u, int k) {
  return _mm512_shuffle_epi8(Plus128(tensor::kMXFP4Values), NibbleColumn(u.nibbles, k));
}

// The offset of the unpacked weights of a unit without a minimum.
template <typename Unit>
inline constexpr int kOffsetOf = 128;
template <>
inline constexpr int kOffsetOf<UnitQ4> = 8;
template <>
inline constexpr int kOffsetOf<UnitQ5> = 16;
template <>
inline constexpr int kOffsetOf<UnitQ3K> = 4;
template <>
inline constexpr int kOffsetOf<UnitQ6K> = 32;

// The integer scales of the columns 0..15 and 16..31 of a block.
struct HalfScales {
  __m512i low;
  __m512i high;
};
template <typename Unit>
requires requires(const Unit& unit) { unit.scales[0][15]; }
[[gnu::always_inline]] inline HalfScales HalfScalesOf(const Unit& unit, int b) {
  return {LoadBytes(unit.scales[2 * b]), LoadBytes(unit.scales[2 * b + 1])};
}

// Scales and minimums of both halves of a block of kQ2K, as int16 pairs.
[[gnu::always_inline]] inline __m512i ScalesAndMinimums(const uint8_t (&scales)[16][2]) {
  return _mm512_cvtepu8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(scales)));
}
[[gnu::always_inline]] inline HalfScales HalfScalesOf(const UnitQ2K& unit, int b) {
  const __m512i pairs = ScalesAndMinimums(unit.scales[b]);
  return {_mm512_and_si512(pairs, _mm512_set1_epi32(15)),
          _mm512_and_si512(_mm512_srli_epi32(pairs, 16), _mm512_set1_epi32(15))};
}
[[gnu::always_inline]] inline __m512i MinimumPairs(const uint8_t (&scales)[16][2]) {
  return _mm512_srli_epi16(ScalesAndMinimums(scales), 4);
}

// The scales d of the 16 rows of a unit of 32 columns.
template <typename Unit>
[[gnu::always_inline]] inline __m512 LoadScales(const Unit& unit) {
  return LoadHalves(unit.d);
}
// As tensor::HalfOfPowerOfTwo.
[[gnu::always_inline]] inline __m512 LoadScales(const UnitMX4& unit) {
  const __m512i bits = _mm512_slli_epi32(LoadBytes(unit.e), 23);
  const __m512i power = _mm512_max_epu32(bits, _mm512_set1_epi32(0x400000));
  return _mm512_mul_ps(_mm512_castsi512_ps(power), _mm512_set1_ps(0.5f));
}

// The unpacked 6-bit scales and minimums: register j holds the int16 pairs (block 2 j, block
// 2 j + 1) of each row.
struct Scales6 {
  __m512i scales[4];
  __m512i mins[4];

  [[gnu::always_inline]] explicit Scales6(const PackedScales6& packed) {
    const __m512i low0 = Load(packed.low);
    const __m512i low1 = Load(packed.low + 64);
    const __m512i high = Load(packed.high);
    const __m512i low_mask = _mm512_set1_epi8(15);
    const __m512i high_mask = _mm512_set1_epi8(0x30);
    const __m512i s0 = _mm512_and_si512(low0, low_mask);
    const __m512i s1 = _mm512_and_si512(low1, low_mask);
    const __m512i m0 = _mm512_and_si512(_mm512_srli_epi16(low0, 4), low_mask);
    const __m512i m1 = _mm512_and_si512(_mm512_srli_epi16(low1, 4), low_mask);
    Widen(OrMasked(s0, _mm512_slli_epi16(high, 4), high_mask), scales[0], scales[1]);
    Widen(OrMasked(s1, _mm512_slli_epi16(high, 2), high_mask), scales[2], scales[3]);
    Widen(OrMasked(m0, high, high_mask), mins[0], mins[1]);
    Widen(OrMasked(m1, _mm512_srli_epi16(high, 2), high_mask), mins[2], mins[3]);
  }
  // The bytes of two pairs as int16.
  [[gnu::always_inline]] static void Widen(__m512i bytes, __m512i& first, __m512i& second) {
    first = _mm512_cvtepu8_epi16(_mm512_castsi512_si256(bytes));
    second = _mm512_cvtepu8_epi16(_mm512_extracti64x4_epi64(bytes, 1));
  }
  // The scales of a block, as int32: its half of the pairs.
  [[gnu::always_inline]] __m512i ScaleOf(int block) const {
    return block % 2 == 0 ? _mm512_and_si512(scales[block / 2], _mm512_set1_epi32(0xffff))
                          : _mm512_srli_epi32(scales[block / 2], 16);
  }
};

}  // namespace skald::kernels::avx512

#include "kernels/isa/target_end.h"
