#include "kernels/isa/intrinsics.h"
#include "kernels/uniform/variants.h"

// The region opens after everything else and before the templates, so their order is fixed.
// clang-format off
#include "kernels/isa/target_avx2_begin.h"
#include "kernels/uniform/uniform_generic.h"
// clang-format on

namespace skald::kernels::avx2 {
namespace {

// Four words; what the members do stands in uniform_avx512.cc.
struct U64x4 {
  static constexpr int64_t kLanes = 4;

  __m256i v;

  static U64x4 Broadcast(uint64_t x) { return {_mm256_set1_epi64x(static_cast<int64_t>(x))}; }
  static U64x4 Count(uint32_t first) {
    return {_mm256_add_epi64(Broadcast(first).v, _mm256_setr_epi64x(0, 1, 2, 3))};
  }
};

U64x4 MultiplyLower(U64x4 a, U64x4 b) { return {_mm256_mul_epu32(a.v, b.v)}; }
U64x4 UpperHalf(U64x4 a) { return {_mm256_srli_epi64(a.v, 32)}; }
U64x4 Xor(U64x4 a, U64x4 b) { return {_mm256_xor_si256(a.v, b.v)}; }

// AVX2 converts no integers of 64 bits. The bits of 2^84 + 2^32 h are those of 2^84 with h in the
// lowest ones, those of 2^52 + l likewise; all sums are below 2^53, or multiples of 2^32: exact.
__m256d Fraction(U64x4 high, U64x4 low) {
  const __m256i halves = U64x4::Broadcast(0xffffffff).v;
  const __m256i bits = _mm256_srli_epi64(
      _mm256_or_si256(_mm256_slli_epi64(high.v, 32), _mm256_and_si256(low.v, halves)), 11);
  const __m256d h = _mm256_castsi256_pd(
      _mm256_or_si256(_mm256_srli_epi64(bits, 32), _mm256_castpd_si256(_mm256_set1_pd(0x1p84))));
  const __m256d l = _mm256_castsi256_pd(
      _mm256_or_si256(_mm256_and_si256(bits, halves), _mm256_castpd_si256(_mm256_set1_pd(0x1p52))));
  const __m256d whole = _mm256_add_pd(_mm256_sub_pd(h, _mm256_set1_pd(0x1p84 + 0x1p52)), l);
  return _mm256_mul_pd(whole, _mm256_set1_pd(0x1p-53));
}

void StoreFractions(U64x4 word0, U64x4 word1, U64x4 word2, U64x4 word3, double* out) {
  const __m256d a = Fraction(word0, word1);
  const __m256d b = Fraction(word2, word3);
  const __m256d even = _mm256_unpacklo_pd(a, b);  // a0 b0 a2 b2
  const __m256d odd = _mm256_unpackhi_pd(a, b);   // a1 b1 a3 b3
  _mm256_storeu_pd(out, _mm256_permute2f128_pd(even, odd, 0x20));
  _mm256_storeu_pd(out + 4, _mm256_permute2f128_pd(even, odd, 0x31));
}

}  // namespace

void Uniform(const UniformArgs& args) { UniformGeneric<U64x4>(args); }

}  // namespace skald::kernels::avx2

#include "kernels/isa/target_end.h"
