// The AMX peak: products of tile registers, no loads. Floats and reads are those of AVX-512.

#include <algorithm>

#include "kernels/isa/cpu.h"
#include "kernels/isa/intrinsics.h"
#include "kernels/peak/variants.h"

// clang-format off: the region must open after everything else.
#include "kernels/isa/amx_tiles.h"
#include "kernels/isa/target_amx_begin.h"
// clang-format on

namespace skald::kernels::amx {
namespace {

// Four sums from two tiles of each side: the shape of the matmul kernels.
TileConfig FullTiles() {
  TileConfig config;
  std::fill_n(config.row_bytes, 8, uint16_t{64});
  std::fill_n(config.rows, 8, uint8_t{16});
  return config;
}

int64_t Dot(int64_t steps) {
  const TileSession session(FullTiles());
  for (int64_t step = 0; step < steps; ++step) {
    MultiplySigned<0, 4, 6>();
    MultiplySigned<1, 4, 7>();
    MultiplySigned<2, 5, 6>();
    MultiplySigned<3, 5, 7>();
  }
  return steps * 4 * 16 * 16 * 64;
}

int64_t BFloat16(int64_t steps) {
  const TileSession session(FullTiles());
  for (int64_t step = 0; step < steps; ++step) {
    MultiplyBFloat16<0, 4, 6>();
    MultiplyBFloat16<1, 4, 7>();
    MultiplyBFloat16<2, 5, 6>();
    MultiplyBFloat16<3, 5, 7>();
  }
  return steps * 4 * 16 * 16 * 32;
}

}  // namespace

PeakKernels Peak() {
  const PeakKernels vectors = avx512::Peak();
  return {.dot = Dot,
          .bfloat16 = CpuHasBFloat16Tiles() ? BFloat16 : vectors.bfloat16,
          .fma = vectors.fma,
          .read = vectors.read};
}

}  // namespace skald::kernels::amx

#include "kernels/isa/target_end.h"
