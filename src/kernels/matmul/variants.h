/// The variants of the function in matmul.h, one file each. Internal to matmul/ and to the
/// instruction sets (isa/scalar.cc, x86/).
#pragma once

#include <array>
#include <span>

#include "kernels/isa/read_ahead.h"
#include "kernels/matmul/matmul.h"
#include "kernels/matmul/ways.h"

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
  ReadAhead ahead = kTwoSteps;  ///< of the weights
  /// Whether `out` has the sums of the columns before these. For loops over unpacked weights only.
  bool continues = false;
};
using TileFn = void (*)(const TileArgs& args);

// ForTileSize (matmul_generic.h) has a case for each.
static_assert(kTileSizes == std::array{16, 15, 14, 12, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1});

/// Tokens of a tile of `tokens` that a kernel takes together: at most `most`, and so many that all
/// groups are alike.
constexpr int GroupOf(int tokens, int most) {
  while (tokens % most != 0) --most;
  return most;
}

/// Whether `matmul`, a function for kBF16, gives the bits of the specification for numbers that
/// tell its order of operations and its ways to round and to flush from others. A CPU is asked
/// before an instruction is used whose documents do not say all of it. Some 100 us.
bool GivesTheSpecifiedBits(MatmulFn matmul);

/// How far ahead a tile of so many tokens reads, where nobody has tried it.
inline ReadAhead ReadAheadInTwoSteps(int /*tokens*/) { return kTwoSteps; }

/// A MatmulFn: the function for one tile, on every tile in turn.
template <PanelType kType, TileFn kTileMatmul,
          ReadAhead (*kReadAhead)(int tokens) = ReadAheadInTwoSteps>
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
                 .out_stride = args.out_stride,
                 .ahead = kReadAhead(tokens)});
    first += tokens;
  }
}

namespace scalar {
MatmulFn MatmulFor(PanelType type);
}  // namespace scalar

namespace avx2 {
MatmulFn MatmulFor(PanelType type);
void MatmulBFloat16(const MatmulArgs& args);
}  // namespace avx2

namespace avx512 {
/// What WayFor(type) does.
MatmulFn MatmulFor(PanelType type);
/// The ways of a type: several, or the only one, without a name.
std::span<const MatmulWay> WaysOf(PanelType type);
/// The one that is used: the fastest, timed at the first call for any type.
MatmulWay WayFor(PanelType type);
/// The ways of the types of one kind, nothing for others: elements of their own, a float scale for
/// each 32 or 16 columns, super-blocks.
std::span<const MatmulWay> FloatWays(PanelType type);
std::span<const MatmulWay> Block32Ways(PanelType type);
std::span<const MatmulWay> SuperWays(PanelType type);
/// The loops over weights that are unpacked once (unpacked_avx512_generic.h), as ways for kQ3K or
/// kQ6K and any number of tokens.
std::span<const MatmulWay> UnpackedWays(PanelType type);
/// The fastest of them, timed at the first call.
MatmulWay UnpackedWay(PanelType type);
/// For one tile of any type. The panels are of UnpackedUnit, scaled by products.
void MultiplyUnpacked(const TileArgs& args);
/// The codebooks by permutations of bytes. Require CpuHasBytePermutations().
void I2XXSByPermutations(const MatmulArgs& args);
void I2XSByPermutations(const MatmulArgs& args);
void I2SByPermutations(const MatmulArgs& args);
void I3XXSByPermutations(const MatmulArgs& args);
void I3SByPermutations(const MatmulArgs& args);
void I1ByPermutations(const MatmulArgs& args);
void MatmulBFloat16ByFma(const MatmulArgs& args);
/// How far ahead a tile of one or two tokens reads: as timed when it is first asked for.
ReadAhead ReadAheadOfFew(PanelType type, int tokens);
/// That of any tile.
template <PanelType kType>
ReadAhead ReadAheadFor(int tokens) {
  return tokens <= 2 ? ReadAheadOfFew(kType, tokens) : kTwoSteps;
}
/// The faster of two for a tile of one token of `type`, of which `matmul` is the function; the
/// first if there is no memory to try them. Any thread. Some 5 ms.
ReadAhead FastestReadAhead(PanelType type, TileFn matmul, std::array<ReadAhead, 2> tried);
/// What it is timed with: tiles of one token.
void TokenOfQ4K(const TileArgs& args);
void TokenOfQ8(const TileArgs& args);
/// bfloat16 by dot products: up to so many tokens it pays to put weights in order for each tile of
/// them. For more that is done once, and then so many panels share the order of the tokens.
inline constexpr int64_t kFewToOrder = 2 * kTileTokens;
inline constexpr int kOrderedPanels = 16;
/// Require CpuHasBFloat16Dots(). A panel at a time, or two.
void MatmulBFloat16ByDots(const MatmulArgs& args);
void MatmulBFloat16ByDotsOfTwo(const MatmulArgs& args);
}  // namespace avx512

namespace amx {
/// Integer weights: fewer tokens than this are as fast without tiles, since folding a weight costs
/// as much as 30 products.
inline constexpr int64_t kMinTokens = 32;

/// Panels that share the reading of the tokens. Tiles compute so fast that this is what takes time.
/// Of 16 panels the sums of 512 tokens are half a MiB: a quarter of the L2 that these CPUs have.
inline constexpr int kSharedPanels = 16;

/// F32 and F16 have no tiles: they are those of avx512.
MatmulFn MatmulFor(PanelType type);
/// Requires CpuHasBFloat16Tiles().
void MatmulBFloat16(const MatmulArgs& args);
}  // namespace amx

}  // namespace skald::kernels
