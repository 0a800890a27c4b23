/// The matmul of bfloat16 weights by fused multiply-adds (numerics 3.6), for CPUs without a (fast)
/// dot product of bfloat16. Templates over the lanes of one instruction set only, so they belong to
/// the target region that is open where this is included (see isa/vec_avx512.h), and run under a
/// FlushMode.
///
/// Lanes: a vector of floats, one lane a row.
///     Vector, kRows             the type, and the rows it holds: 16, or half a panel
///     kTokens                   tokens at once, with 3 vectors for each vector of rows
///     Split(p, low, high)       the low and the high bfloat16 of kRows dwords, as floats
///     Fma(a, p, c)              a times the float at p, + c
///     Zero, Add, Store
#pragma once

#include "kernels/matmul/variants.h"
#include "kernels/pack/unit_layout.h"
#include "kernels/quantize/tile_layout.h"

namespace skald::kernels {

// kTokens tokens times kVectors vectors of rows, which begin `stride` bytes apart.
template <typename Lanes, int kTokens, int kVectors>
struct BFloat16Rows {
  using Vector = typename Lanes::Vector;

  // The activations of a unit as floats: 2 instructions for 32 fma here, one for each fma there.
  struct Unit {
    alignas(64) float x[kTokens][2][16];  // [token][chain][k]

    [[gnu::always_inline]] explicit Unit(const std::byte* tile) {
#pragma GCC unroll 8
      for (int m = 0; m < kTokens; ++m) {
#pragma GCC unroll 2
        for (int k = 0; k < 16; k += Lanes::kRows) {
          Vector low;
          Vector high;
          Lanes::Split(tile + kBFloat16TokenBytes * m + 4 * k, low, high);
          Lanes::Store(&x[m][0][k], low);
          Lanes::Store(&x[m][1][k], high);
        }
      }
      // The floats are in memory from here on: gcc 12 would keep the vectors, and take each float
      // out of them by two shuffles.
      asm volatile("" : : "r"(x) : "memory");
    }
  };

  // Both chains of a unit, and their sum.
  [[gnu::always_inline]] static void AddUnit(const std::byte* weights, int64_t stride,
                                             const Unit& unit, Vector (&acc)[kTokens][kVectors]) {
    Vector chains[2][kTokens][kVectors];
#pragma GCC unroll 8
    for (int m = 0; m < kTokens; ++m) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) chains[0][m][v] = chains[1][m][v] = Lanes::Zero();
    }
#pragma GCC unroll 16
    for (int k = 0; k < 16; ++k) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        Vector low;
        Vector high;
        Lanes::Split(weights + v * stride + 64 * k, low, high);
#pragma GCC unroll 8
        for (int m = 0; m < kTokens; ++m) {
          chains[0][m][v] = Lanes::Fma(low, &unit.x[m][0][k], chains[0][m][v]);
          chains[1][m][v] = Lanes::Fma(high, &unit.x[m][1][k], chains[1][m][v]);
        }
      }
    }
#pragma GCC unroll 8
    for (int m = 0; m < kTokens; ++m) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        acc[m][v] = Lanes::Add(acc[m][v], Lanes::Add(chains[0][m][v], chains[1][m][v]));
      }
    }
  }

  // The tokens of the tile from `first` on.
  static void Run(const TileArgs& args, const std::byte* weights, int64_t stride, int first,
                  float* out) {
    Vector acc[kTokens][kVectors];
#pragma GCC unroll 8
    for (int m = 0; m < kTokens; ++m) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) acc[m][v] = Lanes::Zero();
    }
    const std::byte* tile = args.tile + first * kBFloat16TokenBytes;
    for (int64_t column = 0; column < args.cols; column += kBlockCols) {
      for (int v = 0; v < kVectors; ++v) {
        Lanes::template Prefetch<sizeof(UnitBF16) * Lanes::kRows / 16>(args.ahead,
                                                                       weights + v * stride);
      }
      AddUnit(weights, stride, Unit(tile), acc);
      weights += sizeof(UnitBF16);
      tile += args.tokens * kBFloat16TokenBytes;
    }
    for (int m = 0; m < kTokens; ++m) {
      for (int v = 0; v < kVectors; ++v) {
        Lanes::Store(out + (first + m) * args.out_stride + v * Lanes::kRows, acc[m][v]);
      }
    }
  }
};

// All tokens of a tile, kTokens at a time and then fewer, from `first` on.
template <typename Lanes, int kTokens, int kVectors>
[[gnu::always_inline]] inline void BFloat16Tokens(const TileArgs& args, const std::byte* weights,
                                                  int64_t stride, int first, float* out) {
  for (; first + kTokens <= args.tokens; first += kTokens) {
    BFloat16Rows<Lanes, kTokens, kVectors>::Run(args, weights, stride, first, out);
  }
  if constexpr (kTokens > 1) {
    BFloat16Tokens<Lanes, kTokens / 2, kVectors>(args, weights, stride, first, out);
  }
}

}  // namespace skald::kernels
