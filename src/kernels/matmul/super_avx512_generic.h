/// The loops of the AVX-512 matmuls of super-blocks over a policy for each unit type, and what
/// policies share. Include inside a target region: that of super_avx512.cc, or that of
/// codebooks_avx512.cc with more instructions. Policies are local to either, so the two never meet.
#pragma once

#include "kernels/isa/intrinsics.h"
#include "kernels/isa/prefetch.h"
#include "kernels/matmul/dots_avx512.h"
#include "kernels/matmul/low_bit_avx512.h"
#include "kernels/matmul/matmul_generic.h"
#include "kernels/matmul/variants.h"
#include "kernels/matmul/weights_avx512.h"
#include "kernels/pack/unit_layout.h"
#include "kernels/quantize/tile_layout.h"

// Outside of a region, where only a compilation of this header alone sees them, functions that pass
// vectors would be called in another way. None is.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpsabi"

namespace skald::kernels::avx512 {

// The bytes of token m in block b (0..3) of a unit of activations.
template <int MR>
[[gnu::always_inline]] inline const int8_t* BlockOf(const Block128Tile<MR>& a, int b, int m) {
  return a.q[b / 2][m] + 32 * (b % 2);
}

// corr32, -32 times a sum of activations, for weights with another offset. Exact.
template <int kOffset>
[[gnu::always_inline]] inline __m512i CorrectionFor(const int32_t* corr32) {
  static_assert(kOffset == 0 || kOffset == 1 || kOffset == 4 || kOffset == 16 || kOffset == 32 ||
                kOffset == 64);
  if constexpr (kOffset == 0) return _mm512_setzero_si512();
  const __m512i corr = Broadcast(corr32);
  if constexpr (kOffset == 1) return _mm512_srai_epi32(corr, 5);
  if constexpr (kOffset == 4) return _mm512_srai_epi32(corr, 3);
  if constexpr (kOffset == 16) return _mm512_srai_epi32(corr, 1);
  if constexpr (kOffset == 64) return _mm512_slli_epi32(corr, 1);
  return corr;
}

// The dot products of both halves of a block in chains of their own, which `fold`, with kScales
// vectors of scales, adds to the sums: fold.Add(sum, low, high). kOffset: that of the weights.
template <int kOffset, typename Fold, int MR, int N>
[[gnu::always_inline]] inline void AddHalves(const Weights& w, const Fold& fold,
                                             const Block128Tile<MR>& a, int b, int first,
                                             __m512i (&sums)[N]) {
  // Beside 16 sums, 8 weights and two scales there are registers for the chains of one token.
  constexpr int kChainTokens = N == kTileTokens && Fold::kScales == 2 ? 1 : kHalfChains<N>;
  const int block = b % 4;
#pragma GCC unroll 16
  for (int m = 0; m < N; m += kChainTokens) {
    __m512i low[kChainTokens];
    __m512i high[kChainTokens];
#pragma GCC unroll 2
    for (int j = 0; j < kChainTokens; ++j) {
      low[j] = CorrectionFor<kOffset>(&a.corr32[2 * block][first + m + j]);
      high[j] = CorrectionFor<kOffset>(&a.corr32[2 * block + 1][first + m + j]);
    }
    AddHalfDots<64>(w, BlockOf(a, block, first + m), low, high);
#pragma GCC unroll 2
    for (int j = 0; j < kChainTokens; ++j) sums[m + j] = fold.Add(sums[m + j], low[j], high[j]);
  }
}

// A scale for each half.
struct ByHalfScales {
  static constexpr int kScales = 2;
  HalfScales scales;

  [[gnu::always_inline]] __m512i Add(__m512i sum, __m512i low, __m512i high) const {
    const __m512i scaled_low = _mm512_mullo_epi32(low, scales.low);
    const __m512i scaled_high = _mm512_mullo_epi32(high, scales.high);
    return AddTo(sum, _mm512_add_epi32(scaled_low, scaled_high));
  }
};

// A policy says, for one unit type, where the integer sums I of the tokens start (Start, else at
// zero), how a block enters them (AddBlock), and what the minimum sum J of a token over half a unit
// is (Minimums); the first and the last from Pairs of sums of activations. It is made anew for each
// unit and holds what the blocks of the unit share.
//
// kAtOnce: tokens whose sums are in registers while the weights of half a unit are unpacked once.
// With 16 of them 8 weights and the operands of the dots do not fit the 32 registers; with 8 the
// weights are unpacked twice. Which one costs less depends on the core.
template <typename Policy, int MR, int kAtOnce = MR>
struct SuperKernel {
  using Unit = typename Policy::Unit;
  using Tile = Block128Tile<MR>;
  static_assert(MR % kAtOnce == 0);

  // The sums of the tokens at once stay in registers over all columns if they are few: a store of
  // 64 bytes takes two cycles.
  static void Panel(const TileArgs& args, int64_t p) {
    const int64_t supers = args.cols / kSuperCols;
    const Unit* units = reinterpret_cast<const Unit*>(args.panels) + p * supers;
    const Tile* tile = reinterpret_cast<const Tile*>(args.tile);
    float* out = args.out + p * kPanelRows;
    const ReadAhead ahead = args.ahead;
#pragma GCC unroll 1
    for (int first = 0; first < MR; first += kAtOnce) {
      __m512 acc[kAtOnce];
#pragma GCC unroll 16
      for (int m = 0; m < kAtOnce; ++m) acc[m] = _mm512_setzero_ps();
      for (int64_t s = 0; s < supers; ++s) AddSuperBlock(units[s], tile + 2 * s, ahead, first, acc);
#pragma GCC unroll 16
      for (int m = 0; m < kAtOnce; ++m)
        _mm512_storeu_ps(out + (first + m) * args.out_stride, acc[m]);
    }
  }

  // Adds a unit to the tokens from `first` on.
  [[gnu::always_inline]] static void AddSuperBlock(const Unit& unit, const Tile* tile,
                                                   const ReadAhead& ahead, int first,
                                                   __m512 (&acc)[kAtOnce]) {
    const Policy policy(unit);
    const __m512 d = LoadScales(unit);
#pragma GCC unroll 1
    for (int half = 0; half < 2; ++half)
      AddHalf(policy, unit, d, tile[half], half, ahead, first, acc);
  }

  // Adds half a unit.
  [[gnu::always_inline]] static void AddHalf(const Policy& policy, const Unit& unit, __m512 d,
                                             const Tile& a, int half, const ReadAhead& ahead,
                                             int first, __m512 (&acc)[kAtOnce]) {
    const typename Policy::template Pairs<kAtOnce> pairs(a, first);
    __m512i sums[kAtOnce];
#pragma GCC unroll 16
    for (int m = 0; m < kAtOnce; ++m) {
      if constexpr (requires { policy.Start(pairs, half, m); }) {
        sums[m] = policy.Start(pairs, half, m);
      } else {
        sums[m] = _mm512_setzero_si512();
      }
    }
#pragma GCC unroll 1
    for (int b = 4 * half; b < 4 * half + 4; ++b) {
      if (first == 0) PrefetchAhead<sizeof(Unit) / 8>(ahead, &unit, b);
      policy.AddBlock(unit, a, b, first, sums);
    }
    if constexpr (Policy::kHasMin) {
      const __m512 dmin = LoadHalves(unit.dmin);
#pragma GCC unroll 16
      for (int m = 0; m < kAtOnce; ++m) {
        const __m512 t = _mm512_mul_ps(_mm512_cvtepi32_ps(sums[m]), d);
        const __m512 minimums = _mm512_cvtepi32_ps(policy.Minimums(pairs, half, m));
        const __m512 difference = _mm512_fnmadd_ps(minimums, dmin, t);
        acc[m] = _mm512_fmadd_ps(difference, _mm512_set1_ps(a.da[first + m]), acc[m]);
      }
    } else {
#pragma GCC unroll 16
      for (int m = 0; m < kAtOnce; ++m) {
        const __m512 t = _mm512_mul_ps(_mm512_cvtepi32_ps(sums[m]), d);
        acc[m] = _mm512_fmadd_ps(t, _mm512_set1_ps(a.da[first + m]), acc[m]);
      }
    }
  }

  static void Run(const TileArgs& args) {
    for (int64_t p = 0; p < args.panel_count; ++p) Panel(args, p);
  }
};

// Tokens at once of a tile of MR where there are never more than 12, and of 16 never more than 8.
template <int MR>
inline constexpr int kEight = GroupOf(MR, 12);

// Of a policy that has no use for them.
struct NoPairs {
  [[gnu::always_inline]] NoPairs(const auto& /*tile*/, int /*first*/) {}
};

// A scale for each 16 columns. Unpacker: how a block is unpacked, with the offset of its unit.
template <typename UnitType, typename Unpacker, int MR>
struct HalvesPolicy {
  using Unit = UnitType;
  static constexpr bool kHasMin = false;
  template <int>
  using Pairs = NoPairs;

  [[gnu::always_inline]] HalvesPolicy(const Unit&) {}

  template <int N>
  [[gnu::always_inline]] void AddBlock(const Unit& unit, const Block128Tile<MR>& a, int b,
                                       int first, __m512i (&sums)[N]) const {
    Weights w;
    Unpacker::Unpack(unit, b, w);
    AddHalves<kOffsetOf<Unit>>(w, ByHalfScales{HalfScalesOf(unit, b)}, a, b, first, sums);
  }
};

}  // namespace skald::kernels::avx512

#pragma GCC diagnostic pop
