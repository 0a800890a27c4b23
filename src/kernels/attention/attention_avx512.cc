#include "kernels/attention/attention_layout.h"
#include "kernels/attention/kv_scale.h"
#include "kernels/attention/rotate_ref.h"
#include "kernels/attention/variants.h"
#include "kernels/isa/dot_avx512.h"
#include "kernels/isa/exp_ref.h"
#include "kernels/isa/vec_avx512.h"

// The region opens after everything else and before the templates, so their order is fixed.
// clang-format off
#include "kernels/isa/target_avx512_begin.h"
#include "kernels/attention/append_kv_generic.h"
#include "kernels/attention/attention_generic.h"
// clang-format on

namespace skald::kernels::avx512 {

void Attention(const AttentionArgs& args) { AttentionGeneric<F32x16>(args); }

void AppendKv(const PagedKv& kv, int64_t position, const float* key, const float* value) {
  AppendKvGeneric<F32x16>(kv, position, key, value);
}

}  // namespace skald::kernels::avx512

#include "kernels/isa/target_end.h"
