/// Weights in 256-bit registers: what the parts of the AVX2 matmul share. Opens the target region
/// for its own functions (isa/vec_avx2.h) and is included like any other header.
#pragma once

#include <cstdint>

#include "kernels/isa/intrinsics.h"
#include "kernels/pack/unit_layout.h"
#include "tensor/quant_blocks.h"

// clang-format off: the region must open after everything else.
#include "kernels/isa/target_avx2_begin.h"
// clang-format on

namespace skald::kernels::avx2 {

constexpr int kHalfRows = 8;

[[gnu::always_inline]] inline __m256i Load(const void* p) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(p));
}
[[gnu::always_inline]] inline __m128i Load16(const void* p) {
  return _mm_loadu_si128(static_cast<const __m128i*>(p));
}
[[gnu::always_inline]] inline __m256 LoadHalves(const uint16_t* p) {
  return _mm256_cvtph_ps(Load16(p));
}
// 8 bytes, widened to int32.
[[gnu::always_inline]] inline __m256i LoadBytes(const uint8_t* p) {
  return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
}
[[gnu::always_inline]] inline __m256i LoadBytes(const int8_t* p) {
  return _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
}
// The 4 bytes at q in every lane.
[[gnu::always_inline]] inline __m256i Broadcast4(const int8_t* q) {
  int32_t bytes;
  __builtin_memcpy(&bytes, q, 4);
  return _mm256_set1_epi32(bytes);
}

// ---------------------------------------------------------------------------------------------
// The weights of 32 columns of 8 rows: register k4 holds columns 4 k4 .. 4 k4 + 3 of each row.

// Unsigned weights of which kPairs products of pairs fit int16.
template <int kPairs>
struct UnsignedWeights {
  __m256i w[8];

  // Adds the dot products with q of the columns 4 * kFirst .. 4 * (kFirst + kCount) - 1, times
  // `scale`, which is in both int16 of each lane; q points to column 0.
  template <int kFirst, int kCount>
  [[gnu::always_inline]] __m256i AddTo(__m256i dot, const int8_t* q, __m256i scale) const {
    static_assert(kCount % kPairs == 0);
#pragma GCC unroll 8
    for (int k = kFirst; k < kFirst + kCount; k += kPairs) {
      __m256i pairs = _mm256_maddubs_epi16(w[k], Broadcast4(q + 4 * k));
#pragma GCC unroll 8
      for (int j = k + 1; j < k + kPairs; ++j) {
        pairs = _mm256_add_epi16(pairs, _mm256_maddubs_epi16(w[j], Broadcast4(q + 4 * j)));
      }
      dot = _mm256_add_epi32(dot, _mm256_madd_epi16(pairs, scale));
    }
    return dot;
  }
};

// Signed weights in -128..127, of which kPairs products of pairs fit int16.
template <int kPairs = 1>
struct SignedWeights {
  __m256i w[8];
  __m256i magnitude[8];

  template <int kFirst, int kCount>
  [[gnu::always_inline]] __m256i AddTo(__m256i dot, const int8_t* q, __m256i scale) const {
#pragma GCC unroll 8
    for (int k = kFirst; k < kFirst + kCount; k += kPairs) {
      __m256i pairs = Pairs(k, q);
#pragma GCC unroll 4
      for (int j = k + 1; j < k + kPairs; ++j) pairs = _mm256_add_epi16(pairs, Pairs(j, q));
      dot = _mm256_add_epi32(dot, _mm256_madd_epi16(pairs, scale));
    }
    return dot;
  }
  [[gnu::always_inline]] __m256i Pairs(int k, const int8_t* q) const {
    return _mm256_maddubs_epi16(magnitude[k], _mm256_sign_epi8(Broadcast4(q + 4 * k), w[k]));
  }
};

template <int kPairs>
[[gnu::always_inline]] inline UnsignedWeights<kPairs> UnpackNibbles(
    const uint8_t (&nibbles)[4][16][4], int half) {
  UnsignedWeights<kPairs> weights;
  const __m256i mask = _mm256_set1_epi8(15);
#pragma GCC unroll 4
  for (int k = 0; k < 4; ++k) {
    const __m256i both = Load(nibbles[k][kHalfRows * half]);
    weights.w[k] = _mm256_and_si256(both, mask);
    weights.w[k + 4] = _mm256_and_si256(_mm256_srli_epi16(both, 4), mask);
  }
  return weights;
}

// x | (bits & mask)
[[gnu::always_inline]] inline __m256i OrMasked(__m256i x, __m256i bits, __m256i mask) {
  return _mm256_or_si256(x, _mm256_and_si256(bits, mask));
}

[[gnu::always_inline]] inline UnsignedWeights<4> UnpackFive(const BlockQ5& block, int half) {
  UnsignedWeights<4> weights = UnpackNibbles<4>(block.nibbles, half);
  const __m256i high = Load(block.high[kHalfRows * half]);
  const __m256i mask = _mm256_set1_epi8(16);
  // Bit k4 of each byte goes to bit 4; the 16-bit shifts carry nothing into the bit that is kept.
#pragma GCC unroll 4
  for (int k = 0; k < 4; ++k) {
    weights.w[k] = OrMasked(weights.w[k], _mm256_slli_epi16(high, 4 - k), mask);
    weights.w[k + 4] = OrMasked(weights.w[k + 4], _mm256_srli_epi16(high, k), mask);
  }
  return weights;
}

template <int kPairs>
[[gnu::always_inline]] inline UnsignedWeights<kPairs> UnpackTwoBits(const BlockTwoBits& block,
                                                                    int half) {
  const __m256i mask = _mm256_set1_epi8(3);
  UnsignedWeights<kPairs> weights;
#pragma GCC unroll 2
  for (int k = 0; k < 2; ++k) {
    const __m256i all = Load(block.q[k][kHalfRows * half]);
    weights.w[k] = _mm256_and_si256(all, mask);
    weights.w[k + 2] = _mm256_and_si256(_mm256_srli_epi16(all, 2), mask);
    weights.w[k + 4] = _mm256_and_si256(_mm256_srli_epi16(all, 4), mask);
    weights.w[k + 6] = _mm256_and_si256(_mm256_srli_epi16(all, 6), mask);
  }
  return weights;
}

[[gnu::always_inline]] inline UnsignedWeights<4> UnpackThree(const BlockQ3& block, int half) {
  UnsignedWeights<4> weights = UnpackTwoBits<4>(block.low, half);
  const __m256i high = Load(block.high[kHalfRows * half]);
  const __m256i mask = _mm256_set1_epi8(4);
  // Bit k4 of each byte goes to bit 2.
#pragma GCC unroll 3
  for (int k = 0; k < 3; ++k) {
    weights.w[k] = OrMasked(weights.w[k], _mm256_slli_epi16(high, 2 - k), mask);
  }
#pragma GCC unroll 5
  for (int k = 3; k < 8; ++k) {
    weights.w[k] = OrMasked(weights.w[k], _mm256_srli_epi16(high, k - 2), mask);
  }
  return weights;
}

// What nibbles stand for in IQ4_NL and IQ4_XS, plus 128.
[[gnu::always_inline]] inline UnsignedWeights<8> UnpackIQ4(const uint8_t (&nibbles)[4][16][4],
                                                           int half) {
  UnsignedWeights<8> weights = UnpackNibbles<8>(nibbles, half);
  const __m256i values = _mm256_xor_si256(_mm256_broadcastsi128_si256(Load16(tensor::kIQ4Values)),
                                          _mm256_set1_epi8(-128));
#pragma GCC unroll 8
  for (int k = 0; k < 8; ++k) weights.w[k] = _mm256_shuffle_epi8(values, weights.w[k]);
  return weights;
}

}  // namespace skald::kernels::avx2

#include "kernels/isa/target_end.h"
