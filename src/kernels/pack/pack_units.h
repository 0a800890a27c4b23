/// The two steps of packing a quantized block: decode it to plain integers, put them in a unit.
///
/// Between the steps stand Ints32 and Ints256, the integers of a block in the order of its columns.
/// Internal to pack/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/pack/unit_layout.h"
#include "tensor/dtype.h"

namespace skald::kernels {

/// One stored block of 32 columns: w[i] = d * weight[i] + m, d and m as half bits.
struct Ints32 {
  uint16_t d;
  uint16_t m;         ///< 0 for the types without
  int8_t weight[32];  ///< offset removed
};

/// One stored super-block: w[i] = d * scale[i / 16] * weight[i] - dmin * minimum[i / 16].
/// Types with a scale for each 32 repeat it.
struct Ints256 {
  uint16_t d;
  uint16_t dmin;  ///< 0 for the types without
  int8_t scale[16];
  uint8_t minimum[16];  ///< 0 for the types without
  int8_t weight[256];   ///< offset removed
};

/// What PackRows* need: rows of `units` stored blocks each, `row_count` of them, one after the
/// other at `source`.
struct RowSource {
  tensor::DType dtype;
  const std::byte* source;
  int row_count;
  int64_t units;
};

/// Fill the zeroed units of one panel from a dtype with blocks of 32, or of 256.
void PackRows32(const RowSource& rows, std::byte* panel);
void PackRows256(const RowSource& rows, std::byte* panel);

/// Calls visit(block, row, unit index) for every stored block of `rows`, row by row.
template <typename Block, typename Visit>
void ForEachBlock(const RowSource& rows, Visit visit) {
  const std::byte* source = rows.source;
  for (int row = 0; row < rows.row_count; ++row) {
    for (int64_t unit = 0; unit < rows.units; ++unit, source += sizeof(Block)) {
      Block block;
      std::memcpy(&block, source, sizeof(Block));
      visit(block, row, unit);
    }
  }
}

/// Stores a nibble (0..15) of column 0..31 into zeroed nibbles.
inline void PutNibble(uint8_t (&nibbles)[4][16][4], int row, int column, int value) {
  const int k4 = column / 4;
  uint8_t& byte = nibbles[k4 % 4][row][column % 4];
  byte = static_cast<uint8_t>(byte | value << (k4 < 4 ? 0 : 4));
}

}  // namespace skald::kernels
