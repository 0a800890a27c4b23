// The AVX2 peaks: assembly, so that exactly the instructions meant are issued, in registers.
//
// Accumulators start with `= {}`, not in a loop: gcc 12 leaves an array that a loop has initialized
// in memory, and the rate would be that of loads and stores, a third of the true one.

#include "kernels/isa/intrinsics.h"
#include "kernels/isa/prefetch.h"
#include "kernels/peak/variants.h"

// clang-format off: the region must open after everything else.
#include "kernels/isa/target_avx2_begin.h"
// clang-format on

namespace skald::kernels::avx2 {
namespace {

// Independent chains: two fused multiply-adds a cycle with a latency of 5 need 10.
constexpr int kFmaChains = 12;
// Groups of the dot product in flight; out-of-order execution overlaps further ones.
constexpr int kDotChains = 4;
// Pairs of products that int16 holds for 4-bit weights (matmul_avx2.cc).
constexpr int kPairs = 8;

int64_t Dot(int64_t steps) {
  __m256i sums[kDotChains] = {};
  const __m256i w = _mm256_set1_epi8(1);
  const __m256i ones = _mm256_set1_epi16(1);
  for (int64_t step = 0; step < steps; ++step) {
#pragma GCC unroll 4
    for (int j = 0; j < kDotChains; ++j) {
      __m256i pairs;
      asm volatile("vpmaddubsw %1, %1, %0" : "=x"(pairs) : "x"(w));
#pragma GCC unroll 8
      for (int k = 1; k < kPairs; ++k) {
        __m256i more;
        asm volatile("vpmaddubsw %1, %1, %0" : "=x"(more) : "x"(w));
        asm volatile("vpaddw %1, %0, %0" : "+x"(pairs) : "x"(more));
      }
      asm volatile("vpmaddwd %1, %0, %0" : "+x"(pairs) : "x"(ones));
      asm volatile("vpaddd %1, %0, %0" : "+x"(sums[j]) : "x"(pairs));
    }
  }
  return steps * kDotChains * kPairs * 32;
}

int64_t Fma(int64_t steps) {
  __m256 sums[kFmaChains] = {};
  const __m256 w = _mm256_set1_ps(1);
  for (int64_t step = 0; step < steps; ++step) {
#pragma GCC unroll 12
    for (int j = 0; j < kFmaChains; ++j) {
      asm volatile("vfmadd231ps %1, %1, %0" : "+x"(sums[j]) : "x"(w));
    }
  }
  return steps * kFmaChains * 8;
}

uint64_t Read(const std::byte* data, int64_t bytes) {
  __m256i folded[8] = {};
  for (int64_t at = 0; at < bytes; at += 256) {
#pragma GCC unroll 8
    for (int j = 0; j < 8; ++j) {
      if (j % 2 == 0) PrefetchAhead<64>(kTwoSteps, data + at + 32 * j);  // as the matmul
      const auto* vector = reinterpret_cast<const __m256i*>(data + at + 32 * j);
      folded[j] = _mm256_xor_si256(folded[j], _mm256_load_si256(vector));
    }
  }
  for (int j = 1; j < 8; ++j) folded[0] = _mm256_xor_si256(folded[0], folded[j]);
  alignas(32) uint64_t words[4];
  _mm256_store_si256(reinterpret_cast<__m256i*>(words), folded[0]);
  return words[0] ^ words[1] ^ words[2] ^ words[3];
}

}  // namespace

PeakKernels Peak() { return {.dot = Dot, .bfloat16 = Fma, .fma = Fma, .read = Read}; }

}  // namespace skald::kernels::avx2

#include "kernels/isa/target_end.h"
