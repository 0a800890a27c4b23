#include "kernels/delta/variants.h"
#include "kernels/isa/vec_avx512.h"

// The region opens after everything else and before the templates, so their order is fixed.
// clang-format off
#include "kernels/isa/target_avx512_begin.h"
#include "kernels/delta/delta_generic.h"
// clang-format on

namespace skald::kernels::avx512 {

void Delta(const DeltaArgs& args) { DeltaGeneric<F32x16>(args); }
void L2Norm(const L2NormArgs& args) { L2NormGeneric<F32x16>(args); }

}  // namespace skald::kernels::avx512

#include "kernels/isa/target_end.h"
