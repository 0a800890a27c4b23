/// The units of a panel, byte for byte (pack/panel.h says what a unit is).
///
/// One struct per panel type with quantized weights. `row` counts the 16 rows of the panel, so one
/// vector lane is one row everywhere. Halves are stored as bits. A block of 32 columns is cut into
/// 8 groups of 4 columns, k4 = column / 4 and c = column % 4: the 4 bytes [k4][row][..] are what
/// one lane of a dot-product instruction (vpdpbusd) consumes.
///
/// The structs have alignment 1 or 2 and are laid over the packed bytes; every vector section of
/// the super-block units starts at a multiple of 64 bytes from the start of the unit, the sections
/// of the 32-column units at a multiple of 32, of UnitMX4 at one of 16.
#pragma once

#include <cstdint>

namespace skald::kernels {

/// Columns of a block, and of a super-block.
inline constexpr int kBlockCols = 32;
inline constexpr int kSuperCols = 256;
inline constexpr int kSuperBlocks = kSuperCols / kBlockCols;
/// Sub-blocks of 16 columns, for the types that have a scale for each 16.
inline constexpr int kSuperSubBlocks = 16;

/// w = d * (q - 128).
struct UnitQ8 {
  uint16_t d[16];
  uint8_t q[8][16][4];  ///< [k4][row][c]
};
static_assert(sizeof(UnitQ8) == 544);

/// w = d * q + m.
struct UnitQ8M {
  uint16_t d[16];
  uint16_t m[16];
  uint8_t q[8][16][4];  ///< [k4][row][c], 0..31: the AVX2 kernel relies on 5 bits
};
static_assert(sizeof(UnitQ8M) == 576);

/// w = d * (q - 8).
struct UnitQ4 {
  uint16_t d[16];
  uint8_t nibbles[4][16][4];  ///< byte [j][row][c]: column 4 j + c low, column 4 (j + 4) + c high
};
static_assert(sizeof(UnitQ4) == 288);

/// w = d * q + m.
struct UnitQ4M {
  uint16_t d[16];
  uint16_t m[16];
  uint8_t nibbles[4][16][4];  ///< as in UnitQ4
};
static_assert(sizeof(UnitQ4M) == 320);

/// w = d * kMXFP4Values[q], d = 2^(e - 128).
struct UnitMX4 {
  uint8_t e[16];
  uint8_t nibbles[4][16][4];  ///< q as in UnitQ4
};
static_assert(sizeof(UnitMX4) == 272);

/// The 6-bit scales and minimums of 8 blocks of 16 rows: 256 values of 6 bits in 192 bytes.
///
/// Value number i = 32 * pair + 2 * row + parity belongs to block 2 * pair + parity, so the two
/// blocks of a pair stand side by side: widened to 16 bits, one 32-byte run is 16 lanes of
/// (block 2j, block 2j + 1), the operand of vpdpwssd and vpmaddwd.
///
///     low[i]           bits 0-3: low bits of scale i         bits 4-7: low bits of minimum i
///     high[i % 64]     bits 0-1: high bits of scale i  (i < 64)     bits 2-3: the same (i >= 64)
///                      bits 4-5: high bits of minimum i (i < 64)    bits 6-7: the same (i >= 64)
struct PackedScales6 {
  uint8_t low[128];
  uint8_t high[64];
};
static_assert(sizeof(PackedScales6) == 192);

/// w = d * scale * q - dmin * minimum, a scale and a minimum for each block.
struct UnitQ4K {
  uint16_t d[16];
  uint16_t dmin[16];
  PackedScales6 scales;
  uint8_t nibbles[8][4][16][4];  ///< [block], then as in UnitQ4
};
static_assert(sizeof(UnitQ4K) == 2304);

/// 32 columns with 5 bits.
struct BlockQ5 {
  uint8_t nibbles[4][16][4];  ///< the low 4 bits, as in UnitQ4
  uint8_t high[16][4];        ///< [row][c]: bit k4 is the fifth bit of column 4 k4 + c
};
static_assert(sizeof(BlockQ5) == 320);

/// w = d * scale * q - dmin * minimum.
struct UnitQ5K {
  uint16_t d[16];
  uint16_t dmin[16];
  PackedScales6 scales;
  BlockQ5 blocks[8];
};
static_assert(sizeof(UnitQ5K) == 2816);

/// Where the high two bits of column group k4 stand in the bytes of BlockQ6::high[k4 % 2], so that
/// one shift (left 4, none, left 2 or right 2) brings them to bits 4-5.
inline constexpr int kHighShiftQ6[8] = {0, 0, 4, 4, 2, 2, 6, 6};

/// 32 columns with 6 bits.
struct BlockQ6 {
  uint8_t low[4][16][4];   ///< the low 4 bits, as in UnitQ4
  uint8_t high[2][16][4];  ///< [k4 % 2][row][c]: 2 bits at kHighShiftQ6[k4] for each k4
};
static_assert(sizeof(BlockQ6) == 384);

/// w = d * scale * (q - 32), a scale for each 16 columns.
struct UnitQ6K {
  uint16_t d[16];
  uint8_t padding[32];    ///< zero
  int8_t scales[16][16];  ///< [sub-block][row]
  BlockQ6 blocks[8];
};
static_assert(sizeof(UnitQ6K) == 3392);

/// w = d * scale * (q - 128) - dmin * minimum, a scale and a minimum for each 16 columns.
struct UnitQ8K {
  uint16_t d[16];
  uint16_t dmin[16];
  int8_t scales[16][16];   ///< [sub-block][row]
  uint8_t mins[16][16];    ///< [sub-block][row]
  uint8_t q[8][8][16][4];  ///< [block][k4][row][c]
};
static_assert(sizeof(UnitQ8K) == 4672);

}  // namespace skald::kernels
