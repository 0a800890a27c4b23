#include "kernels/isa/exp_arrays_for_test.h"
#include "kernels/isa/exp_ref.h"
#include "kernels/isa/vec_avx512.h"

// The region opens after everything else and before the templates, so their order is fixed.
// clang-format off
#include "kernels/isa/target_avx512_begin.h"
#include "kernels/isa/exp_generic.h"
// clang-format on

namespace skald::kernels::avx512 {

void ExpArray(const float* x, float* y, int64_t n) {
  for (int64_t i = 0; i < n; i += 16) Store(Exp(F32x16::Load(x + i)), y + i);
}

}  // namespace skald::kernels::avx512

#include "kernels/isa/target_end.h"
