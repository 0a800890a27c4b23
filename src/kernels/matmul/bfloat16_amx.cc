// bfloat16 weights with AMX: TDPBF16PS multiplies 16 tokens, 32 columns and 16 rows, both chains of
// numerics 3.6 and their sums included, 512 multiply-accumulates a cycle and core.
//
// Nothing is left to the vectors: units of weights and of activations are tiles as they lie in
// memory (pack/unit_layout.h, quantize/tile_layout.h), and a tile of sums is the output. Two tiles
// of tokens times two panels need a load for each product, which is what keeps the tile unit busy:
// 16 lines of L1 at two a cycle beside 16 cycles.
//
// The loop nest: kChunkUnits x 32 columns of kGroup panels (32 KiB) stay in L1 while two tiles of
// tokens at a time (16 KiB) pass over them, each read once for all kGroup; then the next group,
// for which these columns of the tokens still are in L2; then the next columns, for which the sums
// come back from the output. What bounds it is the way of the tokens from L2: with tokens that stay
// in L1 the same loops are half as fast again.

#include <algorithm>

#include "kernels/isa/intrinsics.h"
#include "kernels/isa/prefetch.h"
#include "kernels/matmul/variants.h"
#include "kernels/matmul/weights_avx512.h"
#include "kernels/pack/unit_layout.h"
#include "kernels/quantize/tile_layout.h"

// clang-format off: the region must open before the templates and after everything else.
#include "kernels/isa/amx_tiles.h"
#include "kernels/isa/target_amx_begin.h"
// clang-format on

namespace skald::kernels::amx {
namespace {

// Units of a chunk: 16 do not fit L1 and are slower by a tenth, although the sums come back less
// often. Panels of a group, an even number.
constexpr int64_t kChunkUnits = 8;
constexpr int64_t kGroup = 4;

// Some units of one or two panels times one or two tiles of tokens.
struct Block {
  const std::byte* weights;
  int64_t panel_bytes;
  const std::byte* tokens;
  int64_t unit_bytes;  // of a tile of tokens
  int64_t tile_bytes;  // from one tile of tokens to the next
  int64_t units;
  bool first_columns;  // else the sums go on from what the output holds
  bool first_tokens;   // of these weights: they may come from memory
  float* out;
  int64_t out_stride;
  int64_t out_tile;  // floats from one tile of tokens to the next
};

// Tiles 0..3 sums: [tile of tokens][panel]; 4 and 5 tokens, 6 and 7 weights.
template <int kTiles, int kPanels>
struct Kernel {
  [[gnu::always_inline]] static float* Out(const Block& block, int tile, int panel) {
    return block.out + tile * block.out_tile + panel * kPanelRows;
  }

  template <int kTile, int kPanel>
  [[gnu::always_inline]] static void LoadSum(const Block& block) {
    if constexpr (kTile < kTiles && kPanel < kPanels) {
      if (block.first_columns) {
        ZeroTile<2 * kTile + kPanel>();
      } else {
        LoadTile<2 * kTile + kPanel>(Out(block, kTile, kPanel), 4 * block.out_stride);
      }
    }
  }
  template <int kTile, int kPanel>
  [[gnu::always_inline]] static void StoreSum(const Block& block) {
    if constexpr (kTile < kTiles && kPanel < kPanels) {
      StoreTile<2 * kTile + kPanel>(Out(block, kTile, kPanel), 4 * block.out_stride);
    }
  }

  [[gnu::always_inline]] static void Step(const std::byte* weights, const std::byte* tokens,
                                          const Block& block) {
    LoadTile<4>(tokens, kBFloat16TokenBytes);
    LoadTile<6>(weights, 64);
    MultiplyBFloat16<0, 4, 6>();
    if constexpr (kPanels == 2) {
      LoadTile<7>(weights + block.panel_bytes, 64);
      MultiplyBFloat16<1, 4, 7>();
    }
    if constexpr (kTiles == 2) {
      LoadTile<5>(tokens + block.tile_bytes, kBFloat16TokenBytes);
      MultiplyBFloat16<2, 5, 6>();
      if constexpr (kPanels == 2) MultiplyBFloat16<3, 5, 7>();
    }
  }

  static void Run(const Block& block) {
    LoadSum<0, 0>(block);
    LoadSum<0, 1>(block);
    LoadSum<1, 0>(block);
    LoadSum<1, 1>(block);
    const std::byte* weights = block.weights;
    const std::byte* tokens = block.tokens;
    for (int64_t unit = 0; unit < block.units; ++unit) {
      if (block.first_tokens) {
        for (int p = 0; p < kPanels; ++p) {
          PrefetchAhead<sizeof(UnitBF16)>(kTwoSteps, weights + p * block.panel_bytes);
        }
      }
      Step(weights, tokens, block);
      weights += sizeof(UnitBF16);
      tokens += block.unit_bytes;
    }
    StoreSum<0, 0>(block);
    StoreSum<0, 1>(block);
    StoreSum<1, 0>(block);
    StoreSum<1, 1>(block);
  }
};

void RunBlock(int tiles, int panels, const Block& block) {
  if (tiles == 2) {
    panels == 2 ? Kernel<2, 2>::Run(block) : Kernel<2, 1>::Run(block);
  } else {
    panels == 2 ? Kernel<1, 2>::Run(block) : Kernel<1, 1>::Run(block);
  }
}

TileConfig ConfigFor(int tile_tokens) {
  TileConfig config;
  std::fill_n(config.row_bytes, 8, uint16_t{64});
  std::fill_n(config.rows, 6, static_cast<uint8_t>(tile_tokens));
  std::fill_n(config.rows + 6, 2, uint8_t{16});
  return config;
}

// A chunk of columns of some panels times `tiles` tiles of tokens.
struct Chunk {
  const MatmulArgs& args;
  int tile_tokens;
  int64_t tiles;
  int64_t panel;  // the first
  int64_t panels;
  int64_t unit;  // the first
  int64_t units;
};

Block BlockOf(const Chunk& chunk, int64_t tile, int64_t panel) {
  const MatmulArgs& args = chunk.args;
  const int64_t panel_bytes = PanelBytes(PanelType::kBF16, args.cols);
  const int64_t unit_bytes = int64_t{chunk.tile_tokens} * kBFloat16TokenBytes;
  const int64_t tile_bytes = panel_bytes / int64_t{sizeof(UnitBF16)} * unit_bytes;
  const int64_t out_tile = chunk.tile_tokens * args.out_stride;
  return {
      .weights = args.panels + panel * panel_bytes + chunk.unit * int64_t{sizeof(UnitBF16)},
      .panel_bytes = panel_bytes,
      .tokens = args.tiles + tile * tile_bytes + chunk.unit * unit_bytes,
      .unit_bytes = unit_bytes,
      .tile_bytes = tile_bytes,
      .units = chunk.units,
      .first_columns = chunk.unit == 0,
      .first_tokens = tile == 0,
      .out = args.out + tile * out_tile + panel * kPanelRows,
      .out_stride = args.out_stride,
      .out_tile = out_tile,
  };
}

void RunChunk(const Chunk& chunk) {
  const int64_t end = chunk.panel + chunk.panels;
  for (int64_t t = 0; t < chunk.tiles; t += 2) {
    const int tiles = chunk.tiles - t > 1 ? 2 : 1;
    for (int64_t p = chunk.panel; p < end; p += 2) {
      RunBlock(tiles, end - p > 1 ? 2 : 1, BlockOf(chunk, t, p));
    }
  }
}

// All panels times `tiles` tiles of as many tokens each.
void RunTiles(const MatmulArgs& args, int tile_tokens, int64_t tiles) {
  const TileSession session(ConfigFor(tile_tokens));
  const int64_t units = PanelBytes(PanelType::kBF16, args.cols) / int64_t{sizeof(UnitBF16)};
  // Without other tokens to come back for, the sums stay where they are.
  const int64_t most_units = tiles <= 2 ? units : kChunkUnits;
  for (int64_t unit = 0; unit < units; unit += most_units) {
    for (int64_t p = 0; p < args.panel_count; p += kGroup) {
      RunChunk({.args = args,
                .tile_tokens = tile_tokens,
                .tiles = tiles,
                .panel = p,
                .panels = std::min(kGroup, args.panel_count - p),
                .unit = unit,
                .units = std::min(most_units, units - unit)});
    }
  }
}

}  // namespace

void MatmulBFloat16(const MatmulArgs& args) {
  const int64_t token_bytes = ActivationBytes(ActivationFormat::kBFloat16, args.cols);
  MatmulArgs rest = args;
  while (rest.tokens > 0) {
    const int tile_tokens = NextTileTokens(rest.tokens);
    const int64_t tiles = tile_tokens == kTileTokens ? rest.tokens / kTileTokens : 1;
    RunTiles(rest, tile_tokens, tiles);
    rest.tokens -= tiles * tile_tokens;
    rest.tiles += tiles * tile_tokens * token_bytes;
    rest.out += tiles * tile_tokens * args.out_stride;
  }
}

}  // namespace skald::kernels::amx

#include "kernels/isa/target_end.h"
