/// F32x16 for AVX-512: sixteen floats in one register, and the operations that the kernels use.
///
/// Each instruction set has a type of this name with these members (vec_avx2.h, vec_avx512.h), so
/// an algorithm is written once, as a template over the type, in OP_generic.h, and instantiated by
/// the file of each instruction set (x86/avx512.cc). Every operation is one correctly rounded IEEE
/// operation per lane; there is no approximation and no operation across lanes but the three named
/// reductions.
///
/// How a variant is compiled (see x86/avx512.cc): this header opens the target region for its
/// own functions and is included like any other. The generic headers hold nothing but templates
/// over V, so they inherit the region that is open where they are included: after target_*_begin.h.
/// A plain inline function there would exist once per program but be compiled once per instruction
/// set, and the linker might keep the one this CPU cannot run; a template over V has a name of its
/// own for each.
#pragma once

#include <cstdint>

#include "kernels/isa/bfloat16.h"
#include "kernels/isa/intrinsics.h"
#include "kernels/isa/target_avx512_begin.h"

namespace skald::kernels::avx512 {

struct F32x16 {
  /// Accumulators that leave enough of the 32 registers for the operands of one inner loop.
  static constexpr int kAccumulators = 16;
  /// Rows per inner attention kernel: 8 rows x 2 vectors.
  static constexpr int kRows = 8;

  __m512 v;

  static F32x16 Zero() { return {_mm512_setzero_ps()}; }
  static F32x16 Broadcast(float x) { return {_mm512_set1_ps(x)}; }
  static F32x16 Load(const float* p) { return {_mm512_loadu_ps(p)}; }
  /// Sixteen halves, widened exactly.
  static F32x16 Load(const uint16_t* p) {
    return {_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)))};
  }
  /// Sixteen bfloat16, widened exactly.
  static F32x16 Load(const BFloat16* p) {
    const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16))};
  }
  /// The first n floats, zeros behind them; nothing past them is read. n outside 0..16 is cut.
  static F32x16 LoadPartial(const float* p, int64_t n) {
    return {_mm512_maskz_loadu_ps(FirstLanes(n), p)};
  }

  /// The lanes begin <= i < end, as a mask. Both may lie outside 0..16.
  using Mask = __mmask16;
  static Mask Lanes(int64_t begin, int64_t end) {
    return static_cast<Mask>(FirstLanes(end) & ~FirstLanes(begin));
  }
  static Mask FirstLanes(int64_t n) {
    return n <= 0 ? Mask{0} : static_cast<Mask>(n >= 16 ? 0xffff : (1u << n) - 1u);
  }
};

inline void Store(F32x16 a, float* p) { _mm512_storeu_ps(p, a.v); }
/// Rounds to halves, ties to even.
inline void Store(F32x16 a, uint16_t* p) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                      _mm512_cvtps_ph(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
/// Rounds to bfloat16, ties to even; NaN stays NaN (quieted).
inline void Store(F32x16 a, BFloat16* p) {
  const __m512i bits = _mm512_castps_si512(a.v);
  const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  const __m512i bias = _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff));
  const __mmask16 nan = _mm512_cmp_ps_mask(a.v, a.v, _CMP_UNORD_Q);
  const __m512i rounded =
      _mm512_mask_or_epi32(_mm512_add_epi32(bits, bias), nan, bits, _mm512_set1_epi32(0x400000));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                      _mm512_cvtepi32_epi16(_mm512_srli_epi32(rounded, 16)));
}
/// Rounds to integers, ties to even. Requires -128 <= a <= 127.
inline void StoreBytes(F32x16 a, int8_t* p) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(a.v)));
}
/// Likewise, -32768 <= a <= 32767.
inline void StoreWords(F32x16 a, int16_t* p) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                      _mm512_cvtepi32_epi16(_mm512_cvtps_epi32(a.v)));
}
/// Writes the first n lanes and nothing else. n outside 0..16 is cut.
inline void StorePartial(F32x16 a, float* p, int64_t n) {
  _mm512_mask_storeu_ps(p, F32x16::FirstLanes(n), a.v);
}

inline F32x16 Add(F32x16 a, F32x16 b) { return {_mm512_add_ps(a.v, b.v)}; }
inline F32x16 Sub(F32x16 a, F32x16 b) { return {_mm512_sub_ps(a.v, b.v)}; }
inline F32x16 Mul(F32x16 a, F32x16 b) { return {_mm512_mul_ps(a.v, b.v)}; }
inline F32x16 Div(F32x16 a, F32x16 b) { return {_mm512_div_ps(a.v, b.v)}; }
inline F32x16 Sqrt(F32x16 a) { return {_mm512_sqrt_ps(a.v)}; }
/// a * b + c, rounded once.
inline F32x16 Fma(F32x16 a, F32x16 b, F32x16 c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
/// a * b - c, rounded once.
inline F32x16 FmaSub(F32x16 a, F32x16 b, F32x16 c) { return {_mm512_fmsub_ps(a.v, b.v, c.v)}; }
/// a > b ? a : b, so b where a is NaN; Min likewise.
inline F32x16 Max(F32x16 a, F32x16 b) { return {_mm512_max_ps(a.v, b.v)}; }
inline F32x16 Min(F32x16 a, F32x16 b) { return {_mm512_min_ps(a.v, b.v)}; }
/// To the nearest integer, ties to even.
inline F32x16 RoundNearest(F32x16 a) {
  return {_mm512_roundscale_ps(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
}
/// 2^n for integers n in -126..127; unspecified for other lanes.
inline F32x16 PowerOfTwo(F32x16 n) {
  const __m512i biased = _mm512_add_epi32(_mm512_cvtps_epi32(n.v), _mm512_set1_epi32(127));
  return {_mm512_castsi512_ps(_mm512_slli_epi32(biased, 23))};
}
/// y * 2^n for integers n in -126..127; unspecified for other n, but NaN stays NaN.
inline F32x16 ScaleByPowerOfTwo(F32x16 y, F32x16 n) { return {_mm512_scalef_ps(y.v, n.v)}; }

/// a < b; false where either is NaN.
inline F32x16::Mask LessThan(F32x16 a, F32x16 b) {
  return _mm512_cmp_ps_mask(a.v, b.v, _CMP_LT_OQ);
}
/// a where the mask is set, b elsewhere.
inline F32x16 Select(F32x16::Mask mask, F32x16 a, F32x16 b) {
  return {_mm512_mask_blend_ps(mask, b.v, a.v)};
}

/// Splits 16 pairs (first, second, first, ...) that start in x0 and end in x1.
inline void Deinterleave(F32x16 x0, F32x16 x1, F32x16& first, F32x16& second) {
  const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  const __m512i odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
  first.v = _mm512_permutex2var_ps(x0.v, even, x1.v);
  second.v = _mm512_permutex2var_ps(x0.v, odd, x1.v);
}
/// The inverse of Deinterleave.
inline void Interleave(F32x16 first, F32x16 second, F32x16& x0, F32x16& x1) {
  const __m512i low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  const __m512i high = _mm512_add_epi32(low, _mm512_set1_epi32(8));
  x0.v = _mm512_permutex2var_ps(first.v, low, second.v);
  x1.v = _mm512_permutex2var_ps(first.v, high, second.v);
}

/// The fold that ends a strided sum (numerics 2.1): halves 8, 4, 2, 1.
inline float FoldSum(F32x16 p) {
  const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(p.v), _mm512_extractf32x8_ps(p.v, 1));
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
/// The largest lane. Requires that no lane is NaN.
inline float ReduceMax(F32x16 a) {
  const __m256 eight = _mm256_max_ps(_mm512_castps512_ps256(a.v), _mm512_extractf32x8_ps(a.v, 1));
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}
/// Lane 0.
inline float First(F32x16 a) { return _mm512_cvtss_f32(a.v); }

}  // namespace skald::kernels::avx512

#include "kernels/isa/target_end.h"
