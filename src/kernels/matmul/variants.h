/// The variants of the function in matmul.h, one file each. Internal to matmul/ and to the
/// instruction sets (isa/scalar.cc, x86/).
#pragma once

#include <array>

#include "kernels/matmul/matmul.h"

namespace skald::kernels {

/// One tile of tokens: what all variants but AMX are made of. Fields as in MatmulArgs.
struct TileArgs {
  const std::byte* panels = nullptr;
  int64_t panel_count = 0;
  int64_t cols = 0;
  const std::byte* tile = nullptr;
  int tokens = 0;  ///< one of kTileSizes
  float* out = nullptr;
  int64_t out_stride = 0;
};

// ForTileSize (matmul_generic.h) has a case for each.
static_assert(kTileSizes == std::array{16, 12, 8, 6, 4, 3, 2, 1});

/// A MatmulFn: the function for one tile, on every tile in turn.
template <PanelType kType, void (*kTileMatmul)(const TileArgs& args)>
void EveryTile(const MatmulArgs& args) {
  const int64_t token_bytes = ActivationBytes(InfoOf(kType).activation, args.cols);
  for (int64_t first = 0; first < args.tokens;) {
    const int tokens = NextTileTokens(args.tokens - first);
    kTileMatmul({.panels = args.panels,
                 .panel_count = args.panel_count,
                 .cols = args.cols,
                 .tile = args.tiles + first * token_bytes,
                 .tokens = tokens,
                 .out = args.out + first * args.out_stride,
                 .out_stride = args.out_stride});
    first += tokens;
  }
}

namespace scalar {
MatmulFn MatmulFor(PanelType type);
}  // namespace scalar

namespace avx2 {
MatmulFn MatmulFor(PanelType type);
}  // namespace avx2

namespace avx512 {
MatmulFn MatmulFor(PanelType type);
}  // namespace avx512

namespace amx {
/// The float types have no tiles: they are those of avx512.
MatmulFn MatmulFor(PanelType type);
}  // namespace amx

}  // namespace skald::kernels
