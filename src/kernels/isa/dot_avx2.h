/// Dots of integers for attention, with AVX2: sixteen exact sums in two registers. What the members
/// mean stands in dot_avx512.h.
///
/// An instruction multiplies unsigned by signed bytes and adds neighbours in 16 bits, saturating.
/// Bytes of keys are made |k|, and the sign goes to the query: 2 * 127 * 127 fits. Nibbles are
/// small enough as they are: 4 * 15 * 127.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/isa/dot.h"
#include "kernels/isa/intrinsics.h"
#include "kernels/isa/target_avx2_begin.h"
#include "kernels/isa/vec_avx2.h"

namespace skald::kernels {

template <>
struct DotOf<avx2::F32x16> {
  /// Of 16 registers 8 for sums; keys take 4.
  static constexpr int kAccumulators = 4;
  static constexpr int kRows = 4;

  struct Sum {
    __m256i lo;  // tokens 0..7
    __m256i hi;  // tokens 8..15
  };
  struct Keys8 {
    static constexpr int kWords = 1;
    __m256i lo, hi;                      // signed
    __m256i magnitude_lo, magnitude_hi;  // of each
    static Keys8 Load(const std::byte* line) {
      const __m256i offset = _mm256_set1_epi8(-128);
      const auto* bytes = reinterpret_cast<const __m256i*>(line);
      const __m256i lo = _mm256_xor_si256(_mm256_loadu_si256(bytes), offset);
      const __m256i hi = _mm256_xor_si256(_mm256_loadu_si256(bytes + 1), offset);
      return {lo, hi, _mm256_abs_epi8(lo), _mm256_abs_epi8(hi)};
    }
  };
  struct Keys4 {
    static constexpr int kWords = 2;
    __m256i low_lo, low_hi;    // the first 4 elements of tokens 0..7, 8..15
    __m256i high_lo, high_hi;  // the other 4
    static Keys4 Load(const std::byte* line) {
      const __m256i mask = _mm256_set1_epi8(0x0f);
      const auto* bytes = reinterpret_cast<const __m256i*>(line);
      const __m256i lo = _mm256_loadu_si256(bytes);
      const __m256i hi = _mm256_loadu_si256(bytes + 1);
      return {_mm256_and_si256(lo, mask), _mm256_and_si256(hi, mask),
              _mm256_and_si256(_mm256_srli_epi16(lo, 4), mask),
              _mm256_and_si256(_mm256_srli_epi16(hi, 4), mask)};
    }
  };

  template <typename Keys>
  static Sum Start(int32_t offset) {
    const __m256i start = _mm256_set1_epi32(Keys::kWords == 1 ? 0 : offset);  // Keys8 are signed
    return {start, start};
  }
  static __m256i AddPairs(__m256i sum, __m256i pairs) {
    return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
  }
  static Sum Add(Sum sum, Keys8 k, const int32_t* words, int64_t) {
    const __m256i q = _mm256_set1_epi32(words[0]);
    return {AddPairs(sum.lo, _mm256_maddubs_epi16(k.magnitude_lo, _mm256_sign_epi8(q, k.lo))),
            AddPairs(sum.hi, _mm256_maddubs_epi16(k.magnitude_hi, _mm256_sign_epi8(q, k.hi)))};
  }
  static Sum Add(Sum sum, Keys4 k, const int32_t* words, int64_t stride) {
    const __m256i q = _mm256_set1_epi32(words[0]);
    const __m256i next = _mm256_set1_epi32(words[stride]);
    return {AddPairs(sum.lo, _mm256_add_epi16(_mm256_maddubs_epi16(k.low_lo, q),
                                              _mm256_maddubs_epi16(k.high_lo, next))),
            AddPairs(sum.hi, _mm256_add_epi16(_mm256_maddubs_epi16(k.low_hi, q),
                                              _mm256_maddubs_epi16(k.high_hi, next)))};
  }

  struct Pairs {
    __m256i lo;  // elements 0..7
    __m256i hi;  // elements 8..15
    static Pairs LoadWords(const std::byte* p) {
      const auto* words = reinterpret_cast<const __m256i*>(p);
      return {_mm256_loadu_si256(words), _mm256_loadu_si256(words + 1)};
    }
    static Pairs LoadBytes(const std::byte* p) {
      const auto* bytes = reinterpret_cast<const __m128i*>(p);
      return {_mm256_cvtepi8_epi16(_mm_loadu_si128(bytes)),
              _mm256_cvtepi8_epi16(_mm_loadu_si128(bytes + 1))};
    }
    static Pairs LoadNibbles(const std::byte* p) {
      const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
      const __m128i mask = _mm_set1_epi8(0x0f);
      const __m128i low = _mm_and_si128(bytes, mask);                      // even elements
      const __m128i high = _mm_and_si128(_mm_srli_epi16(bytes, 4), mask);  // odd ones
      const __m256i eight = _mm256_set1_epi16(8);
      return {_mm256_sub_epi16(_mm256_cvtepi8_epi16(_mm_unpacklo_epi16(low, high)), eight),
              _mm256_sub_epi16(_mm256_cvtepi8_epi16(_mm_unpackhi_epi16(low, high)), eight)};
    }
    void StoreWords(float* p) const {
      auto* words = reinterpret_cast<__m256i*>(p);
      _mm256_storeu_si256(words, lo);
      _mm256_storeu_si256(words + 1, hi);
    }
  };
  static Sum LoadSum(const float* p) {
    const auto* sums = reinterpret_cast<const __m256i*>(p);
    return {_mm256_loadu_si256(sums), _mm256_loadu_si256(sums + 1)};
  }
  static void StoreSum(Sum sum, float* p) {
    auto* sums = reinterpret_cast<__m256i*>(p);
    _mm256_storeu_si256(sums, sum.lo);
    _mm256_storeu_si256(sums + 1, sum.hi);
  }
  static Sum Add(Sum sum, Pairs v, int32_t weights) {
    const __m256i w = _mm256_set1_epi32(weights);
    return {_mm256_add_epi32(sum.lo, _mm256_madd_epi16(v.lo, w)),
            _mm256_add_epi32(sum.hi, _mm256_madd_epi16(v.hi, w))};
  }
  static avx2::F32x16 ToFloat(Sum sum) {
    return {_mm256_cvtepi32_ps(sum.lo), _mm256_cvtepi32_ps(sum.hi)};
  }
};

}  // namespace skald::kernels

#include "kernels/isa/target_end.h"
