// The AVX-512 peaks: assembly, so that exactly the instructions meant are issued, in registers.
//
// Accumulators start with `= {}`, not in a loop: gcc 12 leaves an array that a loop has initialized
// in memory, and the rate would be that of loads and stores, a third of the true one.

#include "kernels/isa/cpu.h"
#include "kernels/isa/intrinsics.h"
#include "kernels/isa/prefetch.h"
#include "kernels/matmul/variants.h"
#include "kernels/peak/variants.h"

// clang-format off: the region must open after everything else.
#include "kernels/isa/target_avx512_begin.h"
// clang-format on

namespace skald::kernels::avx512 {
namespace {

// Independent chains: two instructions a cycle with a latency of 5 need 10.
constexpr int kChains = 12;

int64_t Dot(int64_t steps) {
  __m512i sums[kChains] = {};
  const __m512i w = _mm512_set1_epi8(1);
  for (int64_t step = 0; step < steps; ++step) {
#pragma GCC unroll 12
    for (int j = 0; j < kChains; ++j) asm volatile("vpdpbusd %1, %1, %0" : "+v"(sums[j]) : "v"(w));
  }
  return steps * kChains * 64;
}

int64_t BFloat16Dot(int64_t steps) {
  __m512 sums[kChains] = {};
  const __m512 w = _mm512_set1_ps(1);
  for (int64_t step = 0; step < steps; ++step) {
#pragma GCC unroll 12
    for (int j = 0; j < kChains; ++j) asm volatile("vdpbf16ps %1, %1, %0" : "+v"(sums[j]) : "v"(w));
  }
  return steps * kChains * 32;
}

int64_t Fma(int64_t steps) {
  __m512 sums[kChains] = {};
  const __m512 w = _mm512_set1_ps(1);
  for (int64_t step = 0; step < steps; ++step) {
#pragma GCC unroll 12
    for (int j = 0; j < kChains; ++j) {
      asm volatile("vfmadd231ps %1, %1, %0" : "+v"(sums[j]) : "v"(w));
    }
  }
  return steps * kChains * 16;
}

uint64_t ReadWith(const ReadAhead& ahead, const std::byte* data, int64_t bytes) {
  __m512i folded[8] = {};
  for (int64_t at = 0; at < bytes; at += 512) {
#pragma GCC unroll 8
    for (int j = 0; j < 8; ++j) {
      PrefetchAhead<64>(ahead, data + at + 64 * j);
      folded[j] = _mm512_xor_si512(folded[j], _mm512_load_si512(data + at + 64 * j));
    }
  }
  for (int j = 1; j < 8; ++j) folded[0] = _mm512_xor_si512(folded[0], folded[j]);
  return static_cast<uint64_t>(_mm512_reduce_add_epi64(folded[0]));
}

}  // namespace
}  // namespace skald::kernels::avx512

#include "kernels/isa/target_end.h"

namespace skald::kernels::avx512 {
namespace {

// A call of the trial: panels are memory as any other.
void ReadPanels(const TileArgs& args) {
  const int64_t bytes = args.panel_count * PanelBytes(PanelType::kQ8, args.cols);
  args.out[0] = static_cast<float>(ReadWith(args.ahead, args.panels, bytes));
}

// A core alone keeps too few lines in flight on a Xeon, so a pass asks for them ahead of use. On
// Zen 5 that is in the way: 41 and 35 GB/s in turn with 45 and 41. Hence timed, as for matmuls
// (decisions/0061), once: the core stays.
uint64_t Read(const std::byte* data, int64_t bytes) {
  static const ReadAhead ahead =
      FastestReadAhead(PanelType::kQ8, ReadPanels, {kTwoSteps, kByHardware});
  return ReadWith(ahead, data, bytes);
}

}  // namespace

PeakKernels Peak() {
  return {.dot = Dot,
          .bfloat16 = CpuHasFastBFloat16Dots() ? BFloat16Dot : Fma,
          .fma = Fma,
          .read = Read};
}

}  // namespace skald::kernels::avx512
