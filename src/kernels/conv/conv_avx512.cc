#include "kernels/conv/variants.h"
#include "kernels/isa/exp_ref.h"
#include "kernels/isa/vec_avx512.h"

// The region opens after everything else and before the templates, so their order is fixed.
// clang-format off
#include "kernels/isa/target_avx512_begin.h"
#include "kernels/conv/conv_generic.h"
// clang-format on

namespace skald::kernels::avx512 {

void Conv(const ConvArgs& args) { ConvGeneric<F32x16>(args); }

}  // namespace skald::kernels::avx512

#include "kernels/isa/target_end.h"
