/// Weights that are unpacked to bytes once for many tokens, and the loops over them. Include inside
/// of a target region, as super_avx512_generic.h.
///
/// A tile of 16 tokens unpacks what it multiplies; of 512 tokens 32 tiles would do that, each anew.
/// Up to so many tokens it pays to unpack for each tile; for more it pays to unpack once and read
/// more bytes (docs/log.md, 2026-11-30): kFewTokens of what is quickly unpacked, half a tile of
/// codebooks.
#pragma once

#include "kernels/isa/intrinsics.h"
#include "kernels/matmul/dots_avx512.h"
#include "kernels/matmul/low_bit_avx512.h"
#include "kernels/matmul/matmul_generic.h"
#include "kernels/matmul/super_avx512_generic.h"
#include "kernels/matmul/variants.h"
#include "kernels/matmul/weights_avx512.h"
#include "kernels/pack/unit_layout.h"
#include "kernels/quantize/tile_layout.h"

// As in super_avx512_generic.h.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpsabi"

namespace skald::kernels::avx512 {

inline constexpr int kFewTokens = 2 * kTileTokens;
inline constexpr int kFewOfCodes = kTileTokens / 2;

// A unit with a scale for each 16 columns, unpacked.
struct UnpackedUnit {
  float d[16];
  int8_t scales[16][16];    // [sub-block][row]
  uint8_t q[16][4][16][4];  // [sub-block][k4][row][c]
};
template <>
inline constexpr int kOffsetOf<UnpackedUnit> = 64;
[[gnu::always_inline]] inline __m512 LoadScales(const UnpackedUnit& unit) {
  return _mm512_loadu_ps(unit.d);
}

// kPanels panels of UnpackedUnit at once, 16 columns at a step: so 16 sums and the weights of a
// step are in registers. Two panels share what is loaded of a token. That matters where a core
// starts two loads and two dot products a cycle, but not always both: dots with an operand in
// memory reach 357 of 449 GMAC/s on Zen 5, those that share it 400.
template <int kPanels, int MR>
struct UnpackedKernel {
  static constexpr int kAtOnce = GroupOf(MR, kTileTokens / kPanels);
  static constexpr int kChainTokens = kHalfChains<kAtOnce>;
  using Tile = Block128Tile<MR>;
  using Units = const UnpackedUnit* [kPanels];
  using Sums = __m512i[kPanels][kAtOnce];
  // What the columns so far have added up to. In memory, since a step needs all registers.
  struct Outputs {
    alignas(64) float of[kPanels][kAtOnce][kPanelRows];
  };

  // Adds a sub-block of the units to the sums of the tokens from `first` on; `a` is the half of
  // them that it is in. Indices are as wide as addresses, else each step extends them (4 %).
  [[gnu::always_inline]] static void AddColumns(const Units& units, int64_t block, const Tile& a,
                                                int64_t first, Sums& sums) {
    const int64_t i = block % 8;
    __m512i w[kPanels][4];
    __m512i scales[kPanels];
#pragma GCC unroll 2
    for (int p = 0; p < kPanels; ++p) {
#pragma GCC unroll 4
      for (int k = 0; k < 4; ++k) w[p][k] = Load(units[p]->q[block][k]);
      scales[p] = LoadBytes(units[p]->scales[block]);
    }
    const int8_t* q = a.q[i / 4][first] + 16 * (i % 4);
#pragma GCC unroll 16
    for (int m = 0; m < kAtOnce; m += kChainTokens) {
      __m512i dots[kPanels][kChainTokens];
#pragma GCC unroll 2
      for (int j = 0; j < kChainTokens; ++j) {
        const __m512i start = CorrectionFor<kOffsetOf<UnpackedUnit>>(&a.corr32[i][first + m + j]);
#pragma GCC unroll 2
        for (int p = 0; p < kPanels; ++p) dots[p][j] = start;
      }
#pragma GCC unroll 4
      for (int k = 0; k < 4; ++k) {
#pragma GCC unroll 2
        for (int j = 0; j < kChainTokens; ++j) AddToken(w, k, q + 64 * (m + j) + 4 * k, j, dots);
      }
#pragma GCC unroll 2
      for (int j = 0; j < kChainTokens; ++j) {
#pragma GCC unroll 2
        for (int p = 0; p < kPanels; ++p) {
          sums[p][m + j] = AddTo(sums[p][m + j], _mm512_mullo_epi32(dots[p][j], scales[p]));
        }
      }
    }
  }

  // Four columns of token j of the chains, which start at q.
  [[gnu::always_inline]] static void AddToken(const __m512i (&w)[kPanels][4], int k,
                                              const int8_t* q, int j,
                                              __m512i (&dots)[kPanels][kChainTokens]) {
    if constexpr (kPanels == 1) {
      dots[0][j] = AddDot(dots[0][j], w[0][k], q);
    } else {
      const __m512i token = Broadcast(q);
#pragma GCC unroll 2
      for (int p = 0; p < kPanels; ++p) dots[p][j] = AddDot(dots[p][j], w[p][k], token);
    }
  }

  // Adds half a unit of each panel.
  [[gnu::always_inline]] static void AddHalf(const Units& units, int64_t half, const Tile& a,
                                             int64_t first, Outputs& outputs) {
    Sums sums;
#pragma GCC unroll 16
    for (int m = 0; m < kAtOnce; ++m) {
#pragma GCC unroll 2
      for (int p = 0; p < kPanels; ++p) sums[p][m] = _mm512_setzero_si512();
    }
#pragma GCC unroll 1
    for (int64_t b = 8 * half; b < 8 * half + 8; ++b) AddColumns(units, b, a, first, sums);
#pragma GCC unroll 2
    for (int p = 0; p < kPanels; ++p) {
      const __m512 d = LoadScales(*units[p]);
#pragma GCC unroll 16
      for (int m = 0; m < kAtOnce; ++m) {
        const __m512 t = _mm512_mul_ps(_mm512_cvtepi32_ps(sums[p][m]), d);
        const __m512 da = _mm512_set1_ps(a.da[first + m]);
        float* output = outputs.of[p][m];
        _mm512_store_ps(output, _mm512_fmadd_ps(t, da, _mm512_load_ps(output)));
      }
    }
  }

  // The panels from `panel` on, for the tokens from `first` on.
  static void Tokens(const TileArgs& args, int64_t panel, int64_t first) {
    const int64_t supers = args.cols / kSuperCols;
    const Tile* tile = reinterpret_cast<const Tile*>(args.tile);
    float* out = args.out + first * args.out_stride + panel * kPanelRows;
    Units units;
    Outputs outputs;
#pragma GCC unroll 2
    for (int p = 0; p < kPanels; ++p) {
      units[p] = reinterpret_cast<const UnpackedUnit*>(args.panels) + (panel + p) * supers;
      for (int m = 0; m < kAtOnce; ++m) {
        const float* before = out + m * args.out_stride + p * kPanelRows;
        _mm512_store_ps(outputs.of[p][m],
                        args.continues ? _mm512_loadu_ps(before) : _mm512_setzero_ps());
      }
    }
#pragma GCC unroll 1
    for (int64_t s = 0; s < supers; ++s) {
#pragma GCC unroll 1
      for (int64_t half = 0; half < 2; ++half) {
        AddHalf(units, half, tile[2 * s + half], first, outputs);
      }
#pragma GCC unroll 2
      for (int p = 0; p < kPanels; ++p) ++units[p];
    }
    for (int p = 0; p < kPanels; ++p) {
      for (int m = 0; m < kAtOnce; ++m) {
        _mm512_storeu_ps(out + m * args.out_stride + p * kPanelRows,
                         _mm512_load_ps(outputs.of[p][m]));
      }
    }
  }

  static void Panels(const TileArgs& args, int64_t panel) {
    for (int first = 0; first < MR; first += kAtOnce) Tokens(args, panel, first);
  }
};

template <int MR>
struct ByPanel {
  static void Run(const TileArgs& args) {
    for (int64_t p = 0; p < args.panel_count; ++p) UnpackedKernel<1, MR>::Panels(args, p);
  }
};

template <int MR>
struct ByTwoPanels {
  static void Run(const TileArgs& args) {
    const int64_t even = args.panel_count / 2 * 2;
    for (int64_t p = 0; p < even; p += 2) UnpackedKernel<2, MR>::Panels(args, p);
    if (even < args.panel_count) UnpackedKernel<1, MR>::Panels(args, even);
  }
};

template <typename Unpacker, typename Unit>
[[gnu::always_inline]] inline void UnpackUnit(const Unit& unit, UnpackedUnit& out) {
  const __m512i more = _mm512_set1_epi8(kOffsetOf<UnpackedUnit> - kOffsetOf<Unit>);
  _mm512_storeu_ps(out.d, LoadScales(unit));
#pragma GCC unroll 1
  for (int b = 0; b < kSuperBlocks; ++b) {
    const HalfScales scales = HalfScalesOf(unit, b);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out.scales[2 * b]),
                     _mm512_cvtepi32_epi8(scales.low));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out.scales[2 * b + 1]),
                     _mm512_cvtepi32_epi8(scales.high));
    Weights w;
    Unpacker::Unpack(unit, b, w);
#pragma GCC unroll 8
    for (int k = 0; k < 8; ++k) {
      _mm512_storeu_si512(out.q[2 * b + k / 4][k % 4], _mm512_add_epi8(w[k], more));
    }
  }
}

// What is unpacked at a time: so many panels, of each so many units, some 270 KiB, a quarter to a
// half of L2. All tokens pass over it before the next columns come.
inline constexpr int64_t kPanelsAtOnce = 4;
inline constexpr int64_t kUnitsAtOnce = 8;
static_assert(kPanelsAtOnce * kUnitsAtOnce * int64_t{sizeof(UnpackedUnit)} <= kMatmulScratchBytes);

struct UnpackedPart {
  int64_t panel;  // the first
  int64_t panels;
  int64_t unit;  // the first of each panel
  int64_t units;
};

// All tokens times what is unpacked in the scratch.
template <TileFn kMultiply>
void MultiplyPart(const MatmulArgs& args, const UnpackedPart& part) {
  const int64_t token_bytes = ActivationBytes(ActivationFormat::kBlock128, args.cols);
  const int64_t skipped = ActivationBytes(ActivationFormat::kBlock128, part.unit * kSuperCols);
  for (int64_t first = 0; first < args.tokens;) {
    const int tokens = NextTileTokens(args.tokens - first);
    kMultiply({.panels = args.scratch,
               .panel_count = part.panels,
               .cols = part.units * kSuperCols,
               .tile = args.tiles + first * token_bytes + tokens * skipped,
               .tokens = tokens,
               .out = args.out + first * args.out_stride + part.panel * kPanelRows,
               .out_stride = args.out_stride,
               .continues = part.unit > 0});
    first += tokens;
  }
}

// std::min is not called inside of a target region.
[[gnu::always_inline]] inline int64_t AtMost(int64_t most, int64_t count) {
  return count < most ? count : most;
}

// A MatmulFn. Unpacker: how a block is unpacked, local to the region.
template <typename Unit, typename Unpacker, TileFn kMultiply>
void UnpackedOnce(const MatmulArgs& args) {
  const int64_t supers = args.cols / kSuperCols;
  const auto* packed = reinterpret_cast<const Unit*>(args.panels);
  auto* unpacked = reinterpret_cast<UnpackedUnit*>(args.scratch);
  for (int64_t p = 0; p < args.panel_count; p += kPanelsAtOnce) {
    const int64_t panels = AtMost(kPanelsAtOnce, args.panel_count - p);
    for (int64_t s = 0; s < supers; s += kUnitsAtOnce) {
      const int64_t units = AtMost(kUnitsAtOnce, supers - s);
      for (int64_t u = 0; u < panels * units; ++u) {
        UnpackUnit<Unpacker>(packed[(p + u / units) * supers + s + u % units], unpacked[u]);
      }
      MultiplyPart<kMultiply>(args, {.panel = p, .panels = panels, .unit = s, .units = units});
    }
  }
}

// A MatmulFn: kFew for up to kTokens tokens, and unpacked once for more.
template <typename Unit, typename Unpacker, int kTokens, MatmulFn kFew>
void OnceForMany(const MatmulArgs& args) {
  if (args.tokens <= kTokens) return kFew(args);
  UnpackedOnce<Unit, Unpacker, MultiplyUnpacked>(args);
}

// A codebook.
template <typename Unit, typename Unpacker>
struct CodesOf {
  template <int MR>
  using Kernel = SuperKernel<HalvesPolicy<Unit, Unpacker, MR>, MR>;
};
template <PanelType kType, typename Unit, typename Unpacker>
constexpr MatmulFn kCodes =
    OnceForMany<Unit, Unpacker, kFewOfCodes,
                kByTiles<kType, CodesOf<Unit, Unpacker>::template Kernel, kFewOfCodes>>;

}  // namespace skald::kernels::avx512

#pragma GCC diagnostic pop
