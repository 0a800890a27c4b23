/// TileConfig: the shapes of the tile registers of AMX, for those of a CPU (amx_tiles.h) and of a
/// program (tests/emulated_tiles).
#pragma once

#include <cstdint>

namespace skald::kernels::amx {

/// The shape of each tile register: the operand of LDTILECFG, palette 1.
struct alignas(64) TileConfig {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};
static_assert(sizeof(TileConfig) == 64);

}  // namespace skald::kernels::amx
