// The AVX-VNNI peak of dot products: assembly, so that exactly the instruction meant is issued, in
// registers. Floats and reads are those of AVX2.

#include "kernels/isa/intrinsics.h"
#include "kernels/x86/avxvnni.h"

// clang-format off: the region must open after everything else.
#include "kernels/isa/target_avxvnni_begin.h"
// clang-format on

namespace skald::kernels::avxvnni {
namespace {

// Independent chains: two instructions a cycle with a latency of 5 need 10.
constexpr int kChains = 12;

}  // namespace

int64_t PeakDot(int64_t steps) {
  __m256i sums[kChains] = {};
  const __m256i w = _mm256_set1_epi8(1);
  for (int64_t step = 0; step < steps; ++step) {
#pragma GCC unroll 12
    for (int j = 0; j < kChains; ++j) {
      asm volatile("%{vex%} vpdpbusd %1, %1, %0" : "+x"(sums[j]) : "x"(w));
    }
  }
  return steps * kChains * 32;
}

}  // namespace skald::kernels::avxvnni

#include "kernels/isa/target_end.h"
