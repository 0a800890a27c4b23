/// The two steps of packing a quantized block: decode it to plain integers, put them in a unit.
///
/// Between the steps stand Ints32 and Ints256, the integers of a block in the order of its columns.
/// Internal to pack/.
#pragma once

#include <array>
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
  int8_t weight[32];  ///< offset removed; of IQ4_NL the index of the value
};

/// One stored super-block: w[i] = d * scale[i / 16] * weight[i] - dmin * minimum[i / 16].
/// Types with a scale for each 32 repeat it.
struct Ints256 {
  uint16_t d;
  uint16_t dmin;  ///< 0 for the types without
  int8_t scale[16];
  uint8_t minimum[16];  ///< 0 for the types without
  int8_t weight[256];   ///< offset removed; of IQ4_XS the index of the value
};

/// What PackRows* need: rows of `units` stored blocks each, `row_count` of them, one after the
/// other at `source`.
struct RowSource {
  tensor::DType dtype;
  const std::byte* source;
  int row_count;
  int64_t units;
};

/// Fill the zeroed units of one panel from a dtype of quant_blocks.h with blocks of 32 or 64, or of
/// 256, or from one of low_bit_blocks.h.
void PackRows32(const RowSource& rows, std::byte* panel);
void PackRows256(const RowSource& rows, std::byte* panel);
void PackRowsLowBit(const RowSource& rows, std::byte* panel);

/// Calls visit(block, row, unit index) for every stored block of `rows`, unit by unit, so that a
/// unit is filled while it is in L1.
template <typename Block, typename Visit>
void ForEachBlock(const RowSource& rows, Visit visit) {
  for (int64_t unit = 0; unit < rows.units; ++unit) {
    for (int row = 0; row < rows.row_count; ++row) {
      Block block;
      std::memcpy(&block, rows.source + (row * rows.units + unit) * int64_t{sizeof(Block)},
                  sizeof(Block));
      visit(block, row, unit);
    }
  }
}

// The loops below, and those of the decoders, run over whole arrays of bytes with a constant count
// and one operation in the body: compilers turn them into vector code of the base instruction set.

/// Stores the bytes of 32 columns, by groups of 4.
inline void PutBytes(uint8_t (&q)[8][16][4], int row, const uint8_t* bytes) {
  for (int k4 = 0; k4 < 8; ++k4) std::memcpy(q[k4][row], bytes + 4 * k4, 4);
}

/// Stores the nibbles (0..15) of 32 columns.
inline void PutNibbles(uint8_t (&nibbles)[4][16][4], int row, const uint8_t* values) {
  uint8_t pairs[16];
  for (int i = 0; i < 16; ++i) pairs[i] = static_cast<uint8_t>(values[i] | values[i + 16] << 4);
  for (int k4 = 0; k4 < 4; ++k4) std::memcpy(nibbles[k4][row], pairs + 4 * k4, 4);
}

/// The 4 bytes of a column group as one number, so that a shift and a mask act on all of them.
inline uint32_t LoadGroup(const uint8_t* bytes) {
  uint32_t group = 0;
  std::memcpy(&group, bytes, 4);
  return group;
}

/// Stores bit `bit` of 32 columns: bit k4 of byte c is that of column 4 k4 + c.
inline void PutBit(uint8_t (&high)[16][4], int row, const uint8_t* values, int bit) {
  uint32_t group = 0;
  for (int k4 = 0; k4 < 8; ++k4) group |= (LoadGroup(values + 4 * k4) >> bit & 0x01010101) << k4;
  std::memcpy(high[row], &group, 4);
}

/// Stores the low two bits of 32 columns.
inline void PutTwoBits(BlockTwoBits& block, int row, const uint8_t* values) {
  uint32_t groups[2] = {0, 0};
  for (int k4 = 0; k4 < 8; ++k4) {
    groups[k4 % 2] |= (LoadGroup(values + 4 * k4) & 0x03030303) << k4 / 2 * 2;
  }
  for (int parity = 0; parity < 2; ++parity) std::memcpy(block.q[parity][row], &groups[parity], 4);
}

/// Stores the values (0..7) of 32 columns.
inline void PutThreeBits(BlockQ3& block, int row, const uint8_t* values) {
  PutTwoBits(block.low, row, values);
  PutBit(block.high, row, values, 2);
}

/// Stores the values (0..31) of 32 columns.
inline void PutFiveBits(BlockQ5& block, int row, const uint8_t* values) {
  uint8_t low[32];
  for (int i = 0; i < 32; ++i) low[i] = values[i] & 15;
  PutNibbles(block.nibbles, row, low);
  PutBit(block.high, row, values, 4);
}

/// `weights` plus the offset of a unit: its unsigned integers.
template <size_t N>
std::array<uint8_t, N> Unsigned(const int8_t (&weights)[N], int offset) {
  std::array<uint8_t, N> out;
  for (size_t i = 0; i < N; ++i) out[i] = static_cast<uint8_t>(weights[i] + offset);
  return out;
}

}  // namespace skald::kernels
