/// Dots of integers for attention, with AVX-512: sixteen exact sums in one register.
///
/// Each instruction set has a DotOf of its vector type with these members (dot_avx2.h): a line is
/// 64 bytes of keys, 4 of each of 16 tokens; a word is 4 signed elements of a query.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/isa/dot.h"
#include "kernels/isa/intrinsics.h"
#include "kernels/isa/target_avx512_begin.h"
#include "kernels/isa/vec_avx512.h"

namespace skald::kernels {

template <>
struct DotOf<avx512::F32x16> {
  static constexpr int kAccumulators = 16;
  static constexpr int kRows = 8;

  struct Sum {
    __m512i v;
  };
  /// A line of bytes, 128 added to each.
  struct Keys8 {
    /// Words of a query that a line meets.
    static constexpr int kWords = 1;
    __m512i v;
    static Keys8 Load(const std::byte* line) { return {_mm512_loadu_si512(line)}; }
  };
  /// A line of pairs of nibbles, 8 added to each.
  struct Keys4 {
    static constexpr int kWords = 2;
    __m512i low;
    __m512i high;
    static Keys4 Load(const std::byte* line) {
      const __m512i mask = _mm512_set1_epi8(0x0f);
      const __m512i pairs = _mm512_loadu_si512(line);
      return {_mm512_and_si512(pairs, mask), _mm512_and_si512(_mm512_srli_epi16(pairs, 4), mask)};
    }
  };

  /// Where sums start. `offset`: minus what the added numbers make of this query.
  template <typename Keys>
  static Sum Start(int32_t offset) {
    return {_mm512_set1_epi32(offset)};
  }
  /// sum + k * q. `words`: the first word of q; the next is `stride` words further.
  static Sum Add(Sum sum, Keys8 k, const int32_t* words, int64_t) {
    return {_mm512_dpbusd_epi32(sum.v, k.v, _mm512_set1_epi32(words[0]))};
  }
  static Sum Add(Sum sum, Keys4 k, const int32_t* words, int64_t stride) {
    sum.v = _mm512_dpbusd_epi32(sum.v, k.low, _mm512_set1_epi32(words[0]));
    return {_mm512_dpbusd_epi32(sum.v, k.high, _mm512_set1_epi32(words[stride]))};
  }

  /// Sixteen elements of values of two positions, 16 bits each: element after element, of each the
  /// two positions.
  struct Pairs {
    __m512i v;
    static Pairs LoadWords(const std::byte* p) { return {_mm512_loadu_si512(p)}; }
    /// Of signed bytes.
    static Pairs LoadBytes(const std::byte* p) {
      return {_mm512_cvtepi8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)))};
    }
    /// Of nibbles, 8 added to each: a byte has two elements of a position.
    static Pairs LoadNibbles(const std::byte* p) {
      // The two bytes of both positions go to two lanes, which take their low and high halves.
      const __m512i bytes =
          _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
      const __m512i spread = _mm512_set_epi64(
          0x800f800e800f800e, 0x800d800c800d800c, 0x800b800a800b800a, 0x8009800880098008,
          0x8007800680078006, 0x8005800480058004, 0x8003800280038002, 0x8001800080018000);
      const __m512i halves = _mm512_srlv_epi32(_mm512_shuffle_epi8(bytes, spread),
                                               _mm512_set1_epi64(int64_t{4} << 32));
      const __m512i nibbles = _mm512_and_si512(halves, _mm512_set1_epi16(0x0f));
      return {_mm512_sub_epi16(nibbles, _mm512_set1_epi16(8))};
    }
    void StoreWords(float* p) const { _mm512_storeu_si512(p, v); }
  };
  static Sum LoadSum(const float* p) { return {_mm512_loadu_si512(p)}; }
  static void StoreSum(Sum sum, float* p) { _mm512_storeu_si512(p, sum.v); }
  /// sum + v * weights. `weights`: of the two positions, 16 bits each.
  static Sum Add(Sum sum, Pairs v, int32_t weights) {
    return {_mm512_dpwssd_epi32(sum.v, v.v, _mm512_set1_epi32(weights))};
  }
  /// Rounded, where a sum needs more than 24 bits.
  static avx512::F32x16 ToFloat(Sum sum) { return {_mm512_cvtepi32_ps(sum.v)}; }
};

}  // namespace skald::kernels

#include "kernels/isa/target_end.h"
