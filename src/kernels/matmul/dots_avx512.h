/// Dot products of bytes with AVX-512 VNNI: what the AVX-512 matmuls of quantized weights share.
/// One zmm lane is one output row; weights are the unsigned operand of vpdpbusd and activations the
/// signed one, broadcast from memory.
#pragma once

#include <cstdint>

#include "kernels/isa/intrinsics.h"
#include "kernels/matmul/variants.h"
#include "kernels/matmul/weights_avx512.h"

// clang-format off: the region must open after everything else.
#include "kernels/isa/target_avx512_begin.h"
// clang-format on

namespace skald::kernels::avx512 {

// dot + (4 products of each lane of the weights w with the 4 bytes at q). Written in assembly
// because gcc 12 would spend an instruction and a register on each broadcast.
[[gnu::always_inline]] inline __m512i AddDot(__m512i dot, __m512i w, const int8_t* q) {
  asm("vpdpbusd %2%{1to16%}, %1, %0"
      : "+v"(dot)
      : "v"(w), "m"(*reinterpret_cast<const AliasedInt32*>(q)));
  return dot;
}

// The same with activations in each lane of q. With the intrinsic gcc 12 moves sums between
// registers.
[[gnu::always_inline]] inline __m512i AddDot(__m512i dot, __m512i w, __m512i q) {
  asm("vpdpbusd %2, %1, %0" : "+v"(dot) : "v"(w), "v"(q));
  return dot;
}

// Tokens whose dot products are interleaved. A chain of 8 dots takes 40 cycles, and the scheduler
// of the core sees less than ten chains ahead: interleaved, the next instructions are independent.
template <int MR>
inline constexpr int kChains = MR % 4 == 0   ? 4
                               : MR % 3 == 0 ? 3
                                             : GroupOf(MR, 7);
// The same where a token has two chains.
template <int MR>
inline constexpr int kHalfChains = MR % 2 == 0 ? 2 : 1;

// dots[j] += the 32 columns w times the activations of token j, which start at first + j * kStride.
template <int kStride, int N>
[[gnu::always_inline]] inline void AddDots(const Weights& w, const int8_t* first,
                                           __m512i (&dots)[N]) {
  const int8_t* q = Unindexed(first);
#pragma GCC unroll 8
  for (int k = 0; k < 8; ++k) {
#pragma GCC unroll 16
    for (int j = 0; j < N; ++j) dots[j] = AddDot(dots[j], w[k], q + j * kStride + 4 * k);
  }
}

// The same for the columns 0..15 and 16..31 apart.
template <int kStride, int N>
[[gnu::always_inline]] inline void AddHalfDots(const Weights& w, const int8_t* q, __m512i (&low)[N],
                                               __m512i (&high)[N]) {
#pragma GCC unroll 4
  for (int k = 0; k < 4; ++k) {
#pragma GCC unroll 4
    for (int j = 0; j < N; ++j) {
      low[j] = AddDot(low[j], w[k], q + j * kStride + 4 * k);
      high[j] = AddDot(high[j], w[k + 4], q + j * kStride + 16 + 4 * k);
    }
  }
}

}  // namespace skald::kernels::avx512

#include "kernels/isa/target_end.h"
