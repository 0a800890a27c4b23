// bfloat16 weights with AVX-512, by two ways that give the same bits:
//
//   fused multiply-adds   any AVX-512: 32 fma for 32 columns of 16 rows and a token
//   VDPBF16PS             AVX512_BF16: 16, each of which is two steps of a chain. The instruction
//                         multiplies the high halves of its dwords first and then the low ones, so
//                         a dword must hold two neighbours of one chain, the earlier one high. A
//                         unit has the two chains side by side, as AMX wants them: 4 instructions
//                         for 2 vectors put them in order, for each tile of tokens, or once for
//                         many tokens.

#include "base/check.h"
#include "kernels/isa/flush_mode.h"
#include "kernels/isa/intrinsics.h"
#include "kernels/isa/prefetch.h"
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
    // Written in assembly for the reason in dots_avx512.h.
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
  [[gnu::always_inline]] static void Prefetch(const ReadAhead& ahead, const std::byte* weights) {
    PrefetchAhead<kBytes>(ahead, weights);
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

// acc + high half of each lane of w times that at `pair`, + low half times low half: two steps of a
// chain. Written in assembly for the reason in dots_avx512.h.
[[gnu::always_inline]] inline __m512 AddDot(__m512 acc, __m512i w, const uint32_t* pair) {
  asm("vdpbf16ps %2%{1to16%}, %1, %0"
      : "+v"(acc)
      : "v"(w), "m"(*reinterpret_cast<const AliasedInt32*>(pair)));
  return acc;
}

// The same with activations in each lane of `pairs`: without the target of the instruction there is
// no intrinsic.
[[gnu::always_inline]] inline __m512 AddDot(__m512 acc, __m512i w, __m512i pairs) {
  asm("vdpbf16ps %2, %1, %0" : "+v"(acc) : "v"(w), "v"(pairs));
  return acc;
}

// Two vectors of a unit of weights, columns 2 j and 2 j + 1 of both chains, as dwords with the
// steps 2 j + 1 (low) and 2 j (high) of each.
[[gnu::always_inline]] inline void OrderChains(const UnitBF16& unit, int j, __m512i (&chain)[2]) {
  constexpr __mmask32 kHigh = 0xaaaaaaaa;
  // A shuffle of bytes: a shift or a rotation would take a port of the dot products.
  const __m512i swap =
      _mm512_broadcast_i32x4(_mm_setr_epi8(2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13));
  const __m512i even = Load(unit.w[2 * j]);
  const __m512i odd = Load(unit.w[2 * j + 1]);
  chain[0] = _mm512_mask_blend_epi16(kHigh, odd, _mm512_shuffle_epi8(even, swap));
  chain[1] = _mm512_mask_blend_epi16(kHigh, _mm512_shuffle_epi8(odd, swap), even);
}

// A unit that is in this order already.
struct OrderedUnit {
  alignas(64) uint32_t w[8][2][kPanelRows];  // [j][chain][row]
};
[[gnu::always_inline]] inline void OrderChains(const OrderedUnit& unit, int j,
                                               __m512i (&chain)[2]) {
  chain[0] = Load(unit.w[j][0]);
  chain[1] = Load(unit.w[j][1]);
}

// Some units of the activations of MR tokens, in the order of OrderChains. Put right once for all
// panels of a call: a store of 64 bytes takes two cycles, as long as two to four dot products.
template <int MR>
struct ChainTile {
  static constexpr int kUnits = (8 << 10) / (MR * 64);  // a part of the first-level cache
  alignas(64) uint32_t pairs[kUnits][MR][2][8];         // [unit][token][chain][j]

  [[gnu::always_inline]] void Fill(const BFloat16Tile<MR>* tile, int64_t units) {
    const __m512i order =
        _mm512_set_epi16(29, 31, 25, 27, 21, 23, 17, 19, 13, 15, 9, 11, 5, 7, 1, 3,  //
                         28, 30, 24, 26, 20, 22, 16, 18, 12, 14, 8, 10, 4, 6, 0, 2);
    for (int64_t u = 0; u < units; ++u) {
#pragma GCC unroll 16
      for (int m = 0; m < MR; ++m) {
        _mm512_store_si512(pairs[u][m], _mm512_permutexvar_epi16(order, Load(tile[u].x[m])));
      }
    }
  }
};

// By kAtOnce panels and the tokens whose chains and sums fit the registers then. Two panels share
// the loads of their activations, one needs its weights put right for fewer groups of tokens.
template <int MR, int kAtOnce, typename Unit = UnitBF16>
struct DotKernel {
  static constexpr int kMost = 8 / kAtOnce;
  static constexpr int kTokens = GroupOf(MR, kMost);
  // The latency of a dot product is four to six cycles, so that two tokens need the chains of more.
  // One alone waits for memory, which is read fastest as one stream.
  static constexpr int kPanels = MR <= 2 ? MR : kAtOnce;

  // Step j of the chains of token i of NP panels.
  template <int NP>
  [[gnu::always_inline]] static void AddDots(const __m512i (&w)[NP][2],
                                             const uint32_t (&pairs)[2][8], int j, int i,
                                             __m512 (&chains)[NP][2][kTokens]) {
#pragma GCC unroll 2
    for (int chain = 0; chain < 2; ++chain) {
      if constexpr (NP == 1) {
        chains[0][chain][i] = AddDot(chains[0][chain][i], w[0][chain], &pairs[chain][j]);
      } else {
        const __m512i both = Broadcast(&pairs[chain][j]);
#pragma GCC unroll 4
        for (int p = 0; p < NP; ++p) {
          chains[p][chain][i] = AddDot(chains[p][chain][i], w[p][chain], both);
        }
      }
    }
  }

  // Consecutive units of panels.
  struct Part {
    const Unit* unit;     // the first, of the first panel
    int64_t panel_units;  // from one panel to the next
    int64_t units;        // no more than a ChainTile has
    bool begins;          // else `out` has the sums of the units before
    ReadAhead ahead;
  };

  // acc of each panel += a part, for kTokens tokens from `first` on.
  template <int NP>
  [[gnu::always_inline]] static void AddUnits(const Part& part, const ChainTile<MR>& tile,
                                              int first, __m512 (&acc)[NP][kTokens]) {
    for (int64_t u = 0; u < part.units; ++u) {
      const Unit* unit = part.unit + u;
      __m512 chains[NP][2][kTokens];
#pragma GCC unroll 4
      for (int p = 0; p < NP; ++p) {
        if (first == 0) PrefetchAhead<sizeof(Unit)>(part.ahead, unit + p * part.panel_units);
#pragma GCC unroll 8
        for (int i = 0; i < kTokens; ++i) chains[p][0][i] = chains[p][1][i] = _mm512_setzero_ps();
      }
#pragma GCC unroll 8
      for (int j = 0; j < 8; ++j) {
        __m512i w[NP][2];
#pragma GCC unroll 4
        for (int p = 0; p < NP; ++p) OrderChains(unit[p * part.panel_units], j, w[p]);
#pragma GCC unroll 8
        for (int i = 0; i < kTokens; ++i) AddDots<NP>(w, tile.pairs[u][first + i], j, i, chains);
      }
#pragma GCC unroll 4
      for (int p = 0; p < NP; ++p) {
#pragma GCC unroll 8
        for (int i = 0; i < kTokens; ++i) {
          acc[p][i] = _mm512_add_ps(acc[p][i], _mm512_add_ps(chains[p][0][i], chains[p][1][i]));
        }
      }
    }
  }

  // A part of NP panels.
  template <int NP>
  static void AddPanels(const Part& part, const ChainTile<MR>& tile, float* out,
                        int64_t out_stride) {
#pragma GCC unroll 1
    for (int first = 0; first < MR; first += kTokens) {
      __m512 acc[NP][kTokens];
      float* rows = out + first * out_stride;
#pragma GCC unroll 4
      for (int p = 0; p < NP; ++p) {
#pragma GCC unroll 8
        for (int i = 0; i < kTokens; ++i) {
          acc[p][i] = part.begins ? _mm512_setzero_ps()
                                  : _mm512_loadu_ps(rows + i * out_stride + p * kPanelRows);
        }
      }
      AddUnits<NP>(part, tile, first, acc);
#pragma GCC unroll 4
      for (int p = 0; p < NP; ++p) {
#pragma GCC unroll 8
        for (int i = 0; i < kTokens; ++i) {
          _mm512_storeu_ps(rows + i * out_stride + p * kPanelRows, acc[p][i]);
        }
      }
    }
  }

  // A part of `panel_count` panels, and the same units of the activations.
  static void AddPart(Part part, const BFloat16Tile<MR>* tile, int64_t panel_count, float* out,
                      int64_t out_stride) {
    ChainTile<MR> ordered;
    ordered.Fill(tile, part.units);
    int64_t p = 0;
    for (; p + kPanels <= panel_count; p += kPanels, part.unit += kPanels * part.panel_units) {
      AddPanels<kPanels>(part, ordered, out + p * kPanelRows, out_stride);
    }
    for (; p < panel_count; ++p, part.unit += part.panel_units) {
      AddPanels<1>(part, ordered, out + p * kPanelRows, out_stride);
    }
  }

  static void Run(const TileArgs& args) {
    const int64_t panel_units = PanelBytes(PanelType::kBF16, args.cols) / int64_t{sizeof(Unit)};
    const auto* panels = reinterpret_cast<const Unit*>(args.panels);
    const auto* tile = reinterpret_cast<const BFloat16Tile<MR>*>(args.tile);
    for (int64_t u = 0; u < panel_units; u += ChainTile<MR>::kUnits) {
      const int64_t left = panel_units - u;
      AddPart({.unit = panels + u,
               .panel_units = panel_units,
               .units = left < ChainTile<MR>::kUnits ? left : ChainTile<MR>::kUnits,
               .begins = u == 0,
               .ahead = args.ahead},
              tile + u, args.panel_count, args.out, args.out_stride);
    }
  }
};

// Many tokens, in whole tiles: some columns of all panels are put in order once. Their sums wait in
// the output for the next columns.
constexpr int64_t kOrderedUnits = ChainTile<kTileTokens>::kUnits;
constexpr int64_t kMostPanels = 32;  // 256 KiB, a share of L2
static_assert(kMostPanels * kOrderedUnits * int64_t{sizeof(OrderedUnit)} <= kMatmulScratchBytes);

void OrderPart(const UnitBF16* unit, int64_t panel_units, int64_t panels, int64_t units,
               OrderedUnit* ordered) {
  for (int64_t p = 0; p < panels; ++p) {
    for (int64_t u = 0; u < units; ++u) {
#pragma GCC unroll 8
      for (int j = 0; j < 8; ++j) {
        __m512i chain[2];
        OrderChains(unit[p * panel_units + u], j, chain);
        _mm512_store_si512(ordered[p * kOrderedUnits + u].w[j][0], chain[0]);
        _mm512_store_si512(ordered[p * kOrderedUnits + u].w[j][1], chain[1]);
      }
    }
  }
}

// By two panels: what speaks for one, the order of the weights for fewer groups of tokens, is done.
void MultiplyOrdered(const MatmulArgs& args, int64_t tiles) {
  using Kernel = DotKernel<kTileTokens, 2, OrderedUnit>;
  const int64_t panel_units = PanelBytes(PanelType::kBF16, args.cols) / int64_t{sizeof(UnitBF16)};
  const auto* panels = reinterpret_cast<const UnitBF16*>(args.panels);
  const auto* tile = reinterpret_cast<const BFloat16Tile<kTileTokens>*>(args.tiles);
  auto* ordered = reinterpret_cast<OrderedUnit*>(args.scratch);
  for (int64_t u = 0; u < panel_units; u += kOrderedUnits) {
    const int64_t left = panel_units - u;
    const Kernel::Part part = {.unit = ordered,
                               .panel_units = kOrderedUnits,
                               .units = left < kOrderedUnits ? left : kOrderedUnits,
                               .begins = u == 0,
                               .ahead = kByHardware};
    OrderPart(panels + u, panel_units, args.panel_count, part.units, ordered);
    for (int64_t t = 0; t < tiles; ++t) {
      Kernel::AddPart(part, tile + t * panel_units + u, args.panel_count,
                      args.out + t * kTileTokens * args.out_stride, args.out_stride);
    }
  }
}

template <int MR>
using OnePanel = DotKernel<MR, 1>;
// Tiles that only large groups divide, of 5, 7, 10 and 14 tokens, have registers for one.
template <int MR>
using TwoPanels = DotKernel<MR, (MR >= 3 && GroupOf(MR, 4) < 3) ? 1 : 2>;

}  // namespace

void MatmulBFloat16ByFma(const MatmulArgs& args) {
  const FlushMode flush;
  EveryTile<PanelType::kBF16, FmaTile, ReadAheadFor<PanelType::kBF16>>(args);
}

namespace {

// By tile, or for many tokens by columns.
template <MatmulFn kByTile>
void ByDots(const MatmulArgs& args) {
  // The instruction flushes by itself, the sums of the chains do not.
  const FlushMode flush;
  const int64_t tiles = args.tokens > kFewToOrder ? args.tokens / kTileTokens : 0;
  for (int64_t p = 0; tiles > 0 && p < args.panel_count; p += kMostPanels) {
    const int64_t left = args.panel_count - p;
    MatmulArgs some = args;
    some.panels += p * PanelBytes(PanelType::kBF16, args.cols);
    some.panel_count = left < kMostPanels ? left : kMostPanels;
    some.out += p * kPanelRows;
    MultiplyOrdered(some, tiles);
  }
  MatmulArgs rest = args;
  const int64_t done = tiles * kTileTokens;
  rest.tokens -= done;
  rest.tiles += done * ActivationBytes(ActivationFormat::kBFloat16, args.cols);
  rest.out += done * args.out_stride;
  if (rest.tokens > 0) kByTile(rest);
}

}  // namespace

void MatmulBFloat16ByDots(const MatmulArgs& args) {
  ByDots<kByTiles<PanelType::kBF16, OnePanel>>(args);
}

void MatmulBFloat16ByDotsOfTwo(const MatmulArgs& args) {
  ByDots<kByTiles<PanelType::kBF16, TwoPanels>>(args);
}

}  // namespace skald::kernels::avx512

#include "kernels/isa/target_end.h"
