#include <algorithm>

#include "base/exact_math.h"
#include "kernels/isa/intrinsics.h"
#include "kernels/mass/variants.h"

// The region opens after everything else and before the templates, so their order is fixed.
// clang-format off
#include "kernels/isa/target_avx2_begin.h"
#include "kernels/mass/mass_generic.h"
// clang-format on

namespace skald::kernels::avx2 {
namespace {

// Four doubles; what the members do stands in mass_avx512.cc.
struct F64x4 {
  static constexpr int64_t kLanes = 4;

  __m256d v;

  static F64x4 Broadcast(double x) { return {_mm256_set1_pd(x)}; }
  static F64x4 Load(const float* p) { return {_mm256_cvtps_pd(_mm_loadu_ps(p))}; }
};

F64x4 Add(F64x4 a, F64x4 b) { return {_mm256_add_pd(a.v, b.v)}; }
F64x4 Sub(F64x4 a, F64x4 b) { return {_mm256_sub_pd(a.v, b.v)}; }
F64x4 Mul(F64x4 a, F64x4 b) { return {_mm256_mul_pd(a.v, b.v)}; }
F64x4 Max(F64x4 a, F64x4 b) { return {_mm256_max_pd(a.v, b.v)}; }
F64x4 ZeroWhereEqual(F64x4 a, F64x4 b, F64x4 x) {
  return {_mm256_andnot_pd(_mm256_cmp_pd(a.v, b.v, _CMP_EQ_OQ), x.v)};
}
F64x4 HalfScale(F64x4 shifted) {
  const __m256i n = _mm256_slli_epi64(_mm256_castpd_si256(shifted.v), 52);
  return {_mm256_castsi256_pd(_mm256_add_epi64(n, _mm256_set1_epi64x(int64_t{1022} << 52)))};
}
void StoreDifference(F64x4 a, F64x4 b, uint64_t* p) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                      _mm256_sub_epi64(_mm256_castpd_si256(a.v), _mm256_castpd_si256(b.v)));
}

}  // namespace

void Mass(const MassArgs& args) { MassGeneric<F64x4>(args); }

}  // namespace skald::kernels::avx2

#include "kernels/isa/target_end.h"
