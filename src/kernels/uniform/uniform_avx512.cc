#include "kernels/isa/intrinsics.h"
#include "kernels/uniform/variants.h"

// The region opens after everything else and before the templates, so their order is fixed.
// clang-format off
#include "kernels/isa/target_avx512_begin.h"
#include "kernels/uniform/uniform_generic.h"
// clang-format on

namespace skald::kernels::avx512 {
namespace {

// Eight words.
struct U64x8 {
  static constexpr int64_t kLanes = 8;

  __m512i v;

  static U64x8 Broadcast(uint64_t x) { return {_mm512_set1_epi64(static_cast<int64_t>(x))}; }
  static U64x8 Count(uint32_t first) {
    return {_mm512_add_epi64(Broadcast(first).v, _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7))};
  }
};

// Of the lower halves, 64 bits.
U64x8 MultiplyLower(U64x8 a, U64x8 b) { return {_mm512_mul_epu32(a.v, b.v)}; }
U64x8 UpperHalf(U64x8 a) { return {_mm512_srli_epi64(a.v, 32)}; }
U64x8 Xor(U64x8 a, U64x8 b) { return {_mm512_xor_si512(a.v, b.v)}; }

// The upper 53 bits of two lower halves as a fraction.
__m512d Fraction(U64x8 high, U64x8 low) {
  const __m512i lower = _mm512_and_si512(low.v, U64x8::Broadcast(0xffffffff).v);
  const __m512i bits = _mm512_or_si512(_mm512_slli_epi64(high.v, 32), lower);
  return _mm512_mul_pd(_mm512_cvtepu64_pd(_mm512_srli_epi64(bits, 11)), _mm512_set1_pd(0x1p-53));
}

// Those of words 0 and 1, and of 2 and 3, in turn.
void StoreFractions(U64x8 word0, U64x8 word1, U64x8 word2, U64x8 word3, double* out) {
  const __m512d a = Fraction(word0, word1);
  const __m512d b = Fraction(word2, word3);
  const __m512i first = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11);
  const __m512i second = _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15);
  _mm512_storeu_pd(out, _mm512_permutex2var_pd(a, first, b));
  _mm512_storeu_pd(out + 8, _mm512_permutex2var_pd(a, second, b));
}

}  // namespace

void Uniform(const UniformArgs& args) { UniformGeneric<U64x8>(args); }

}  // namespace skald::kernels::avx512

#include "kernels/isa/target_end.h"
