/// The units of a panel, byte for byte (pack/panel.h says what a unit is).
///
/// One struct per panel type with quantized weights. `row` counts the 16 rows of the panel, so one
/// vector lane is one row everywhere. Halves are stored as bits. A block of 32 columns is cut into
/// 8 groups of 4 columns, k4 = column / 4 and c = column % 4: the 4 bytes [k4][row][..] are what
/// one lane of a dot-product instruction (vpdpbusd) consumes.
///
/// The structs have alignment 1 or 2 and are laid over the packed bytes; every vector section of
/// the super-block units starts at a multiple of 64 bytes from the start of the unit, the sections
/// of the 32-column units at a multiple of 32, of UnitMX4 and of the units with 1 to 3 bits at one
/// of 16.
#pragma once

#include <cstdint>

#include "tensor/codebooks.h"

namespace skald::kernels {

/// Columns of a block, and of a super-block.
inline constexpr int kBlockCols = 32;
inline constexpr int kSuperCols = 256;
inline constexpr int kSuperBlocks = kSuperCols / kBlockCols;
/// Sub-blocks of 16 columns, for the types that have a scale for each 16.
inline constexpr int kSuperSubBlocks = 16;

/// 32 columns of bfloat16. The two of a dword belong to the two chains of numerics 3.6, so that a
/// unit is a tile of the AMX extension: TDPBF16PS has one chain for the low halves of the dwords of
/// a lane and one for the high halves.
struct UnitBF16 {
  uint16_t w[16][16][2];  ///< [k][row]: column k, column 16 + k
};
static_assert(sizeof(UnitBF16) == 1024);

/// w = d * (q - 128).
struct UnitQ8 {
  uint16_t d[16];
  uint8_t q[8][16][4];  ///< [k4][row][c]
};
static_assert(sizeof(UnitQ8) == 544);

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

/// w = d * kIQ4Values[q].
struct UnitI4NL {
  uint16_t d[16];
  uint8_t nibbles[4][16][4];  ///< q as in UnitQ4
};
static_assert(sizeof(UnitI4NL) == 288);

/// 32 columns with 5 bits.
struct BlockQ5 {
  uint8_t nibbles[4][16][4];  ///< the low 4 bits, as in UnitQ4
  uint8_t high[16][4];        ///< [row][c]: bit k4 is the fifth bit of column 4 k4 + c
};
static_assert(sizeof(BlockQ5) == 320);

/// w = d * (q - 16).
struct UnitQ5 {
  uint16_t d[16];
  BlockQ5 block;
};
static_assert(sizeof(UnitQ5) == 352);

/// w = d * q + m.
struct UnitQ5M {
  uint16_t d[16];
  uint16_t m[16];
  BlockQ5 block;
};
static_assert(sizeof(UnitQ5M) == 384);

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

/// w = d * scale * kIQ4Values[q], a scale for each block.
struct UnitI4XS {
  uint16_t d[16];
  uint8_t padding[32];           ///< zero
  int8_t scales[8][16];          ///< [block][row], -32..31
  uint8_t nibbles[8][4][16][4];  ///< [block], then q as in UnitQ4
};
static_assert(sizeof(UnitI4XS) == 2240);

/// 32 columns with 2 bits.
struct BlockTwoBits {
  uint8_t q[2][16][4];  ///< [k4 % 2][row][c]: column group k4 in bits 2 (k4 / 2) and the next
};
static_assert(sizeof(BlockTwoBits) == 128);

/// w = d * scale * q - dmin * minimum, a scale and a minimum for each 16 columns.
struct UnitQ2K {
  uint16_t d[16];
  uint16_t dmin[16];
  uint8_t scales[8][16][2];  ///< [block][row][half]: scale low, minimum high
  BlockTwoBits blocks[8];
};
static_assert(sizeof(UnitQ2K) == 1344);

/// 32 columns with 3 bits.
struct BlockQ3 {
  BlockTwoBits low;
  uint8_t high[16][4];  ///< [row][c]: bit k4 is the third bit of column 4 k4 + c
};
static_assert(sizeof(BlockQ3) == 192);

/// w = d * scale * (q - 4), a scale for each 16 columns.
struct UnitQ3K {
  uint16_t d[16];
  uint8_t padding[32];    ///< zero
  int8_t scales[16][16];  ///< [sub-block][row], -32..31
  BlockQ3 blocks[8];
};
static_assert(sizeof(UnitQ3K) == 1856);

/// Bits of 32 columns: bit 4 row + c of the 64 (little endian) of k4 is that of column 4 k4 + c. As
/// a number it is the mask register of a vector [row][c].
using BlockBits = uint8_t[8][8];

/// 32 columns of the 2-bit codebooks: 4 entries of 8 columns a row, g = column / 8.
struct BlockI2 {
  uint8_t low[4][16];  ///< [g][row]: the low 8 bits of the index
  uint8_t high[16];    ///< [row]: its bits 8-9 are bits 2 g and 2 g + 1
  uint8_t scales[16];  ///< [row]: s of the columns 0..15 low, of 16..31 high; the scale is 2 s + 1
  BlockBits signs;     ///< set: negative
};
static_assert(sizeof(BlockI2) == 160);

/// 32 columns of the 3-bit codebooks: 8 entries of 4 columns a row.
struct BlockI3 {
  uint8_t low[8][16];  ///< [k4][row]: the low 8 bits of the index
  uint8_t high[16];    ///< [row]: bit k4 is its ninth bit
  uint8_t scales[16];  ///< as in BlockI2
  BlockBits signs;
};
static_assert(sizeof(BlockI3) == 224);

/// 32 columns of the ternary codebook: 4 entries of 8 columns a row, g = column / 8.
struct BlockI1 {
  uint8_t low[4][16];   ///< [g][row]: the low 8 bits of the index
  uint8_t high[2][16];  ///< [g / 2][row]: nibble g % 2 is its bits 8-10 and, as 8, a negative shift
  uint8_t scales[16];   ///< as in BlockI2
};
static_assert(sizeof(BlockI1) == 112);

/// w = d * kStep * scale * q; q = +- the element of kBook, of kIQ1 8 * (element - 1) +- 1.
enum class Codebook : uint8_t { kIQ2XXS, kIQ2XS, kIQ2S, kIQ3XXS, kIQ3S, kIQ1 };
template <typename BlockType, Codebook kBookOf>
struct UnitCodes {
  static constexpr Codebook kBook = kBookOf;
  static constexpr float kStep = kBook == Codebook::kIQ3S     ? 1.0f
                                 : kBook == Codebook::kIQ3XXS ? 0.25f
                                                              : 0.125f;
  uint16_t d[16];
  BlockType blocks[8];
};
using UnitI2XXS = UnitCodes<BlockI2, Codebook::kIQ2XXS>;
using UnitI2XS = UnitCodes<BlockI2, Codebook::kIQ2XS>;
using UnitI2S = UnitCodes<BlockI2, Codebook::kIQ2S>;
using UnitI3XXS = UnitCodes<BlockI3, Codebook::kIQ3XXS>;
using UnitI3S = UnitCodes<BlockI3, Codebook::kIQ3S>;
using UnitI1 = UnitCodes<BlockI1, Codebook::kIQ1>;
static_assert(sizeof(UnitI2S) == 1312 && sizeof(UnitI3S) == 1824 && sizeof(UnitI1) == 928);

/// The entries of a codebook.
template <Codebook kBook>
const auto* EntriesOf() {
  if constexpr (kBook == Codebook::kIQ2XXS) return tensor::kIQ2XXSGrid.data();
  if constexpr (kBook == Codebook::kIQ2XS) return tensor::kIQ2XSGrid.data();
  if constexpr (kBook == Codebook::kIQ2S) return tensor::kIQ2SGrid.data();
  if constexpr (kBook == Codebook::kIQ3XXS) return tensor::kIQ3XXSGrid.data();
  if constexpr (kBook == Codebook::kIQ3S) return tensor::kIQ3SGrid.data();
  if constexpr (kBook == Codebook::kIQ1) return tensor::kIQ1Grid.data();
}

/// w = d * kMXFP4Values[q], d = HalfOfE4M3 of a byte for each 16 columns.
struct UnitNV4 {
  uint8_t d[4][16];             ///< [sub-block][row]
  uint8_t blocks[2][4][16][4];  ///< [block], then q as in UnitQ4
};
static_assert(sizeof(UnitNV4) == 576);

/// w = d * (q - 1), one d for 256 columns.
struct UnitT2 {
  uint16_t d[16];
  BlockTwoBits blocks[8];
};
static_assert(sizeof(UnitT2) == 1056);

/// w = d * (q - 1), one d for 64 columns.
struct UnitQ2 {
  uint16_t d[16];
  BlockTwoBits blocks[2];
};
static_assert(sizeof(UnitQ2) == 288);

/// w = d where the bit is set, else -d: d * (2 * bit - 1). One d for 128 columns.
struct UnitQ1 {
  uint16_t d[16];
  BlockBits blocks[4];
};
static_assert(sizeof(UnitQ1) == 288);

}  // namespace skald::kernels
