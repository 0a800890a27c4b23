#include <algorithm>

#include "base/exact_math.h"
#include "kernels/isa/intrinsics.h"
#include "kernels/mass/variants.h"

// The region opens after everything else and before the templates, so their order is fixed.
// clang-format off
#include "kernels/isa/target_avx512_begin.h"
#include "kernels/mass/mass_generic.h"
// clang-format on

namespace skald::kernels::avx512 {
namespace {

// Eight doubles. Each operation is one IEEE operation per lane.
struct F64x8 {
  static constexpr int64_t kLanes = 8;

  __m512d v;

  static F64x8 Broadcast(double x) { return {_mm512_set1_pd(x)}; }
  // Eight floats, widened.
  static F64x8 Load(const float* p) { return {_mm512_cvtps_pd(_mm256_loadu_ps(p))}; }
};

F64x8 Add(F64x8 a, F64x8 b) { return {_mm512_add_pd(a.v, b.v)}; }
F64x8 Sub(F64x8 a, F64x8 b) { return {_mm512_sub_pd(a.v, b.v)}; }
F64x8 Mul(F64x8 a, F64x8 b) { return {_mm512_mul_pd(a.v, b.v)}; }
F64x8 Max(F64x8 a, F64x8 b) { return {_mm512_max_pd(a.v, b.v)}; }
// 0 in lanes where a = b, x elsewhere.
F64x8 ZeroWhereEqual(F64x8 a, F64x8 b, F64x8 x) {
  return {_mm512_maskz_mov_pd(_mm512_cmp_pd_mask(a.v, b.v, _CMP_NEQ_UQ), x.v)};
}
// 2^(n-1) of the n that stands in the low bits.
F64x8 HalfScale(F64x8 shifted) {
  const __m512i n = _mm512_slli_epi64(_mm512_castpd_si512(shifted.v), 52);
  return {_mm512_castsi512_pd(_mm512_add_epi64(n, _mm512_set1_epi64(int64_t{1022} << 52)))};
}
// Writes the bits of a minus those of b, as integers.
void StoreDifference(F64x8 a, F64x8 b, uint64_t* p) {
  _mm512_storeu_si512(p, _mm512_sub_epi64(_mm512_castpd_si512(a.v), _mm512_castpd_si512(b.v)));
}

}  // namespace

void Mass(const MassArgs& args) { MassGeneric<F64x8>(args); }

}  // namespace skald::kernels::avx512

#include "kernels/isa/target_end.h"
