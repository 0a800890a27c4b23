/// Activations as the matmul kernels read them: tiles of up to 16 tokens.
///
/// The tokens of a step are cut into tiles (NextTileTokens). A tile interleaves its tokens so that
/// a kernel reads one sequential stream and never two addresses a power of two apart. With MR
/// tokens in the tile (structs in quantize/tile_layout.h):
///
///     kF32       for each column:         float x[MR]
///     kBlock32   for each 32 columns:     i8 q[MR][32]; float da[MR];
///                                         i32 corr8[MR]; i32 corr128[MR]
///     kBlock128  for each 128 columns:    i8 q[2][MR][64]; i32 sum_pairs[2][MR];
///                                         i32 corr32[8][MR]; float da[MR]
///     kBFloat16  for each 32 columns:     {bfloat16 of column k, of column 16 + k}[MR][16];
///                                         what lacks in the last 32 are zeros
///
/// corrN = -N * asum: the accumulator of an unsigned dot product starts there instead of at zero,
/// which removes the weight offset N exactly and for free (kBlock32: asum over 32; kBlock128: over
/// each 16). sum_pairs[j] holds two int16: asum_{2j} in the low half and asum_{2j+1} in the high
/// half, asum over 32; at most 32 * 127 = 4064. Every section of a tile starts at a multiple of 4
/// bytes.
///
/// All bytes of a tile are specified: also where a scale is 0 or NaN (then q and the sums of that
/// group are 0, and the NaN is 0x7fc00000). A bfloat16 of a NaN is its upper half, quieted.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/pack/panel.h"

namespace skald::kernels {

/// Tokens of the largest tile: 16 accumulators + 8 weight registers + temporaries fill 32 vector
/// registers.
inline constexpr int kTileTokens = 16;

/// The tile sizes that have a kernel, largest first. Each tile passes over the weights and unpacks
/// them, so that two tiles cost more than one of as many tokens; 11 and 13 tokens fall into no
/// groups that are alike.
inline constexpr std::array<int, 14> kTileSizes = {16, 15, 14, 12, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1};

/// Tokens of the next tile when `remaining` > 0 tokens are left: the largest tile size not above
/// it.
int NextTileTokens(int64_t remaining);

/// Columns of a unit of a format. What stands in a unit depends on nothing outside of it.
int64_t UnitColumns(ActivationFormat format);

/// Bytes of prepared activations per token (the same whatever the tile), so the tile that starts at
/// token t of a step starts at byte t * ActivationBytes(format, cols).
int64_t ActivationBytes(ActivationFormat format, int64_t cols);

/// Prepares one tile (numerics 3.5).
///   x        `tokens` rows of `cols` floats, `x_stride` floats apart
///   tile     tokens * ActivationBytes(format, cols) bytes, 4-byte aligned (64 is faster)
struct QuantizeArgs {
  const float* x = nullptr;
  int64_t x_stride = 0;
  int tokens = 0;    ///< one of kTileSizes
  int64_t cols = 0;  ///< a multiple of 32 for kBlock32, of 128 for kBlock128, else any
  std::byte* tile = nullptr;
};
using QuantizeFn = void (*)(const QuantizeArgs& args);

}  // namespace skald::kernels
