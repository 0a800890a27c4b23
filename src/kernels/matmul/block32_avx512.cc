// The AVX-512 matmul of weights with a float scale for each 32 columns, or for each 16.
//
// Cost, in instructions of the two ports of the dots, of 32 columns of one token: 8 dots, and for
// the scale 3 (convert, d * da, fma), of which cores of AMD do the conversion elsewhere; unpacking
// is shared by the tokens of the tile. That bounds the share of the peak that a type can reach.

#include <span>

#include "base/check.h"
#include "kernels/isa/intrinsics.h"
#include "kernels/isa/prefetch.h"
#include "kernels/matmul/dots_avx512.h"
#include "kernels/matmul/low_bit_avx512.h"
#include "kernels/matmul/variants.h"
#include "kernels/matmul/ways.h"
#include "kernels/matmul/weights_avx512.h"
#include "kernels/pack/unit_layout.h"
#include "kernels/quantize/tile_layout.h"

// clang-format off: the region must open before the templates and after everything else.
#include "kernels/isa/target_avx512_begin.h"
#include "kernels/matmul/matmul_generic.h"
// clang-format on

namespace skald::kernels::avx512 {
namespace {

// Adds the minimums of a panel times da * asum, for N tokens from `first` on.
template <typename Unit, int MR, int N>
[[gnu::always_inline]] inline void AddMinimums(const Unit& unit, const Block32Tile<MR>& a,
                                               int first, __m512 (&acc)[N]) {
  // Lanes are tokens here. corr8 = -8 * asum; the shift is exact.
  constexpr __mmask16 kTokens = static_cast<__mmask16>((1u << N) - 1);
  const __m512i corr = _mm512_maskz_loadu_epi32(kTokens, a.corr8 + first);
  const __m512i sums = _mm512_srai_epi32(_mm512_sub_epi32(_mm512_setzero_si512(), corr), 3);
  const __m512 da = _mm512_maskz_loadu_ps(kTokens, a.da + first);
  alignas(64) float scaled[16];
  _mm512_store_ps(scaled, _mm512_mul_ps(da, _mm512_cvtepi32_ps(sums)));
  const __m512 minimum = LoadHalves(unit.m);
#pragma GCC unroll 16
  for (int m = 0; m < N; ++m) {
    acc[m] = _mm512_fmadd_ps(minimum, _mm512_set1_ps(scaled[m]), acc[m]);
  }
}

template <typename Unit, int MR>
struct Block32Kernel {
  using Tile = Block32Tile<MR>;
  static constexpr bool kHasMin = requires(const Unit& unit) { unit.m; };

  // Where the dot product starts: minus the weight offset times the sum of the activations.
  [[gnu::always_inline]] static __m512i Start(const Tile& a, int m) {
    if constexpr (kHasMin) return _mm512_setzero_si512();
    if constexpr (kOffsetOf<Unit> == 1) return _mm512_srai_epi32(Broadcast(&a.corr8[m]), 3);
    if constexpr (kOffsetOf<Unit> == 16) return _mm512_slli_epi32(Broadcast(&a.corr8[m]), 1);
    return Broadcast(kOffsetOf<Unit> == 128 ? &a.corr128[m] : &a.corr8[m]);
  }

  static void Panel(const TileArgs& args, int64_t p) {
    const int64_t blocks = args.cols / kBlockCols;
    const Unit* units = reinterpret_cast<const Unit*>(args.panels) + p * (blocks / kBlocksOf<Unit>);
    const Tile* tile = reinterpret_cast<const Tile*>(args.tile);
    const ReadAhead ahead = args.ahead;
    __m512 acc[MR];
#pragma GCC unroll 16
    for (int m = 0; m < MR; ++m) acc[m] = _mm512_setzero_ps();
    constexpr int kBlocks = kBlocksOf<Unit>;
    for (int64_t b = 0; b < blocks; ++b) {
      const Unit& unit = units[b / kBlocks];
      const int part = static_cast<int>(b % kBlocks);
      const Tile& a = tile[b];
      PrefetchAhead<sizeof(Unit) / kBlocks>(ahead, &unit, part);
      Weights w;
      UnpackColumns(unit, part, w);
      const __m512 d = LoadScales(unit);
#pragma GCC unroll 16
      for (int m = 0; m < MR; m += kChains<MR>) {
        __m512i dots[kChains<MR>];
#pragma GCC unroll 8
        for (int j = 0; j < kChains<MR>; ++j) dots[j] = Start(a, m + j);
        AddDots<32>(w, a.q[m], dots);
#pragma GCC unroll 8
        for (int j = 0; j < kChains<MR>; ++j) {
          const __m512 scale = _mm512_mul_ps(d, _mm512_set1_ps(a.da[m + j]));
          acc[m + j] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(dots[j]), scale, acc[m + j]);
        }
      }
      if constexpr (kHasMin) AddMinimums(unit, a, 0, acc);
    }
    float* out = args.out + p * kPanelRows;
#pragma GCC unroll 16
    for (int m = 0; m < MR; ++m) _mm512_storeu_ps(out + m * args.out_stride, acc[m]);
  }

  static void Run(const TileArgs& args) {
    for (int64_t p = 0; p < args.panel_count; ++p) Panel(args, p);
  }
};

// Two panels at once: a dot product of one panel loads four activations for itself, and a core that
// starts two dot products a cycle can load no more than that. Here two share a load. The sums of 8
// tokens stay in registers over all columns, since a store of 64 bytes takes two cycles; so there
// is none left for unpacked weights, which each group of tokens unpacks for itself.
template <typename Unit, int MR>
struct PairKernel {
  using Tile = Block32Tile<MR>;
  using Single = Block32Kernel<Unit, MR>;
  static constexpr int kTokens = GroupOf(MR, 8);
  static constexpr int kGroup = kChains<kTokens>;

  // Adds a block of two panels for the tokens from `first` on.
  [[gnu::always_inline]] static void AddBlock(const Unit* unit, int64_t blocks, const Tile& a,
                                              const ReadAhead& ahead, int first,
                                              __m512 (&acc)[2][kTokens]) {
    __m512 d[2];
#pragma GCC unroll 2
    for (int p = 0; p < 2; ++p) {
      if (first == 0) PrefetchAhead<sizeof(Unit)>(ahead, unit + p * blocks);
      d[p] = LoadScales(unit[p * blocks]);
    }
#pragma GCC unroll 8
    for (int m = 0; m < kTokens; m += kGroup) {
      // Hides from gcc that the groups read the same weights: it would keep them in registers, and
      // the sums in memory.
      asm("" : "+r"(unit));
      __m512i dots[2][kGroup];
#pragma GCC unroll 8
      for (int j = 0; j < kGroup; ++j) dots[0][j] = dots[1][j] = Single::Start(a, first + m + j);
#pragma GCC unroll 8
      for (int i = 0; i < 8; ++i) {
        // Both halves of a register of nibbles one after the other: it need not be kept.
        const int k = 4 * (i % 2) + i / 2;
        const __m512i w[2] = {Column(unit[0], k), Column(unit[blocks], k)};
#pragma GCC unroll 8
        for (int j = 0; j < kGroup; ++j) {
          const __m512i q = Broadcast(a.q[first + m + j] + 4 * k);
          dots[0][j] = AddDot(dots[0][j], w[0], q);
          dots[1][j] = AddDot(dots[1][j], w[1], q);
        }
      }
#pragma GCC unroll 8
      for (int j = 0; j < kGroup; ++j) {
        const __m512 da = _mm512_set1_ps(a.da[first + m + j]);
#pragma GCC unroll 2
        for (int p = 0; p < 2; ++p) {
          const __m512 scale = _mm512_mul_ps(d[p], da);
          acc[p][m + j] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(dots[p][j]), scale, acc[p][m + j]);
        }
      }
    }
    if constexpr (Single::kHasMin) {
#pragma GCC unroll 2
      for (int p = 0; p < 2; ++p) AddMinimums(unit[p * blocks], a, first, acc[p]);
    }
  }

  // The panels p and p + 1.
  static void Panels(const TileArgs& args, int64_t p) {
    const int64_t blocks = args.cols / kBlockCols;
    const Unit* units = reinterpret_cast<const Unit*>(args.panels) + p * blocks;
    const Tile* tile = reinterpret_cast<const Tile*>(args.tile);
    const ReadAhead ahead = args.ahead;
#pragma GCC unroll 1
    for (int first = 0; first < MR; first += kTokens) {
      __m512 acc[2][kTokens];
#pragma GCC unroll 8
      for (int m = 0; m < kTokens; ++m) acc[0][m] = acc[1][m] = _mm512_setzero_ps();
#pragma GCC unroll 1
      for (int64_t b = 0; b < blocks; ++b) AddBlock(units + b, blocks, tile[b], ahead, first, acc);
#pragma GCC unroll 8
      for (int m = 0; m < kTokens; ++m) {
        float* row = args.out + p * kPanelRows + (first + m) * args.out_stride;
        _mm512_storeu_ps(row, acc[0][m]);
        _mm512_storeu_ps(row + kPanelRows, acc[1][m]);
      }
    }
  }

  static void Run(const TileArgs& args) {
    static_assert(kBlocksOf<Unit> == 1);
    int64_t p = 0;
    // A token alone waits for memory, which is read fastest as one stream.
    if constexpr (MR > 1) {
      for (; p + 2 <= args.panel_count; p += 2) Panels(args, p);
    }
    for (; p < args.panel_count; ++p) Single::Panel(args, p);
  }
};

// kNV4: a scale for each 16 columns, while the activations carry the sums of 32.
template <int MR>
struct NV4Kernel {
  using Tile = Block32Tile<MR>;
  static constexpr int kChainTokens = kHalfChains<MR>;

  // Where the dot products of the halves of some blocks start: minus the weights' offset times the
  // sums of their activations. Once for all panels: for each one that is 4 dot products for 8.
  struct Starts {
    static constexpr int64_t kUnits = 256 / MR;  // 4 KiB
    int32_t low[2 * kUnits][MR];
    int32_t high[2 * kUnits][MR];

    [[gnu::always_inline]] void Fill(const Tile* tile, int64_t units) {
      const __m128i offset = _mm_set1_epi8(-128);  // 128, unsigned
      for (int64_t b = 0; b < 2 * units; ++b) {
#pragma GCC unroll 16
        for (int m = 0; m < MR; ++m) {
          const __m128i q = _mm_loadu_si128(reinterpret_cast<const __m128i*>(tile[b].q[m]));
          __m128i sum = _mm_dpbusd_epi32(_mm_setzero_si128(), offset, q);
          sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, _MM_SHUFFLE(1, 0, 3, 2)));
          sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, _MM_SHUFFLE(2, 3, 0, 1)));
          const int32_t first = _mm_cvtsi128_si32(sum);
          low[b][m] = -first;
          high[b][m] = tile[b].corr128[m] + first;
        }
      }
    }
  };

  [[gnu::always_inline]] static void AddBlock(const Weights& w, const __m512 (&d)[2], const Tile& a,
                                              const Starts& starts, int64_t b, __m512 (&acc)[MR]) {
#pragma GCC unroll 16
    for (int m = 0; m < MR; m += kChainTokens) {
      __m512i low[kChainTokens];
      __m512i high[kChainTokens];
#pragma GCC unroll 2
      for (int j = 0; j < kChainTokens; ++j) {
        low[j] = Broadcast(&starts.low[b][m + j]);
        high[j] = Broadcast(&starts.high[b][m + j]);
      }
      AddHalfDots<32>(w, a.q[m], low, high);
#pragma GCC unroll 2
      for (int j = 0; j < kChainTokens; ++j) {
        const __m512 da = _mm512_set1_ps(a.da[m + j]);
        const __m512 sum =
            _mm512_fmadd_ps(_mm512_cvtepi32_ps(low[j]), _mm512_mul_ps(d[0], da), acc[m + j]);
        acc[m + j] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(high[j]), _mm512_mul_ps(d[1], da), sum);
      }
    }
  }

  // Consecutive units of a panel.
  struct Part {
    const UnitNV4* unit;
    const Tile* tile;
    int64_t units;
    bool begins;  // else `out` has the sums of the units before
    ReadAhead ahead;
  };

  static void AddPart(const Part& part, const Starts& starts, float* out, int64_t out_stride) {
    __m512 acc[MR];
#pragma GCC unroll 16
    for (int m = 0; m < MR; ++m) {
      acc[m] = part.begins ? _mm512_setzero_ps() : _mm512_loadu_ps(out + m * out_stride);
    }
    for (int64_t u = 0; u < part.units; ++u) {
      const UnitNV4& unit = part.unit[u];
      for (int b = 0; b < 2; ++b) {
        PrefetchAhead<sizeof(UnitNV4) / 2>(part.ahead, &unit, b);
        Weights w;
        UnpackBlock(unit.blocks[b], w);
        const __m512 d[2] = {LoadE4M3(unit, 2 * b), LoadE4M3(unit, 2 * b + 1)};
        AddBlock(w, d, part.tile[2 * u + b], starts, 2 * u + b, acc);
      }
    }
#pragma GCC unroll 16
    for (int m = 0; m < MR; ++m) _mm512_storeu_ps(out + m * out_stride, acc[m]);
  }

  static void Run(const TileArgs& args) {
    const int64_t panel_units = args.cols / (2 * kBlockCols);
    const auto* units = reinterpret_cast<const UnitNV4*>(args.panels);
    const auto* tile = reinterpret_cast<const Tile*>(args.tile);
    Starts starts;
    for (int64_t u = 0; u < panel_units; u += Starts::kUnits) {
      const int64_t left = panel_units - u;
      Part part = {.unit = units + u,
                   .tile = tile + 2 * u,
                   .units = left < Starts::kUnits ? left : Starts::kUnits,
                   .begins = u == 0,
                   .ahead = args.ahead};
      starts.Fill(part.tile, part.units);
      for (int64_t p = 0; p < args.panel_count; ++p, part.unit += panel_units) {
        AddPart(part, starts, args.out + p * kPanelRows, args.out_stride);
      }
    }
  }
};

template <int MR>
using Q8Kernel = Block32Kernel<UnitQ8, MR>;
template <int MR>
using Q8Pair = PairKernel<UnitQ8, MR>;
template <int MR>
using Q5Kernel = Block32Kernel<UnitQ5, MR>;
template <int MR>
using Q5Pair = PairKernel<UnitQ5, MR>;
template <int MR>
using Q5MKernel = Block32Kernel<UnitQ5M, MR>;
template <int MR>
using Q5MPair = PairKernel<UnitQ5M, MR>;
template <int MR>
using Q4Kernel = Block32Kernel<UnitQ4, MR>;
template <int MR>
using Q4Pair = PairKernel<UnitQ4, MR>;
template <int MR>
using Q4MKernel = Block32Kernel<UnitQ4M, MR>;
template <int MR>
using Q4MPair = PairKernel<UnitQ4M, MR>;
template <int MR>
using I4NLKernel = Block32Kernel<UnitI4NL, MR>;
template <int MR>
using I4NLPair = PairKernel<UnitI4NL, MR>;
template <int MR>
using MX4Kernel = Block32Kernel<UnitMX4, MR>;
template <int MR>
using MX4Pair = PairKernel<UnitMX4, MR>;
template <int MR>
using Q1Kernel = Block32Kernel<UnitQ1, MR>;
template <int MR>
using Q2Kernel = Block32Kernel<UnitQ2, MR>;

// Constants: nothing of the standard library is called inside of the region.
constexpr MatmulWay kQ8Ways[] = {{"a panel", kByTiles<PanelType::kQ8, Q8Kernel>},
                                 {"two panels", kByTiles<PanelType::kQ8, Q8Pair>}};
constexpr MatmulWay kQ5Ways[] = {{"a panel", kByTiles<PanelType::kQ5, Q5Kernel>},
                                 {"two panels", kByTiles<PanelType::kQ5, Q5Pair>}};
constexpr MatmulWay kQ5MWays[] = {{"a panel", kByTiles<PanelType::kQ5M, Q5MKernel>},
                                  {"two panels", kByTiles<PanelType::kQ5M, Q5MPair>}};
constexpr MatmulWay kQ4Ways[] = {{"a panel", kByTiles<PanelType::kQ4, Q4Kernel>},
                                 {"two panels", kByTiles<PanelType::kQ4, Q4Pair>}};
constexpr MatmulWay kQ4MWays[] = {{"a panel", kByTiles<PanelType::kQ4M, Q4MKernel>},
                                  {"two panels", kByTiles<PanelType::kQ4M, Q4MPair>}};
constexpr MatmulWay kI4NLWays[] = {{"a panel", kByTiles<PanelType::kI4NL, I4NLKernel>},
                                   {"two panels", kByTiles<PanelType::kI4NL, I4NLPair>}};
constexpr MatmulWay kMX4Ways[] = {{"a panel", kByTiles<PanelType::kMX4, MX4Kernel>},
                                  {"two panels", kByTiles<PanelType::kMX4, MX4Pair>}};
constexpr MatmulWay kQ1Ways[] = {{"", kByTiles<PanelType::kQ1, Q1Kernel>}};
constexpr MatmulWay kQ2Ways[] = {{"", kByTiles<PanelType::kQ2, Q2Kernel>}};
constexpr MatmulWay kNV4Ways[] = {{"", kByTiles<PanelType::kNV4, NV4Kernel>}};

}  // namespace

void TokenOfQ8(const TileArgs& args) { Q8Kernel<1>::Run(args); }

}  // namespace skald::kernels::avx512

#include "kernels/isa/target_end.h"

namespace skald::kernels::avx512 {

std::span<const MatmulWay> Block32Ways(PanelType type) {
  switch (type) {
    case PanelType::kQ8: return kQ8Ways;
    case PanelType::kQ5: return kQ5Ways;
    case PanelType::kQ5M: return kQ5MWays;
    case PanelType::kQ4: return kQ4Ways;
    case PanelType::kQ4M: return kQ4MWays;
    case PanelType::kI4NL: return kI4NLWays;
    case PanelType::kMX4: return kMX4Ways;
    case PanelType::kQ1: return kQ1Ways;
    case PanelType::kQ2: return kQ2Ways;
    case PanelType::kNV4: return kNV4Ways;
    default: return {};
  }
}

}  // namespace skald::kernels::avx512
