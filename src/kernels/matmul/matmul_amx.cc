// The AMX matmul: tiles of 16 tokens times panels of 16 rows, 1024 multiply-accumulates a cycle and
// core instead of the 128 of vpdpbusd.
//
// The tile unit multiplies bytes and adds up int32; scales and floats are the vector unit's work,
// which is the narrower part. So what the vectors do to a sum of the tile unit is kept small:
//
//   K types    The integer scales are folded into the weights, once for all tokens: the product of
//              a weight and its scale has up to 14 bits and is cut into a high and a low byte, each
//              a tile of its own. Then 128 columns add up in the tile unit, I = 256 high + low.
//
//                tile unit    2 tiles x 128 columns x 2 bytes: 8 products x 16 cycles = 128
//                vector unit  32 tokens x 9 instructions                               = 288
//
//   Block32    A float scale for each 32 columns, so a sum of 32 columns is converted and scaled:
//              16 cycles of the tile unit, 16 tokens x 3 instructions = 48 of vectors.
//
// Vectors of 512 bits have two ports, but one while instructions of tiles are under way, whichever:
// 192 such instructions take 100 cycles alone, and 192 beside four products, four stores or eight
// loads of tiles. So the vectors are the bound, and the tile unit works in their shadow: the
// products of one job are issued between the sums of the job before, in small steps, because the
// core looks 512 instructions ahead at most. (To take turns, some 16 KiB of sums each, has the same
// bound, as both ports are free then, and needs more of L1: slower, and by more where another
// program shares the core.)
//
// The loop nest: kGroup panels, all tokens of a block, and the columns outside, 256 at a time:
//
//     for 256 columns:       their activations, read once from L3    (180 KiB, stay in L2)
//       for kUnpacked panels:  unpack                                (8 KiB each, stay in L1)
//         for two tiles:     their activations, from L2              (5.5 KiB)
//           for panels:      products, sums, float accumulators      (kGroup x 32 KiB, L2)
//
// Every weight is unpacked once per kBlockTokens tokens, every activation comes into L2 once per
// kGroup panels. The order of the operations of an output element is that of the specification.

#include <algorithm>
#include <type_traits>

#include "base/check.h"
#include "kernels/isa/cpu.h"
#include "kernels/isa/intrinsics.h"
#include "kernels/matmul/low_bit_avx512.h"
#include "kernels/matmul/variants.h"
#include "kernels/matmul/weights_avx512.h"
#include "kernels/pack/unit_layout.h"
#include "kernels/quantize/tile_layout.h"

// clang-format off: the region must open before the templates and after everything else.
#include "kernels/isa/amx_tiles.h"
#include "kernels/isa/target_amx_begin.h"
// clang-format on

namespace skald::kernels::avx512 {
namespace {

using amx::kMinTokens;
using amx::LoadTile;
using amx::MultiplySigned;
using amx::MultiplyUnsigned;
using amx::StoreTile;
using amx::TileConfig;
using amx::TileSession;
using amx::ZeroTile;

// Tokens of a tile register.
constexpr int kTile = 16;
// Panels that share what L2 holds of the activations.
constexpr int kGroup = amx::kSharedPanels;
// Panels that share what L1 holds of the activations.
constexpr int kUnpacked = 2;
// Tokens that share an unpacked weight.
constexpr int kBlockTokens = 512;

// The sums of one tile register: [token][row].
using TileSums = int32_t[kTile][16];

// Floats of an output block: [panel][token][row].
using Accumulators = float[kBlockTokens][16];

// ---------------------------------------------------------------------------------------------
// K types.

// One panel of a unit: scale times weight in two bytes, 64 columns a tile.
struct alignas(64) FoldedUnit {
  uint8_t low[4][16][64];  // [64 columns][k4][4 * row + c]
  int8_t high[4][16][64];
  __m512i minimums[8];  // int16 pairs, see MinimumPairs
  __m512 d;
  __m512 dmin;
};

// Both bytes of weight times scale. w: signed weights; scale: of each row, twice as int16.
[[gnu::always_inline]] inline void Fold(__m512i w, __m512i scale, uint8_t* low, int8_t* high) {
  constexpr __mmask64 kOdd = 0xaaaaaaaaaaaaaaaa;
  const __m512i even = _mm512_mullo_epi16(_mm512_srai_epi16(_mm512_slli_epi16(w, 8), 8), scale);
  const __m512i odd = _mm512_mullo_epi16(_mm512_srai_epi16(w, 8), scale);
  _mm512_store_si512(low, _mm512_mask_blend_epi8(kOdd, even, _mm512_slli_epi16(odd, 8)));
  _mm512_store_si512(high, _mm512_mask_blend_epi8(kOdd, _mm512_srli_epi16(even, 8), odd));
}

// Block b of a unit, with the scales of its columns 0..15 and 16..31.
[[gnu::always_inline]] inline void FoldBlock(const Weights& w, __m512i low_scale,
                                             __m512i high_scale, int b, FoldedUnit& folded) {
  const int first = 8 * (b % 2);
#pragma GCC unroll 8
  for (int k = 0; k < 8; ++k) {
    Fold(w[k], k < 4 ? low_scale : high_scale, folded.low[b / 2][first + k],
         folded.high[b / 2][first + k]);
  }
}

[[gnu::always_inline]] inline void UnpackWide(const UnitQ4K& unit, int b, Weights& w) {
  UnpackNibbles(unit.nibbles[b], w);
}
[[gnu::always_inline]] inline void UnpackWide(const UnitQ5K& unit, int b, Weights& w) {
  UnpackFive(unit.blocks[b], w);
}

// A scale and a minimum for each 32 columns: minimums[j] are those of the blocks 2 j and 2 j + 1.
template <typename Unit>
[[gnu::always_inline]] inline void FoldWide(const Unit& unit, FoldedUnit& folded) {
  const Scales6 scales(unit.scales);
  for (int b = 0; b < kSuperBlocks; ++b) {
    Weights w;
    UnpackWide(unit, b, w);
    const __m512i scale = Twice(scales.ScaleOf(b));
    FoldBlock(w, scale, scale, b, folded);
  }
  for (int j = 0; j < 4; ++j) folded.minimums[j] = scales.mins[j];
  folded.dmin = LoadHalves(unit.dmin);
}
void FoldUnit(const UnitQ4K& unit, FoldedUnit& folded) { FoldWide(unit, folded); }
void FoldUnit(const UnitQ5K& unit, FoldedUnit& folded) { FoldWide(unit, folded); }

// |value * scale| <= 127 * 32.
void FoldUnit(const UnitI4XS& unit, FoldedUnit& folded) {
  for (int b = 0; b < kSuperBlocks; ++b) {
    Weights w;
    UnpackValues(unit.nibbles[b], tensor::kIQ4Values, w);
#pragma GCC unroll 8
    for (int k = 0; k < 8; ++k) w[k] = _mm512_xor_si512(w[k], _mm512_set1_epi8(-128));
    const __m512i scale = Twice(LoadBytes(unit.scales[b]));
    FoldBlock(w, scale, scale, b, folded);
  }
}

// A scale and a minimum for each 16 columns: minimums[b] are those of the halves of block b.
void FoldUnit(const UnitQ2K& unit, FoldedUnit& folded) {
  for (int b = 0; b < kSuperBlocks; ++b) {
    Weights w;
    UnpackBlock(unit.blocks[b], w);
    const HalfScales scales = HalfScalesOf(unit, b);
    FoldBlock(w, Twice(scales.low), Twice(scales.high), b, folded);
    folded.minimums[b] = MinimumPairs(unit.scales[b]);
  }
  folded.dmin = LoadHalves(unit.dmin);
}

// A scale for each 16 columns: |(q - 4) * scale| <= 4 * 32 (kQ3K), |(q - 32) * scale| <= 32 * 128
// (kQ6K), |q * scale| <= 62 * 31 (codebooks).
template <typename Unit>
void FoldUnit(const Unit& unit, FoldedUnit& folded) {
  const __m512i offset = _mm512_set1_epi8(kOffsetOf<Unit>);
  for (int b = 0; b < kSuperBlocks; ++b) {
    Weights w;
    UnpackBlock(unit, b, w);
#pragma GCC unroll 8
    for (int k = 0; k < 8; ++k) w[k] = _mm512_sub_epi8(w[k], offset);
    const HalfScales scales = HalfScalesOf(unit, b);
    FoldBlock(w, Twice(scales.low), Twice(scales.high), b, folded);
  }
}

void FoldUnit(const UnitT2& unit, FoldedUnit& folded) {
  const __m512i one = _mm512_set1_epi16(1);
  for (int b = 0; b < kSuperBlocks; ++b) {
    Weights w;
    UnpackBlock(unit.blocks[b], w);
#pragma GCC unroll 8
    for (int k = 0; k < 8; ++k) w[k] = _mm512_sub_epi8(w[k], _mm512_set1_epi8(1));
    FoldBlock(w, one, one, b, folded);
  }
}

// What one turn of the pipeline computes: a part of the unpacked columns of one panel times one or
// two tiles of tokens. Tile: activations of one unit, of 16 tokens. None: nothing, count 0.
template <typename Unpacked, typename Tile>
struct Job {
  const Unpacked* weights;
  const Tile* tiles[2];  // at the first of the unpacked columns
  int part;
  int count;         // what it has of Policy::kCount: tiles (K types) or blocks
  float (*acc)[16];  // [token][row], from the first token of the first tile
};

// J of half a unit for one token, from `kPairs` pairs of sums.
template <int kPairs>
[[gnu::always_inline]] inline __m512i MinimumSum(const FoldedUnit& w, const int32_t (*pairs)[kTile],
                                                 int half, int m) {
  __m512i sum = _mm512_setzero_si512();
#pragma GCC unroll 4
  for (int i = 0; i < kPairs; ++i) {
    sum = AddPairs(sum, w.minimums[kPairs * half + i], &pairs[i][m]);
  }
  return sum;
}

// Policy of the K types. A part is half a unit; its sums are, for each tile, those of the low and
// of the high bytes.
template <typename WeightUnit>
struct SuperPolicy {
  using Unit = WeightUnit;
  using Unpacked = FoldedUnit;
  using Tile = Block128Tile<kTile>;
  static constexpr bool kHasMin = requires(const Unit& unit) { unit.dmin; };
  static constexpr bool kHasHalfMins = std::is_same_v<Unit, UnitQ2K>;
  static constexpr int kUnitCols = kSuperCols;
  static constexpr int kTileUnits = 2;  // units of activations to one of weights
  static constexpr int kUnitsAtOnce = 1;
  static constexpr int kTilesAtOnce = 2;
  static constexpr int kCount = kTilesAtOnce;
  static constexpr int kSteps = 8;  // of a turn, each with a product
  using PolicyJob = Job<Unpacked, Tile>;

  static int PartsOf(int) { return 2; }
  static int CountOf(int tiles, int /*units*/, int /*part*/) { return std::min(kCount, tiles); }

  static TileConfig Config() {
    TileConfig config;
    std::fill_n(config.row_bytes, 8, uint16_t{64});
    std::fill_n(config.rows, 8, uint8_t{16});
    return config;
  }

  static void Unpack(const Unit* unit, int, FoldedUnit& folded) {
    FoldUnit(*unit, folded);
    folded.d = LoadScales(*unit);
  }

  // Sums: 0 and 1 the low and the high bytes of the first tile, 2 and 3 of the second. 4 and 5
  // activations, 6 and 7 weights.
  [[gnu::always_inline]] static void Clear() {
    ZeroTile<0>();
    ZeroTile<1>();
    ZeroTile<2>();
    ZeroTile<3>();
  }
  template <int kStep>
  [[gnu::always_inline]] static void Multiply(const PolicyJob& job) {
    if (job.count == 0) return;
    constexpr int kColumns = kStep / 4;  // which 64 of the 128
    const int group = 2 * job.part + kColumns;
    if constexpr (kStep % 4 == 0) {
      LoadTile<4>(job.tiles[0][job.part].q[kColumns], 64);
      LoadTile<6>(job.weights->low[group], 64);
      MultiplyUnsigned<0, 4, 6>();
    } else if constexpr (kStep % 4 == 1) {
      LoadTile<7>(job.weights->high[group], 64);
      MultiplySigned<1, 4, 7>();
    } else if (job.count == kCount) {
      if constexpr (kStep % 4 == 2) {
        LoadTile<5>(job.tiles[1][job.part].q[kColumns], 64);
        MultiplyUnsigned<2, 5, 6>();
      } else {
        MultiplySigned<3, 5, 7>();
      }
    }
  }

  // What the minimums of a job meet, where the tiles have it in another form.
  struct Factors {
    alignas(64) int32_t pairs[2][4][kTile];
  };
  [[gnu::always_inline]] static void Prepare(const PolicyJob& job, Factors* factors) {
    if constexpr (kHasHalfMins) {
      for (int t = 0; t < job.count; ++t) {
        PairSums<kTile>(job.tiles[t][job.part], 0, factors->pairs[t]);
      }
    }
  }

  // Four tokens of one tile.
  template <int kStep>
  [[gnu::always_inline]] static void Accumulate(const PolicyJob& job, const Factors& factors,
                                                const TileSums* sums) {
    constexpr int kTileIndex = kStep / 4;
    constexpr int kFirst = kStep % 4 * 4;
    if (kTileIndex >= job.count) return;
    const FoldedUnit& w = *job.weights;
    const Tile& a = job.tiles[kTileIndex][job.part];
    float(*acc)[16] = job.acc + kTileIndex * kTile;
#pragma GCC unroll 4
    for (int m = kFirst; m < kFirst + 4; ++m) {
      const __m512i high = _mm512_slli_epi32(_mm512_load_si512(sums[2 * kTileIndex + 1][m]), 8);
      const __m512i sum = _mm512_add_epi32(high, _mm512_load_si512(sums[2 * kTileIndex][m]));
      __m512 scaled = _mm512_mul_ps(_mm512_cvtepi32_ps(sum), w.d);
      if constexpr (kHasMin) {
        const __m512i minimums = kHasHalfMins
                                     ? MinimumSum<4>(w, factors.pairs[kTileIndex], job.part, m)
                                     : MinimumSum<2>(w, a.sum_pairs, job.part, m);
        scaled = _mm512_fnmadd_ps(_mm512_cvtepi32_ps(minimums), w.dmin, scaled);
      }
      const __m512 before = _mm512_load_ps(acc[m]);
      _mm512_store_ps(acc[m], _mm512_fmadd_ps(scaled, _mm512_set1_ps(a.da[m]), before));
    }
  }
};

// ---------------------------------------------------------------------------------------------
// Block32: a float scale for each 32 columns.

constexpr int kBlocksAtOnce = 8;

// One panel of up to 8 blocks, the offset of the weights removed; kScales float scales a block.
template <int kScales>
struct alignas(64) SignedBlocks {
  int8_t q[kBlocksAtOnce][8][64];  // [block][k4][4 * row + c]
  __m512 d[kBlocksAtOnce * kScales];
  __m512 minimum[kBlocksAtOnce];
};

// Of weights with a minimum nothing: at most 31, they are signed as they are.
template <typename Unit>
[[gnu::always_inline]] inline __m512i RemoveOffset(const Unit& unit, __m512i w) {
  if constexpr (requires { unit.m; }) return w;
  return _mm512_sub_epi8(w, _mm512_set1_epi8(static_cast<char>(kOffsetOf<Unit>)));
}

// Tiles for sums.
constexpr int kSumsOfPart = 4;

// Policy of the 32-wide types. A job is one tile of tokens; its sums are those of the blocks, of
// kNV4 those of their halves.
template <typename WeightUnit>
struct Block32Policy {
  using Unit = WeightUnit;
  static constexpr int kScales = std::is_same_v<Unit, UnitNV4> ? 2 : 1;  // of a block
  static constexpr int kBlocksOfPart = kSumsOfPart / kScales;
  using Unpacked = SignedBlocks<kScales>;
  using Tile = Block32Tile<kTile>;
  static constexpr bool kHasMin = requires(const Unit& unit) { unit.m; };
  static constexpr int kBlocks = kBlocksOf<Unit>;
  static constexpr int kUnitCols = kBlocks * kBlockCols;
  static constexpr int kTileUnits = kBlocks;
  static constexpr int kUnitsAtOnce = kBlocksAtOnce / kBlocks;
  static constexpr int kTilesAtOnce = 1;
  static constexpr int kCount = kBlocksOfPart;
  static constexpr int kSteps = 4;  // of a turn, each with a product
  using PolicyJob = Job<Unpacked, Tile>;

  static int PartsOf(int units) { return (kBlocks * units + kBlocksOfPart - 1) / kBlocksOfPart; }
  static int CountOf(int /*tiles*/, int units, int part) {
    return std::min(kCount, kBlocks * units - kBlocksOfPart * part);
  }

  // Tiles 0..3 sums, 4 and 5 activations, 6 and 7 weights.
  static TileConfig Config() {
    TileConfig config;
    std::fill_n(config.row_bytes, 8, uint16_t{64});
    std::fill_n(config.rows, 8, uint8_t{16});
    config.row_bytes[4] = config.row_bytes[5] = 32 / kScales;
    config.rows[6] = config.rows[7] = 8 / kScales;
    return config;
  }

  static void Unpack(const Unit* units, int count, Unpacked& blocks) {
    for (int b = 0; b < kBlocks * count; ++b) {
      const Unit& unit = units[b / kBlocks];
      Weights w;
      UnpackColumns(unit, b % kBlocks, w);
      for (int k = 0; k < 8; ++k) {
        _mm512_store_si512(blocks.q[b][k], RemoveOffset(unit, w[k]));
      }
      if constexpr (kScales == 2) {
        blocks.d[2 * b] = LoadE4M3(unit, 2 * (b % kBlocks));
        blocks.d[2 * b + 1] = LoadE4M3(unit, 2 * (b % kBlocks) + 1);
      } else {
        blocks.d[b] = LoadScales(unit);
      }
      if constexpr (kHasMin) blocks.minimum[b] = LoadHalves(unit.m);
    }
  }

  [[gnu::always_inline]] static void Clear() {
    ZeroTile<0>();
    ZeroTile<1>();
    ZeroTile<2>();
    ZeroTile<3>();
  }
  template <int kStep>
  [[gnu::always_inline]] static void Multiply(const PolicyJob& job) {
    constexpr int kA = 4 + kStep % 2;
    constexpr int kB = 6 + kStep % 2;
    constexpr int kScale = kStep % kScales;
    if (kStep / kScales >= job.count) return;
    const int b = kBlocksOfPart * job.part + kStep / kScales;
    LoadTile<kA>(job.tiles[0][b].q[0] + 16 * kScale, 32);
    LoadTile<kB>(job.weights->q[b][4 * kScale], 64);
    MultiplySigned<kStep, kA, kB>();
  }

  // What is the same for all tokens of a job: scales, in registers; and what its minimums meet, the
  // scaled sums of the activations of each block. Of 16 tokens at a time: token by token they would
  // cost more than the products.
  struct Factors {
    __m512 scales[kSumsOfPart];
    alignas(64) float sums[kBlocksOfPart][kTile];
  };
  [[gnu::always_inline]] static void Prepare(const PolicyJob& job, Factors* factors) {
    const int first = kBlocksOfPart * job.part;
    for (int s = 0; s < kScales * job.count; ++s) {
      factors->scales[s] = InRegister(job.weights->d[kScales * first + s]);
    }
    if constexpr (!kHasMin) return;
    const Tile* a = job.tiles[0] + first;
    for (int b = 0; b < job.count; ++b) {
      // corr8 = -8 * asum; the shift is exact.
      const __m512i corr = _mm512_loadu_si512(a[b].corr8);
      const __m512i sum = _mm512_srai_epi32(_mm512_sub_epi32(_mm512_setzero_si512(), corr), 3);
      const __m512 scaled = _mm512_mul_ps(_mm512_loadu_ps(a[b].da), _mm512_cvtepi32_ps(sum));
      _mm512_store_ps(factors->sums[b], scaled);
    }
  }

  // Four tokens, all blocks of the part.
  template <int kStep>
  [[gnu::always_inline]] static void Accumulate(const PolicyJob& job, const Factors& factors,
                                                const TileSums* sums) {
    if (job.count == 0) return;
    const int first = kBlocksOfPart * job.part;
    const Tile* a = Unindexed(job.tiles[0] + first);
#pragma GCC unroll 4
    for (int m = 4 * kStep; m < 4 * kStep + 4; ++m) {
      __m512 acc = _mm512_load_ps(job.acc[m]);
#pragma GCC unroll 4
      for (int s = 0; s < kScales * job.count; ++s) {
        const int b = s / kScales;
        const __m512 scale = _mm512_mul_ps(factors.scales[s], _mm512_set1_ps(a[b].da[m]));
        acc = _mm512_fmadd_ps(_mm512_cvtepi32_ps(_mm512_load_si512(sums[s][m])), scale, acc);
        if constexpr (!kHasMin) continue;
        const __m512 minimum = job.weights->minimum[first + b];
        acc = _mm512_fmadd_ps(minimum, _mm512_set1_ps(factors.sums[b][m]), acc);
      }
      _mm512_store_ps(job.acc[m], acc);
    }
  }
  // Not to be read again: the compiler would for each token, because the accumulators might be it.
  [[gnu::always_inline]] static __m512 InRegister(__m512 x) {
    asm("" : "+v"(x));
    return x;
  }
};

// ---------------------------------------------------------------------------------------------
// The loop nest.

template <PanelType kType, typename Policy>
struct AmxMatmul {
  using Unit = typename Policy::Unit;
  using Tile = typename Policy::Tile;
  using PolicyJob = typename Policy::PolicyJob;

  // What stands in MatmulArgs::scratch.
  struct Scratch {
    typename Policy::Unpacked weights[kUnpacked];
    TileSums sums[4];
    Accumulators acc[kGroup];
  };
  static_assert(sizeof(Scratch) <= kMatmulScratchBytes);

  // Up to kGroup panels and kBlockTokens tokens.
  struct Block {
    const Unit* units;  // of the first panel
    const Tile* tiles;
    int64_t units_of_panel;
    int panels;
    int tiles_count;
  };

  static void Run(const MatmulArgs& args) {
    const int64_t tiled = args.tokens < kMinTokens ? 0 : args.tokens / kTile * kTile;
    if (tiled > 0) RunTiles(args, tiled);
    if (tiled == args.tokens) return;
    MatmulArgs rest = args;
    rest.tokens = args.tokens - tiled;
    rest.tiles = args.tiles + tiled * TokenBytes(args.cols);
    rest.out = args.out + tiled * args.out_stride;
    avx512::MatmulFor(kType)(rest);
  }

 private:
  static int64_t TokenBytes(int64_t cols) {
    return cols / Policy::kUnitCols * Policy::kTileUnits * int64_t{sizeof(Tile)} / kTile;
  }

  static void RunTiles(const MatmulArgs& args, int64_t tokens) {
    const TileSession session(Policy::Config());
    auto& scratch = *reinterpret_cast<Scratch*>(args.scratch);
    const int64_t units = args.cols / Policy::kUnitCols;
    for (int64_t first = 0; first < tokens; first += kBlockTokens) {
      const int64_t count = std::min<int64_t>(kBlockTokens, tokens - first);
      for (int64_t p = 0; p < args.panel_count; p += kGroup) {
        const Block block = {
            .units = reinterpret_cast<const Unit*>(args.panels) + p * units,
            .tiles = reinterpret_cast<const Tile*>(args.tiles + first * TokenBytes(args.cols)),
            .units_of_panel = units,
            .panels = static_cast<int>(std::min<int64_t>(kGroup, args.panel_count - p)),
            .tiles_count = static_cast<int>(count / kTile)};
        RunBlock(block, scratch);
        Store(block, scratch, args.out + first * args.out_stride + p * kPanelRows, args.out_stride);
      }
    }
  }

  static void RunBlock(const Block& block, Scratch& scratch) {
    for (int p = 0; p < block.panels; ++p) {
      for (int m = 0; m < block.tiles_count * kTile; ++m) {
        _mm512_store_ps(scratch.acc[p][m], _mm512_setzero_ps());
      }
    }
    for (int64_t unit = 0; unit < block.units_of_panel; unit += Policy::kUnitsAtOnce) {
      for (int p = 0; p < block.panels; p += kUnpacked) RunUnits(block, p, unit, scratch);
    }
  }

  // Policy::kUnitsAtOnce units of kUnpacked panels from `first` on, for all tokens: the products of
  // each job are issued before the sums of the job before it are taken up.
  static void RunUnits(const Block& block, int first, int64_t unit, Scratch& scratch) {
    const int count =
        static_cast<int>(std::min<int64_t>(Policy::kUnitsAtOnce, block.units_of_panel - unit));
    const int panels = std::min(kUnpacked, block.panels - first);
    for (int p = 0; p < panels; ++p) {
      const Unit* units = block.units + (first + p) * block.units_of_panel + unit;
      Policy::Unpack(units, count, scratch.weights[p]);
      for (int u = 0; u < count; ++u) PrefetchUnit(units + count + u);
    }
    const int64_t tile_units = block.units_of_panel * Policy::kTileUnits;
    PolicyJob before = {};
    for (int t = 0; t < block.tiles_count; t += Policy::kTilesAtOnce) {
      const Tile* tile = block.tiles + t * tile_units + unit * Policy::kTileUnits;
      for (int p = 0; p < panels; ++p) {
        for (int part = 0; part < Policy::PartsOf(count); ++part) {
          const PolicyJob job = {.weights = &scratch.weights[p],
                                 .tiles = {tile, tile + tile_units},
                                 .part = part,
                                 .count = Policy::CountOf(block.tiles_count - t, count, part),
                                 .acc = scratch.acc[first + p] + t * kTile};
          if (job.count == Policy::kCount && before.count == Policy::kCount) {
            Turn(Whole(job), Whole(before), scratch.sums);
          } else {
            Turn(job, before, scratch.sums);
          }
          before = job;
        }
      }
    }
    Turn({}, before, scratch.sums);
  }

  // A job that is whole, so that the compiler knows it and leaves no branch between its products.
  [[gnu::always_inline]] static PolicyJob Whole(PolicyJob job) {
    job.count = Policy::kCount;
    return job;
  }

  // The products of `job` and the sums of the job before, step by step; no more than either has.
  [[gnu::always_inline]] static void Turn(const PolicyJob& job, const PolicyJob& before,
                                          TileSums* sums) {
    Policy::Clear();
    typename Policy::Factors factors;
    Policy::Prepare(before, &factors);
    Step(job, before, factors, sums);
    StoreTile<0>(sums[0], 64);
    StoreTile<1>(sums[1], 64);
    StoreTile<2>(sums[2], 64);
    StoreTile<3>(sums[3], 64);
  }
  template <int kStep = 0>
  [[gnu::always_inline]] static void Step(const PolicyJob& job, const PolicyJob& before,
                                          const typename Policy::Factors& factors,
                                          const TileSums* sums) {
    Policy::template Multiply<kStep>(job);
    Policy::template Accumulate<kStep>(before, factors, sums);
    if constexpr (kStep + 1 < Policy::kSteps) Step<kStep + 1>(job, before, factors, sums);
  }

  // The next columns of a panel: they are needed after all tokens have passed over these.
  static void PrefetchUnit(const Unit* unit) {
    for (size_t line = 0; line < sizeof(Unit); line += 64) {
      _mm_prefetch(reinterpret_cast<const char*>(unit) + line, _MM_HINT_T1);
    }
  }

  static void Store(const Block& block, const Scratch& scratch, float* out, int64_t stride) {
    for (int m = 0; m < block.tiles_count * kTile; ++m) {
      for (int p = 0; p < block.panels; ++p) {
        _mm512_storeu_ps(out + m * stride + p * kPanelRows, _mm512_load_ps(scratch.acc[p][m]));
      }
    }
  }
};

}  // namespace
}  // namespace skald::kernels::avx512

namespace skald::kernels::amx {
namespace {

// Tried once: a process starts many engines, and its CPU stays.
bool UsesBFloat16Tiles() {
  static const bool uses = CpuHasBFloat16Tiles() && GivesTheSpecifiedBits(MatmulBFloat16);
  return uses;
}

}  // namespace

MatmulFn MatmulFor(PanelType type) {
  using namespace avx512;  // NOLINT
  switch (type) {
    case PanelType::kF32:
    case PanelType::kF16: return avx512::MatmulFor(type);
    case PanelType::kBF16: return UsesBFloat16Tiles() ? MatmulBFloat16 : avx512::MatmulFor(type);
    case PanelType::kQ8: return AmxMatmul<PanelType::kQ8, Block32Policy<UnitQ8>>::Run;
    case PanelType::kQ5: return AmxMatmul<PanelType::kQ5, Block32Policy<UnitQ5>>::Run;
    case PanelType::kQ5M: return AmxMatmul<PanelType::kQ5M, Block32Policy<UnitQ5M>>::Run;
    case PanelType::kQ4: return AmxMatmul<PanelType::kQ4, Block32Policy<UnitQ4>>::Run;
    case PanelType::kQ4M: return AmxMatmul<PanelType::kQ4M, Block32Policy<UnitQ4M>>::Run;
    case PanelType::kI4NL: return AmxMatmul<PanelType::kI4NL, Block32Policy<UnitI4NL>>::Run;
    case PanelType::kMX4: return AmxMatmul<PanelType::kMX4, Block32Policy<UnitMX4>>::Run;
    case PanelType::kQ4K: return AmxMatmul<PanelType::kQ4K, SuperPolicy<UnitQ4K>>::Run;
    case PanelType::kQ5K: return AmxMatmul<PanelType::kQ5K, SuperPolicy<UnitQ5K>>::Run;
    case PanelType::kQ6K: return AmxMatmul<PanelType::kQ6K, SuperPolicy<UnitQ6K>>::Run;
    case PanelType::kI4XS: return AmxMatmul<PanelType::kI4XS, SuperPolicy<UnitI4XS>>::Run;
    case PanelType::kQ2K: return AmxMatmul<PanelType::kQ2K, SuperPolicy<UnitQ2K>>::Run;
    case PanelType::kQ3K: return AmxMatmul<PanelType::kQ3K, SuperPolicy<UnitQ3K>>::Run;
    case PanelType::kI2XXS: return AmxMatmul<PanelType::kI2XXS, SuperPolicy<UnitI2XXS>>::Run;
    case PanelType::kI2XS: return AmxMatmul<PanelType::kI2XS, SuperPolicy<UnitI2XS>>::Run;
    case PanelType::kI2S: return AmxMatmul<PanelType::kI2S, SuperPolicy<UnitI2S>>::Run;
    case PanelType::kI3XXS: return AmxMatmul<PanelType::kI3XXS, SuperPolicy<UnitI3XXS>>::Run;
    case PanelType::kI3S: return AmxMatmul<PanelType::kI3S, SuperPolicy<UnitI3S>>::Run;
    case PanelType::kI1: return AmxMatmul<PanelType::kI1, SuperPolicy<UnitI1>>::Run;
    case PanelType::kT2: return AmxMatmul<PanelType::kT2, SuperPolicy<UnitT2>>::Run;
    case PanelType::kQ1: return AmxMatmul<PanelType::kQ1, Block32Policy<UnitQ1>>::Run;
    case PanelType::kQ2: return AmxMatmul<PanelType::kQ2, Block32Policy<UnitQ2>>::Run;
    case PanelType::kNV4: return AmxMatmul<PanelType::kNV4, Block32Policy<UnitNV4>>::Run;
  }
  UNREACHABLE();
}

}  // namespace skald::kernels::amx

#include "kernels/isa/target_end.h"
