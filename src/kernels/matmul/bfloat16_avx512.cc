// bfloat16 weights with AVX-512, by two ways that give the same bits:
//
//   fused multiply-adds   any AVX-512: 32 fma for 32 columns of 16 rows and a token
//   VDPBF16PS             AVX512_BF16: 16, each of which is two steps of a chain. The instruction
//                         multiplies the high halves of its dwords first and then the low ones, so
//                         a dword must hold two neighbours of one chain, the earlier one high. A
//                         unit has the two chains side by side, as AMX wants them: 4 instructions
//                         for 2 vectors put that right, shared by the tokens of the tile.

#include "base/check.h"
#include "kernels/isa/flush_mode.h"
#include "kernels/isa/intrinsics.h"
#include "kernels/matmul/variants.h"
#include "kernels/matmul/weights_avx512.h"
#include "kernels/pack/unit_layout.h"
#include "kernels/quantize/tile_layout.h"

// clang-format off: the region must open before the templates and after everything else.
#include "kernels/isa/target_avx512_begin.h"
#include "kernels/matmul/bfloat16_generic.h"
#include "kernels/matmul/matmul_generic.h"
// clang-format on

namespace skald::kernels::avx512 {
namespace {

struct Lanes {
  using Vector = __m512;
  static constexpr int kRows = 16;
  static constexpr int kTokens = 8;

  [[gnu::always_inline]] static Vector Zero() { return _mm512_setzero_ps(); }
  [[gnu::always_inline]] static Vector Add(Vector a, Vector b) { return _mm512_add_ps(a, b); }
  [[gnu::always_inline]] static Vector Fma(Vector a, const float* p, Vector c) {
    // Written in assembly for the reason in matmul_avx512.cc.
    asm("vfmadd231ps %2%{1to16%}, %1, %0" : "+v"(c) : "v"(a), "m"(*p));
    return c;
  }
  [[gnu::always_inline]] static void Store(float* p, Vector a) { _mm512_storeu_ps(p, a); }
  [[gnu::always_inline]] static void Split(const std::byte* p, Vector& low, Vector& high) {
    const __m512i pairs = Load(p);
    low = _mm512_castsi512_ps(_mm512_slli_epi32(pairs, 16));
    high = _mm512_castsi512_ps(_mm512_and_si512(pairs, _mm512_set1_epi32(~0xffff)));
  }
  template <int64_t kBytes>
  [[gnu::always_inline]] static void Prefetch(const std::byte* weights) {
    PrefetchAhead<kBytes>(weights);
  }
};

void FmaTile(const TileArgs& args) {
  const int64_t panel_bytes = PanelBytes(PanelType::kBF16, args.cols);
  int64_t p = 0;
  if (args.tokens == 1) {
    // Four panels: one alone has too few chains to fill the units.
    for (; p + 4 <= args.panel_count; p += 4) {
      BFloat16Rows<Lanes, 1, 4>::Run(args, args.panels + p * panel_bytes, panel_bytes, 0,
                                     args.out + p * kPanelRows);
    }
  }
  for (; p < args.panel_count; ++p) {
    BFloat16Tokens<Lanes, Lanes::kTokens, 1>(args, args.panels + p * panel_bytes, panel_bytes, 0,
                                             args.out + p * kPanelRows);
  }
}

// ---------------------------------------------------------------------------------------------
// VDPBF16PS.

using AliasedUint32 __attribute__((may_alias)) = uint32_t;

// acc + high half of each lane of w times that at `pair`, + low half times low half: two steps of a
// chain. Written in assembly for the reason in matmul_avx512.cc.
[[gnu::always_inline]] inline __m512 AddDot(__m512 acc, __m512i w, const uint32_t* pair) {
  asm("vdpbf16ps %2%{1to16%}, %1, %0"
      : "+v"(acc)
      : "v"(w), "m"(*reinterpret_cast<const AliasedUint32*>(pair)));
  return acc;
}

// The weights of a unit: dwords with the steps 2 j + 1 (low) and 2 j (high) of a chain.
struct ChainWeights {
  __m512i chain[2][8];  // [chain][j]

  [[gnu::always_inline]] explicit ChainWeights(const UnitBF16& unit) {
    constexpr __mmask32 kHigh = 0xaaaaaaaa;
    // A shuffle of bytes: a shift or a rotation would take a port of the dot products.
    const __m512i swap =
        _mm512_broadcast_i32x4(_mm_setr_epi8(2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13));
#pragma GCC unroll 8
    for (int j = 0; j < 8; ++j) {
      const __m512i even = Load(unit.w[2 * j]);
      const __m512i odd = Load(unit.w[2 * j + 1]);
      chain[0][j] = _mm512_mask_blend_epi16(kHigh, odd, _mm512_shuffle_epi8(even, swap));
      chain[1][j] = _mm512_mask_blend_epi16(kHigh, _mm512_shuffle_epi8(odd, swap), even);
    }
  }
};

template <int MR>
struct DotKernel {
  using Tile = BFloat16Tile<MR>;
  // Tokens at once, each with two chains: the latency of a dot product is six and more.
  static constexpr int kTokens = MR % 4 == 0 ? 4 : MR % 3 == 0 ? 3 : MR;

  // The activations of a unit in the order of ChainWeights.
  struct Unit {
    alignas(64) uint32_t pairs[MR][2][8];  // [token][chain][j]

    [[gnu::always_inline]] explicit Unit(const Tile& tile) {
      const __m512i order =
          _mm512_set_epi16(29, 31, 25, 27, 21, 23, 17, 19, 13, 15, 9, 11, 5, 7, 1, 3,  //
                           28, 30, 24, 26, 20, 22, 16, 18, 12, 14, 8, 10, 4, 6, 0, 2);
#pragma GCC unroll 16
      for (int m = 0; m < MR; ++m) {
        _mm512_store_si512(pairs[m], _mm512_permutexvar_epi16(order, Load(tile.x[m])));
      }
    }
  };

  [[gnu::always_inline]] static void AddUnit(const ChainWeights& w, const Unit& unit,
                                             __m512 (&acc)[MR]) {
#pragma GCC unroll 16
    for (int m = 0; m < MR; m += kTokens) {
      __m512 chains[2][kTokens];
#pragma GCC unroll 4
      for (int i = 0; i < kTokens; ++i) chains[0][i] = chains[1][i] = _mm512_setzero_ps();
#pragma GCC unroll 8
      for (int j = 0; j < 8; ++j) {
#pragma GCC unroll 4
        for (int i = 0; i < kTokens; ++i) {
          chains[0][i] = AddDot(chains[0][i], w.chain[0][j], &unit.pairs[m + i][0][j]);
          chains[1][i] = AddDot(chains[1][i], w.chain[1][j], &unit.pairs[m + i][1][j]);
        }
      }
#pragma GCC unroll 4
      for (int i = 0; i < kTokens; ++i) {
        acc[m + i] = _mm512_add_ps(acc[m + i], _mm512_add_ps(chains[0][i], chains[1][i]));
      }
    }
  }

  static void Panel(const UnitBF16* unit, const Tile* tile, int64_t units, const TileArgs& args,
                    float* out) {
    __m512 acc[MR];
#pragma GCC unroll 16
    for (int m = 0; m < MR; ++m) acc[m] = _mm512_setzero_ps();
    for (int64_t u = 0; u < units; ++u) {
      PrefetchAhead<sizeof(UnitBF16)>(unit + u);
      AddUnit(ChainWeights(unit[u]), Unit(tile[u]), acc);
    }
#pragma GCC unroll 16
    for (int m = 0; m < MR; ++m) _mm512_storeu_ps(out + m * args.out_stride, acc[m]);
  }

  static void Run(const TileArgs& args) {
    const int64_t units = PanelBytes(PanelType::kBF16, args.cols) / int64_t{sizeof(UnitBF16)};
    const auto* unit = reinterpret_cast<const UnitBF16*>(args.panels);
    const auto* tile = reinterpret_cast<const Tile*>(args.tile);
    for (int64_t p = 0; p < args.panel_count; ++p) {
      Panel(unit + p * units, tile, units, args, args.out + p * kPanelRows);
    }
  }
};

}  // namespace

void MatmulBFloat16ByFma(const MatmulArgs& args) {
  const FlushMode flush;
  EveryTile<PanelType::kBF16, FmaTile>(args);
}

// The instruction flushes by itself, the sums of the chains do not.
void MatmulBFloat16ByDots(const MatmulArgs& args) {
  const FlushMode flush;
  EveryTile<PanelType::kBF16, ForTileSize<DotKernel>>(args);
}

}  // namespace skald::kernels::avx512

#include "kernels/isa/target_end.h"
