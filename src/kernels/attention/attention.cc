#include "kernels/attention/attention.h"

#include "kernels/attention/attention_layout.h"
#include "kernels/attention/variants.h"

namespace skald::kernels {

int64_t AttentionScratchFloats(int key_dim, int value_dim, int group) {
  return LayOutScratch(key_dim, value_dim, group).size;
}

AttentionFn AttentionFor([[maybe_unused]] Isa isa) {
#if defined(__x86_64__)
  if (isa >= Isa::kAvx512) return avx512::Attention;
  if (isa >= Isa::kAvx2) return avx2::Attention;
#endif
  return scalar::Attention;
}

AppendKvFn AppendKvFor([[maybe_unused]] Isa isa) {
#if defined(__x86_64__)
  if (isa >= Isa::kAvx512) return avx512::AppendKv;
  if (isa >= Isa::kAvx2) return avx2::AppendKv;
#endif
  return scalar::AppendKv;
}

}  // namespace skald::kernels
