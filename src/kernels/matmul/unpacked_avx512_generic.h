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

// A unit with a scale for each 16 columns, unpacked. A form says what its weights and scales are.
struct UnpackedUnit {
  float d[16];
  uint8_t q[16][4][16][4];  // [sub-block][k4][row][c]
  int32_t scales[16][16];   // [sub-block][row]
};

// Forms: how the scales of 16 columns come in.
//   kOffset   is added to each unpacked weight
//   kChains   dot products that 16 columns of a token are cut into, each of which is scaled; 0 if
//             none is
//   ScalesOf  what is stored of the scales of 16 rows
//   Add       sum + dots * scales
//   Starts    where the dot products of MR tokens and half a unit start: minus kOffset times sums
//             of activations; that of the next token is kStride behind. Made once for all panels:
//             a shift for each block and token would be a tenth of what Intel's cores have to do
//             on the ports of the dots.

// x * kFactor, modulo 2^32: the bytes that a trial multiplies are no sums of activations.
template <uint32_t kFactor>
[[gnu::always_inline]] inline int32_t Times(int32_t x) {
  return static_cast<int32_t>(static_cast<uint32_t>(x) * kFactor);
}

// 32-bit multiplications and additions: on the ports of the dots three instructions of Intel's
// cores, one of AMD's.
struct ScaledByProducts {
  static constexpr int kOffset = 64;
  static constexpr int kChains = 1;

  [[gnu::always_inline]] static __m512i ScalesOf(__m512i scales) { return scales; }
  [[gnu::always_inline]] static __m512i Add(__m512i sum, __m512i dots, __m512i scales) {
    return AddTo(sum, _mm512_mullo_epi32(dots, scales));
  }

  template <int MR>
  struct Starts {
    int32_t of[8][MR];

    [[gnu::always_inline]] void Fill(const Block128Tile<MR>& a) {
      for (int i = 0; i < 8; ++i) {
        for (int m = 0; m < MR; ++m) of[i][m] = Times<kOffset / 32>(a.corr32[i][m]);
      }
    }
    static constexpr int kStride = 1;
    [[gnu::always_inline]] const int32_t* At(int64_t i, int64_t m) const { return &of[i][m]; }
  };
};

// For weights of -32..31. A dot product of 8 columns is at most 32 * 127 * 8 = 32512 and fits
// int16: so vpdpwssd multiplies and adds, two instructions for 16 columns.
struct ScaledByPairs {
  static constexpr int kOffset = 32;
  static constexpr int kChains = 2;

  // The high int16 of a dot product meets zeros.
  [[gnu::always_inline]] static __m512i ScalesOf(__m512i scales) {
    return _mm512_and_si512(scales, _mm512_set1_epi32(0xffff));
  }
  [[gnu::always_inline]] static __m512i Add(__m512i sum, __m512i dots, __m512i scales) {
    return AddPairs(sum, dots, scales);
  }

  template <int MR>
  struct Starts {
    int32_t of[2][MR][8];  // [64 columns][token][8 columns]

    [[gnu::always_inline]] void Fill(const Block128Tile<MR>& a) {
      const __m512i offset = _mm512_set1_epi8(kOffset);
      for (int i = 0; i < 2; ++i) {
        for (int m = 0; m < MR; ++m) {
          const __m512i q = _mm512_loadu_si512(a.q[i][m]);
          const __m512i fours = _mm512_dpbusd_epi32(_mm512_setzero_si512(), offset, q);
          const __m512i eights = _mm512_add_epi32(fours, _mm512_srli_epi64(fours, 32));
          const __m256i sums = _mm512_cvtepi64_epi32(eights);
          _mm256_storeu_si256(reinterpret_cast<__m256i*>(of[i][m]),
                              _mm256_sub_epi32(_mm256_setzero_si256(), sums));
        }
      }
    }
    static constexpr int kStride = 8;
    [[gnu::always_inline]] const int32_t* At(int64_t i, int64_t m) const {
      return &of[i / 4][m][2 * (i % 4)];
    }
  };
};

// For weights of -4..3 and scales of -32..31, whose products are -124..128 and fit a byte: they are
// the weights.
struct ScaledWeights {
  static constexpr int kOffset = 124;
  static constexpr int kChains = 0;

  [[gnu::always_inline]] static __m512i ScalesOf(__m512i scales) { return scales; }

  template <int MR>
  struct Starts {
    int32_t of[MR];

    [[gnu::always_inline]] void Fill(const Block128Tile<MR>& a) {
      for (int m = 0; m < MR; ++m) {
        uint32_t corr32 = 0;
        for (int i = 0; i < 8; ++i) corr32 += static_cast<uint32_t>(a.corr32[i][m]);
        of[m] = Times<kOffset>(static_cast<int32_t>(corr32) / 32);  // a multiple of 32
      }
    }
    [[gnu::always_inline]] const int32_t* At(int64_t m) const { return &of[m]; }
  };
};

// kPanels panels of UnpackedUnit at once, 16 columns at a step: so 16 sums and the weights of a
// step are in registers. Two panels share what is loaded of a token. That matters where a core
// starts two loads and two dot products a cycle, but not always both: dots with an operand in
// memory reach 357 of 449 GMAC/s on Zen 5, those that share it 400. On Intel's cores they cost
// nothing.
template <typename Form, int kPanels, int MR>
struct UnpackedKernel {
  static constexpr int kAtOnce = GroupOf(MR, kTileTokens / kPanels);
  using Tile = Block128Tile<MR>;
  using Starts = typename Form::template Starts<MR>;
  using Units = const UnpackedUnit* [kPanels];
  using Step = __m512i[kPanels][4];
  using Sums = __m512i[kPanels][kAtOnce];
  template <int kCount>
  using Dots = __m512i[kPanels][kCount];
  // What the columns so far have added up to. In memory, since a step needs all registers.
  struct Outputs {
    alignas(64) float of[kPanels][kAtOnce][kPanelRows];
  };

  template <int kCount>
  [[gnu::always_inline]] static void StartAt(const int32_t* start, int j, Dots<kCount>& dots) {
    const __m512i value = Broadcast(start);
#pragma GCC unroll 2
    for (int p = 0; p < kPanels; ++p) dots[p][j] = value;
  }

  // dots[.][j] += four columns of the weights times those of a token at q.
  template <int kCount>
  [[gnu::always_inline]] static void AddToken(const Step& w, int k, const int8_t* q, int j,
                                              Dots<kCount>& dots) {
    if constexpr (kPanels == 1) {
      dots[0][j] = AddDot(dots[0][j], w[0][k], q);
    } else {
      const __m512i token = Broadcast(q);
#pragma GCC unroll 2
      for (int p = 0; p < kPanels; ++p) dots[p][j] = AddDot(dots[p][j], w[p][k], token);
    }
  }

  // Adds a sub-block of the units to the sums of the tokens from `first` on; `a` is the half of
  // them that it is in. Indices are as wide as addresses, else each step extends them (4 %).
  [[gnu::always_inline]] static void AddColumns(const Units& units, int64_t block, const Tile& a,
                                                const Starts& starts, int64_t first, Sums& sums) {
    const int64_t i = block % 8;
    Step w;
#pragma GCC unroll 2
    for (int p = 0; p < kPanels; ++p) {
#pragma GCC unroll 4
      for (int k = 0; k < 4; ++k) w[p][k] = Load(units[p]->q[block][k]);
    }
    const int8_t* q = Unindexed(a.q[i / 4][first] + 16 * (i % 4));
    if constexpr (Form::kChains == 0) {
#pragma GCC unroll 4
      for (int k = 0; k < 4; ++k) {
#pragma GCC unroll 16
        for (int m = 0; m < kAtOnce; ++m) AddToken<kAtOnce>(w, k, q + 64 * m + 4 * k, m, sums);
      }
    } else {
      __m512i scales[kPanels];
#pragma GCC unroll 2
      for (int p = 0; p < kPanels; ++p) scales[p] = Load(units[p]->scales[block]);
      const int32_t* start = Unindexed(starts.At(i, first));
#pragma GCC unroll 16
      for (int m = 0; m < kAtOnce; m += kGroup) {
        AddScaled(w, scales, q + 64 * m, start + Starts::kStride * m, m, sums);
      }
    }
  }

  // Tokens whose dot products are interleaved: as many as there are registers for.
  static constexpr int kGroup =
      Form::kChains == 0 ? 0 : GroupOf(kAtOnce, (kPanels == 1 ? 8 : 2) / Form::kChains);
  static constexpr int kDots = kGroup * Form::kChains;

  // Adds kGroup tokens to sums[.][m] and those behind it. The first of them is at q, and its dot
  // products start with what is at `start`.
  [[gnu::always_inline]] static void AddScaled(const Step& w, const __m512i (&scales)[kPanels],
                                               const int8_t* q, const int32_t* start, int m,
                                               Sums& sums) {
    constexpr int kLength = 4 / Form::kChains;
    Dots<kDots> dots;
#pragma GCC unroll 8
    for (int d = 0; d < kDots; ++d) {
      const int j = d / Form::kChains;
      StartAt<kDots>(start + Starts::kStride * j + d % Form::kChains, d, dots);
    }
#pragma GCC unroll 4
    for (int k = 0; k < kLength; ++k) {
#pragma GCC unroll 8
      for (int d = 0; d < kDots; ++d) {
        const int column = d % Form::kChains * kLength + k;
        AddToken<kDots>(w, column, q + 64 * (d / Form::kChains) + 4 * column, d, dots);
      }
    }
#pragma GCC unroll 2
    for (int chain = 0; chain < Form::kChains; ++chain) {
#pragma GCC unroll 8
      for (int j = 0; j < kGroup; ++j) {
#pragma GCC unroll 2
        for (int p = 0; p < kPanels; ++p) {
          const __m512i dot = dots[p][j * Form::kChains + chain];
          sums[p][m + j] = Form::Add(sums[p][m + j], dot, scales[p]);
        }
      }
    }
  }

  // Adds half a unit of each panel.
  [[gnu::always_inline]] static void AddHalf(const Units& units, int64_t half, const Tile& a,
                                             const Starts& starts, int64_t first,
                                             Outputs& outputs) {
    Sums sums;
#pragma GCC unroll 16
    for (int m = 0; m < kAtOnce; ++m) {
      if constexpr (Form::kChains == 0) {
        StartAt<kAtOnce>(starts.At(first + m), m, sums);
      } else {
#pragma GCC unroll 2
        for (int p = 0; p < kPanels; ++p) sums[p][m] = _mm512_setzero_si512();
      }
    }
#pragma GCC unroll 1
    for (int64_t b = 8 * half; b < 8 * half + 8; ++b) AddColumns(units, b, a, starts, first, sums);
#pragma GCC unroll 2
    for (int p = 0; p < kPanels; ++p) {
      const __m512 d = _mm512_loadu_ps(units[p]->d);
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
  static void Tokens(const TileArgs& args, const Starts* starts, int64_t panel, int64_t first) {
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
        AddHalf(units, half, tile[2 * s + half], starts[2 * s + half], first, outputs);
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

  // The panels from `panel` on, as far as they are kPanels at a time. Returns the next.
  static int64_t Panels(const TileArgs& args, const Starts* starts, int64_t panel) {
    for (; panel + kPanels <= args.panel_count; panel += kPanels) {
      for (int first = 0; first < MR; first += kAtOnce) Tokens(args, starts, panel, first);
    }
    return panel;
  }
};

// What is unpacked at a time: so many panels, of each so many units, some 170 KiB, a tenth to a
// fifth of L2. All tokens pass over it before the next columns come.
inline constexpr int64_t kPanelsAtOnce = 4;
inline constexpr int64_t kUnitsAtOnce = 8;
static_assert(kPanelsAtOnce * kUnitsAtOnce * int64_t{sizeof(UnpackedUnit)} <= kMatmulScratchBytes);

// A tile of MR tokens times at most kUnitsAtOnce units of each panel.
template <typename Form, int kPanels>
struct UnpackedTile {
  template <int MR>
  struct Kernel {
    static void Run(const TileArgs& args) {
      using Most = UnpackedKernel<Form, kPanels, MR>;
      typename Most::Starts starts[2 * kUnitsAtOnce];
      const auto* tile = reinterpret_cast<const Block128Tile<MR>*>(args.tile);
      for (int64_t h = 0; h < 2 * (args.cols / kSuperCols); ++h) starts[h].Fill(tile[h]);
      const int64_t rest = Most::Panels(args, starts, 0);
      if constexpr (kPanels > 1) UnpackedKernel<Form, 1, MR>::Panels(args, starts, rest);
    }
  };
};
template <typename Form, int kPanels>
constexpr TileFn kMultiplyUnpacked = ForTileSize<UnpackedTile<Form, kPanels>::template Kernel>;

// Weights times the scales of their rows, modulo 256. One 16-bit multiplication of two bytes would
// carry from one into the other.
[[gnu::always_inline]] inline __m512i TimesScales(__m512i w, __m512i scales) {
  const __m512i bytes = _mm512_set1_epi16(0xff);
  const __m512i even = _mm512_mullo_epi16(_mm512_and_si512(w, bytes), scales);
  const __m512i odd = _mm512_mullo_epi16(_mm512_srli_epi16(w, 8), scales);
  return _mm512_or_si512(_mm512_and_si512(even, bytes), _mm512_slli_epi16(odd, 8));
}

// `scales` of the rows of w, which has the offset of its unit.
template <typename Form, typename Unit>
[[gnu::always_inline]] inline __m512i WeightsOf(__m512i w, __m512i scales) {
  if constexpr (Form::kChains == 0) {
    const __m512i pairs = Twice(scales);
    const __m512i offset = _mm512_set1_epi8(kOffsetOf<Unit>);
    const __m512i zero = TimesScales(offset, pairs);
    const __m512i products = _mm512_sub_epi8(TimesScales(w, pairs), zero);
    return _mm512_add_epi8(products, _mm512_set1_epi8(Form::kOffset));
  } else {
    return _mm512_add_epi8(w, _mm512_set1_epi8(Form::kOffset - kOffsetOf<Unit>));
  }
}

template <typename Form, typename Unpacker, typename Unit>
[[gnu::always_inline]] inline void UnpackUnit(const Unit& unit, UnpackedUnit& out) {
  _mm512_storeu_ps(out.d, LoadScales(unit));
#pragma GCC unroll 1
  for (int b = 0; b < kSuperBlocks; ++b) {
    const HalfScales scales = HalfScalesOf(unit, b);
    _mm512_storeu_si512(out.scales[2 * b], Form::ScalesOf(scales.low));
    _mm512_storeu_si512(out.scales[2 * b + 1], Form::ScalesOf(scales.high));
    Weights w;
    Unpacker::Unpack(unit, b, w);
#pragma GCC unroll 8
    for (int k = 0; k < 8; ++k) {
      _mm512_storeu_si512(out.q[2 * b + k / 4][k % 4],
                          WeightsOf<Form, Unit>(w[k], k < 4 ? scales.low : scales.high));
    }
  }
}

struct UnpackedPart {
  int64_t panel;  // the first
  int64_t panels;
  int64_t unit;  // the first of each panel
  int64_t units;
};

// All tokens times what is unpacked in the scratch. Inlined, since nothing in its name is local to
// a region: one function for two would be that of either.
template <TileFn kMultiply>
[[gnu::always_inline]] inline void MultiplyPart(const MatmulArgs& args, const UnpackedPart& part) {
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

// A MatmulFn. Unpacker: how a block is unpacked, local to the region. kMultiply: that of the form.
template <typename Form, typename Unit, typename Unpacker, TileFn kMultiply>
void UnpackedOnce(const MatmulArgs& args) {
  const int64_t supers = args.cols / kSuperCols;
  const auto* packed = reinterpret_cast<const Unit*>(args.panels);
  auto* unpacked = reinterpret_cast<UnpackedUnit*>(args.scratch);
  for (int64_t p = 0; p < args.panel_count; p += kPanelsAtOnce) {
    const int64_t panels = AtMost(kPanelsAtOnce, args.panel_count - p);
    for (int64_t s = 0; s < supers; s += kUnitsAtOnce) {
      const int64_t units = AtMost(kUnitsAtOnce, supers - s);
      for (int64_t u = 0; u < panels * units; ++u) {
        UnpackUnit<Form, Unpacker>(packed[(p + u / units) * supers + s + u % units], unpacked[u]);
      }
      MultiplyPart<kMultiply>(args, {.panel = p, .panels = panels, .unit = s, .units = units});
    }
  }
}

// A MatmulFn: kFew for up to kTokens tokens, kMany for more.
template <int kTokens, MatmulFn kFew, MatmulFn kMany>
void OnceForMany(const MatmulArgs& args) {
  (args.tokens <= kTokens ? kFew : kMany)(args);
}

// A codebook.
template <typename Unit, typename Unpacker>
struct CodesOf {
  template <int MR>
  using Kernel = SuperKernel<HalvesPolicy<Unit, Unpacker, MR>, MR>;
};
template <PanelType kType, typename Unit, typename Unpacker>
constexpr MatmulFn kCodes =
    OnceForMany<kFewOfCodes, kByTiles<kType, CodesOf<Unit, Unpacker>::template Kernel, kFewOfCodes>,
                UnpackedOnce<ScaledByProducts, Unit, Unpacker, MultiplyUnpacked>>;

}  // namespace skald::kernels::avx512

#pragma GCC diagnostic pop
