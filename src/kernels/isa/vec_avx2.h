/// F32x16 for AVX2: sixteen floats in two registers. What the members mean, and how a variant is
/// compiled, stands in vec_avx512.h.
#pragma once

#include <cstdint>

#include "kernels/isa/bfloat16.h"
#include "kernels/isa/intrinsics.h"
#include "kernels/isa/target_avx2_begin.h"

namespace skald::kernels::avx2 {

struct F32x16 {
  /// Of 16 registers, 12 for accumulators (2 each), 4 for operands.
  static constexpr int kAccumulators = 6;
  /// Rows per inner attention kernel: 6 rows x 1 vector are 12 chains; two FMA units with a latency
  /// of 4 need 8.
  static constexpr int kRows = 6;

  __m256 lo;  // lanes 0..7
  __m256 hi;  // lanes 8..15

  static F32x16 Zero() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }
  static F32x16 Broadcast(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
  static F32x16 Load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
  static F32x16 Load(const uint16_t* p) {
    const auto* halves = reinterpret_cast<const __m128i*>(p);
    return {_mm256_cvtph_ps(_mm_loadu_si128(halves)), _mm256_cvtph_ps(_mm_loadu_si128(halves + 1))};
  }
  static F32x16 Load(const BFloat16* p) {
    const auto* bits = reinterpret_cast<const __m128i*>(p);
    return {Widen(_mm_loadu_si128(bits)), Widen(_mm_loadu_si128(bits + 1))};
  }
  static __m256 Widen(__m128i bfloats) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bfloats), 16));
  }
  static F32x16 LoadPartial(const float* p, int64_t n) {
    const Mask mask = Lanes(0, n);
    return {_mm256_maskload_ps(p, mask.lo), _mm256_maskload_ps(p + 8, mask.hi)};
  }

  /// All bits of a lane are set or clear.
  struct Mask {
    __m256i lo;
    __m256i hi;
  };
  static Mask Lanes(int64_t begin, int64_t end) {
    const __m256i low = _mm256_set1_epi32(Cut(begin) - 1);
    const __m256i high = _mm256_set1_epi32(Cut(end));
    const __m256i lanes0 = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const __m256i lanes8 = _mm256_setr_epi32(8, 9, 10, 11, 12, 13, 14, 15);
    return {
        _mm256_and_si256(_mm256_cmpgt_epi32(lanes0, low), _mm256_cmpgt_epi32(high, lanes0)),
        _mm256_and_si256(_mm256_cmpgt_epi32(lanes8, low), _mm256_cmpgt_epi32(high, lanes8)),
    };
  }
  static int Cut(int64_t n) { return n <= 0 ? 0 : n >= 16 ? 16 : static_cast<int>(n); }
};

inline void Store(F32x16 a, float* p) {
  _mm256_storeu_ps(p, a.lo);
  _mm256_storeu_ps(p + 8, a.hi);
}
inline void Store(F32x16 a, uint16_t* p) {
  constexpr int kRounding = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
  auto* halves = reinterpret_cast<__m128i*>(p);
  _mm_storeu_si128(halves, _mm256_cvtps_ph(a.lo, kRounding));
  _mm_storeu_si128(halves + 1, _mm256_cvtps_ph(a.hi, kRounding));
}
inline __m256i RoundToBFloat16(__m256 x) {
  const __m256i bits = _mm256_castps_si256(x);
  const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  const __m256i bias = _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff));
  const __m256 nan = _mm256_cmp_ps(x, x, _CMP_UNORD_Q);
  const __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
  const __m256 rounded = _mm256_blendv_ps(_mm256_castsi256_ps(_mm256_add_epi32(bits, bias)),
                                          _mm256_castsi256_ps(quiet), nan);
  return _mm256_srli_epi32(_mm256_castps_si256(rounded), 16);
}
inline void Store(F32x16 a, BFloat16* p) {
  // The pack works within 128-bit lanes: the middle quarters change places.
  const __m256i packed = _mm256_packus_epi32(RoundToBFloat16(a.lo), RoundToBFloat16(a.hi));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm256_permute4x64_epi64(packed, 0xd8));
}
inline __m256i RoundToWords(F32x16 a) {
  const __m256i words = _mm256_packs_epi32(_mm256_cvtps_epi32(a.lo), _mm256_cvtps_epi32(a.hi));
  // The pack works within 128-bit lanes: the middle quarters change places.
  return _mm256_permute4x64_epi64(words, 0xd8);
}
inline void StoreBytes(F32x16 a, int8_t* p) {
  const __m256i words = RoundToWords(a);
  _mm_storeu_si128(
      reinterpret_cast<__m128i*>(p),
      _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1)));
}
inline void StoreWords(F32x16 a, int16_t* p) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), RoundToWords(a));
}
inline void StorePartial(F32x16 a, float* p, int64_t n) {
  const F32x16::Mask mask = F32x16::Lanes(0, n);
  _mm256_maskstore_ps(p, mask.lo, a.lo);
  _mm256_maskstore_ps(p + 8, mask.hi, a.hi);
}

inline F32x16 Add(F32x16 a, F32x16 b) {
  return {_mm256_add_ps(a.lo, b.lo), _mm256_add_ps(a.hi, b.hi)};
}
inline F32x16 Sub(F32x16 a, F32x16 b) {
  return {_mm256_sub_ps(a.lo, b.lo), _mm256_sub_ps(a.hi, b.hi)};
}
inline F32x16 Mul(F32x16 a, F32x16 b) {
  return {_mm256_mul_ps(a.lo, b.lo), _mm256_mul_ps(a.hi, b.hi)};
}
inline F32x16 Div(F32x16 a, F32x16 b) {
  return {_mm256_div_ps(a.lo, b.lo), _mm256_div_ps(a.hi, b.hi)};
}
inline F32x16 Sqrt(F32x16 a) { return {_mm256_sqrt_ps(a.lo), _mm256_sqrt_ps(a.hi)}; }
inline F32x16 Fma(F32x16 a, F32x16 b, F32x16 c) {
  return {_mm256_fmadd_ps(a.lo, b.lo, c.lo), _mm256_fmadd_ps(a.hi, b.hi, c.hi)};
}
inline F32x16 FmaSub(F32x16 a, F32x16 b, F32x16 c) {
  return {_mm256_fmsub_ps(a.lo, b.lo, c.lo), _mm256_fmsub_ps(a.hi, b.hi, c.hi)};
}
inline F32x16 Max(F32x16 a, F32x16 b) {
  return {_mm256_max_ps(a.lo, b.lo), _mm256_max_ps(a.hi, b.hi)};
}
inline F32x16 Min(F32x16 a, F32x16 b) {
  return {_mm256_min_ps(a.lo, b.lo), _mm256_min_ps(a.hi, b.hi)};
}
inline F32x16 RoundNearest(F32x16 a) {
  constexpr int kRounding = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
  return {_mm256_round_ps(a.lo, kRounding), _mm256_round_ps(a.hi, kRounding)};
}
inline __m256 PowerOfTwo8(__m256 n) {
  const __m256i biased = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
  return _mm256_castsi256_ps(_mm256_slli_epi32(biased, 23));
}
inline F32x16 PowerOfTwo(F32x16 n) { return {PowerOfTwo8(n.lo), PowerOfTwo8(n.hi)}; }
inline F32x16 ScaleByPowerOfTwo(F32x16 y, F32x16 n) { return Mul(y, PowerOfTwo(n)); }

inline F32x16::Mask LessThan(F32x16 a, F32x16 b) {
  return {_mm256_castps_si256(_mm256_cmp_ps(a.lo, b.lo, _CMP_LT_OQ)),
          _mm256_castps_si256(_mm256_cmp_ps(a.hi, b.hi, _CMP_LT_OQ))};
}
inline F32x16 Select(F32x16::Mask mask, F32x16 a, F32x16 b) {
  return {_mm256_blendv_ps(b.lo, a.lo, _mm256_castsi256_ps(mask.lo)),
          _mm256_blendv_ps(b.hi, a.hi, _mm256_castsi256_ps(mask.hi))};
}

// Elements 0, 2, .. 14 (kOdd 0) or 1, 3, .. 15 (kOdd 1) of the sixteen in a and b.
template <int kOdd>
inline __m256 EverySecond(__m256 a, __m256 b) {
  // Within 128-bit halves first: [a0 a2 b0 b2 | a4 a6 b4 b6]; then the pairs change places.
  const __m256 mixed = _mm256_shuffle_ps(a, b, kOdd == 0 ? 0x88 : 0xdd);
  return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(mixed), 0xd8));
}
inline void Deinterleave(F32x16 x0, F32x16 x1, F32x16& first, F32x16& second) {
  first = {EverySecond<0>(x0.lo, x0.hi), EverySecond<0>(x1.lo, x1.hi)};
  second = {EverySecond<1>(x0.lo, x0.hi), EverySecond<1>(x1.lo, x1.hi)};
}
inline F32x16 Interleave8(__m256 first, __m256 second) {
  const __m256 low = _mm256_unpacklo_ps(first, second);   // [f0 s0 f1 s1 | f4 s4 f5 s5]
  const __m256 high = _mm256_unpackhi_ps(first, second);  // [f2 s2 f3 s3 | f6 s6 f7 s7]
  return {_mm256_permute2f128_ps(low, high, 0x20), _mm256_permute2f128_ps(low, high, 0x31)};
}
inline void Interleave(F32x16 first, F32x16 second, F32x16& x0, F32x16& x1) {
  x0 = Interleave8(first.lo, second.lo);
  x1 = Interleave8(first.hi, second.hi);
}

inline float FoldSum(F32x16 p) {
  const __m256 eight = _mm256_add_ps(p.lo, p.hi);
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
inline float ReduceMax(F32x16 a) {
  const __m256 eight = _mm256_max_ps(a.lo, a.hi);
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}
inline float First(F32x16 a) { return _mm256_cvtss_f32(a.lo); }

}  // namespace skald::kernels::avx2

#include "kernels/isa/target_end.h"
