/// Matmul: the tokens of a step times a range of weight panels.
///
///     out[m * out_stride + 16 * p + lane] = y[token m][row 16 p + lane]      (numerics 3.6)
///
/// m in 0..tokens-1, p in 0..panel_count-1. `out` may not overlap the inputs. Rows past the end of
/// the matrix are zero rows and give +0. Splitting a matrix over threads by panels, and the tokens
/// over calls, changes no bit.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/quantize/quantize.h"

namespace skald::kernels {

/// Bytes of scratch a worker must offer: unpacked weights and accumulators of the AMX variant.
inline constexpr int64_t kMatmulScratchBytes = 544 << 10;

struct MatmulArgs {
  const std::byte* panels = nullptr;  ///< first panel of the range, 64-byte aligned
  int64_t panel_count = 0;
  int64_t cols = 0;
  /// Activations in the format of the panel type, tile after tile as NextTileTokens cuts them;
  /// 4-byte aligned, 64 is faster.
  const std::byte* tiles = nullptr;
  int64_t tokens = 0;  ///< any number > 0
  float* out = nullptr;
  int64_t out_stride = 0;        ///< floats between the outputs of two tokens; >= 16 * panel_count
  std::byte* scratch = nullptr;  ///< kMatmulScratchBytes, 64-byte aligned, of this thread alone
};

/// One function per panel type and instruction set; those of a panel type compute the same bits (a
/// NaN may differ in its payload). Any thread; allocates nothing.
using MatmulFn = void (*)(const MatmulArgs& args);

}  // namespace skald::kernels
