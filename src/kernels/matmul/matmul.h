/// Matmul: one tile of tokens times a range of weight panels.
///
///     out[m * out_stride + 16 * p + lane] = y[token m][row 16 p + lane]      (numerics 3.6)
///
/// m in 0..tokens-1, p in 0..panel_count-1. `out` may not overlap the inputs. Rows past the end of
/// the matrix are zero rows and give +0. Splitting a matrix over threads by panels, and a step over
/// tiles, changes no bit.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/isa/isa.h"
#include "kernels/quantize/quantize.h"

namespace skald::kernels {

struct MatmulArgs {
  const std::byte* panels = nullptr;  ///< first panel of the range, 64-byte aligned
  int64_t panel_count = 0;
  int64_t cols = 0;
  const std::byte* tile = nullptr;  ///< activations in the format of the panel type, 4-byte aligned
  int tokens = 0;                   ///< in the tile; one of kTileSizes
  float* out = nullptr;
  int64_t out_stride = 0;  ///< floats between the outputs of two tokens; >= 16 * panel_count
};

/// One function per panel type and instruction set. Any thread; allocates nothing.
using MatmulFn = void (*)(const MatmulArgs& args);

/// The function of `isa` for panels of `type`; all of them compute the same bits (a NaN may differ
/// in its payload). Calling it requires isa <= DetectIsa().
MatmulFn MatmulFor(Isa isa, PanelType type);

}  // namespace skald::kernels
