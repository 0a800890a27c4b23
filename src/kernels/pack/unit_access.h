/// Scalar access to the elements of a unit: the meaning of pack/unit_layout.h in code.
///
/// One set of overloads per unit type, so that the scalar matmul and the embedding look-up are
/// written once for all of them:
///
///     Weight(unit, row, column)      the integer weight, offset removed
///     FloatScale(unit, row)          the float scale d
///     FloatScale(unit, row, column)  the same where there are several
///     Scale(unit, row, sub_block)    the integer scale of a sub-block (super-block units)
///     Minimum(unit, row, sub_block)  its integer minimum (super-block units with a minimum)
///
/// and UnitTraits<Unit> for what differs as a whole. Slow on purpose: nothing here is vectorized.
#pragma once

#include <cstdint>

#include "kernels/pack/unit_layout.h"
#include "tensor/half.h"
#include "tensor/quant_blocks.h"

namespace skald::kernels {

/// Column `column` (0..31) of a row of bfloat16.
inline uint16_t& ElementOf(UnitBF16& unit, int row, int column) {
  return unit.w[column % 16][row][column / 16];
}
inline uint16_t ElementOf(const UnitBF16& unit, int row, int column) {
  return unit.w[column % 16][row][column / 16];
}

/// What kind of unit it is. kCols: its columns; kSubBlockCols: columns that share a scale, not the
/// one of the unit;
/// kHasMin: whether there is a minimum term.
template <typename Unit>
struct UnitTraits;

template <int Cols, int SubBlockCols, bool HasMin>
struct UnitTraitsOf {
  static constexpr int kCols = Cols;
  static constexpr int kSubBlockCols = SubBlockCols;
  static constexpr bool kHasMin = HasMin;
};

template <>
struct UnitTraits<UnitQ8> : UnitTraitsOf<32, 32, false> {};
template <>
struct UnitTraits<UnitQ5> : UnitTraitsOf<32, 32, false> {};
template <>
struct UnitTraits<UnitQ5M> : UnitTraitsOf<32, 32, true> {};
template <>
struct UnitTraits<UnitQ4> : UnitTraitsOf<32, 32, false> {};
template <>
struct UnitTraits<UnitQ4M> : UnitTraitsOf<32, 32, true> {};
template <>
struct UnitTraits<UnitI4NL> : UnitTraitsOf<32, 32, false> {};
template <>
struct UnitTraits<UnitMX4> : UnitTraitsOf<32, 32, false> {};
template <>
struct UnitTraits<UnitQ4K> : UnitTraitsOf<256, 32, true> {};
template <>
struct UnitTraits<UnitQ5K> : UnitTraitsOf<256, 32, true> {};
template <>
struct UnitTraits<UnitQ6K> : UnitTraitsOf<256, 16, false> {};
template <>
struct UnitTraits<UnitI4XS> : UnitTraitsOf<256, 32, false> {};
template <>
struct UnitTraits<UnitQ2K> : UnitTraitsOf<256, 16, true> {};
template <>
struct UnitTraits<UnitQ3K> : UnitTraitsOf<256, 16, false> {};
template <typename BlockType, Codebook kBook>
struct UnitTraits<UnitCodes<BlockType, kBook>> : UnitTraitsOf<256, 16, false> {};
template <>
struct UnitTraits<UnitT2> : UnitTraitsOf<256, 32, false> {};
template <>
struct UnitTraits<UnitQ2> : UnitTraitsOf<64, 32, false> {};
template <>
struct UnitTraits<UnitQ1> : UnitTraitsOf<128, 32, false> {};
template <>
struct UnitTraits<UnitNV4> : UnitTraitsOf<64, 16, false> {};

/// The 4-bit value of `column` (0..31) in a block of nibbles.
inline int NibbleOf(const uint8_t (&nibbles)[4][16][4], int row, int column) {
  const int k4 = column / 4;
  const int byte = nibbles[k4 % 4][row][column % 4];
  return k4 < 4 ? byte & 15 : byte >> 4;
}

/// The values of `column` (0..31) in blocks of 5, of 2 and of 3 bits.
inline int FiveBitsOf(const BlockQ5& block, int row, int column) {
  const int high = block.high[row][column % 4] >> column / 4 & 1;
  return NibbleOf(block.nibbles, row, column) + 16 * high;
}
inline int TwoBitsOf(const BlockTwoBits& block, int row, int column) {
  const int k4 = column / 4;
  return block.q[k4 % 2][row][column % 4] >> k4 / 2 * 2 & 3;
}
inline int ThreeBitsOf(const BlockQ3& block, int row, int column) {
  return TwoBitsOf(block.low, row, column) + 4 * (block.high[row][column % 4] >> column / 4 & 1);
}

inline int Weight(const UnitQ8& unit, int row, int column) {
  return unit.q[column / 4][row][column % 4] - 128;
}
inline int Weight(const UnitQ5& unit, int row, int column) {
  return FiveBitsOf(unit.block, row, column) - 16;
}
inline int Weight(const UnitQ5M& unit, int row, int column) {
  return FiveBitsOf(unit.block, row, column);
}
inline int Weight(const UnitI4NL& unit, int row, int column) {
  return tensor::kIQ4Values[NibbleOf(unit.nibbles, row, column)];
}
inline int Weight(const UnitQ4& unit, int row, int column) {
  return NibbleOf(unit.nibbles, row, column) - 8;
}
inline int Weight(const UnitQ4M& unit, int row, int column) {
  return NibbleOf(unit.nibbles, row, column);
}
inline int Weight(const UnitMX4& unit, int row, int column) {
  return tensor::kMXFP4Values[NibbleOf(unit.nibbles, row, column)];
}
inline int Weight(const UnitQ4K& unit, int row, int column) {
  return NibbleOf(unit.nibbles[column / 32], row, column % 32);
}
inline int Weight(const UnitQ5K& unit, int row, int column) {
  return FiveBitsOf(unit.blocks[column / 32], row, column % 32);
}
inline int Weight(const UnitQ6K& unit, int row, int column) {
  const BlockQ6& block = unit.blocks[column / 32];
  const int k4 = column % 32 / 4;
  const int high = block.high[k4 % 2][row][column % 4] >> kHighShiftQ6[k4] & 3;
  return NibbleOf(block.low, row, column % 32) + 16 * high - 32;
}
inline int Weight(const UnitI4XS& unit, int row, int column) {
  return tensor::kIQ4Values[NibbleOf(unit.nibbles[column / 32], row, column % 32)];
}
inline int Weight(const UnitQ2K& unit, int row, int column) {
  return TwoBitsOf(unit.blocks[column / 32], row, column % 32);
}
inline int Weight(const UnitQ3K& unit, int row, int column) {
  return ThreeBitsOf(unit.blocks[column / 32], row, column % 32) - 4;
}

/// Whether the bit of `column` (0..31) is set.
inline bool BitOf(const BlockBits& bits, int row, int column) {
  const int i = 4 * row + column % 4;
  return bits[column / 4][i / 8] >> i % 8 & 1;
}

/// The index of `column` (0..31) into the codebook, in the bits of the table.
inline int IndexOf(const BlockI2& block, int row, int column) {
  const int g = column / 8;
  return block.low[g][row] | (block.high[row] >> 2 * g & 3) << 8;
}
inline int IndexOf(const BlockI3& block, int row, int column) {
  const int k4 = column / 4;
  return block.low[k4][row] | (block.high[row] >> k4 & 1) << 8;
}
/// As 8: a negative shift.
inline int HighNibbleOf(const BlockI1& block, int row, int column) {
  const int g = column / 8;
  return block.high[g / 2][row] >> 4 * (g % 2) & 15;
}
inline int IndexOf(const BlockI1& block, int row, int column) {
  return block.low[column / 8][row] | (HighNibbleOf(block, row, column) & 7) << 8;
}

template <typename BlockType, Codebook kBook>
int Weight(const UnitCodes<BlockType, kBook>& unit, int row, int column) {
  const BlockType& block = unit.blocks[column / 32];
  const auto entry = EntriesOf<kBook>()[IndexOf(block, row, column % 32)];
  const int element = static_cast<int>(entry >> 8 * (column % int{sizeof(entry)}) & 255);
  if constexpr (kBook == Codebook::kIQ1) {
    return 8 * (element - 1) + ((HighNibbleOf(block, row, column % 32) & 8) != 0 ? -1 : 1);
  } else {
    return BitOf(block.signs, row, column % 32) ? -element : element;
  }
}

inline int Weight(const UnitT2& unit, int row, int column) {
  return TwoBitsOf(unit.blocks[column / 32], row, column % 32) - 1;
}
inline int Weight(const UnitQ2& unit, int row, int column) {
  return TwoBitsOf(unit.blocks[column / 32], row, column % 32) - 1;
}
inline int Weight(const UnitQ1& unit, int row, int column) {
  return BitOf(unit.blocks[column / 32], row, column % 32) ? 1 : -1;
}

inline int Weight(const UnitNV4& unit, int row, int column) {
  return tensor::kMXFP4Values[NibbleOf(unit.blocks[column / 32], row, column % 32)];
}

template <typename Unit>
float FloatScale(const Unit& unit, int row) {
  return tensor::FloatFromHalf(unit.d[row]);
}
inline float FloatScale(const UnitMX4& unit, int row) {
  return tensor::HalfOfPowerOfTwo(unit.e[row]);
}
template <typename Unit>
float FloatScale(const Unit& unit, int row, int) {
  return FloatScale(unit, row);
}
inline float FloatScale(const UnitNV4& unit, int row, int column) {
  return tensor::HalfOfE4M3(unit.d[column / 16][row]);
}
/// Exact: kStep is a power of two.
template <typename BlockType, Codebook kBook>
float FloatScale(const UnitCodes<BlockType, kBook>& unit, int row) {
  return tensor::FloatFromHalf(unit.d[row]) * unit.kStep;
}

/// Number of a (block, row) in PackedScales6.
inline int ScaleIndex(int row, int block) { return 32 * (block / 2) + 2 * row + block % 2; }

inline int ScaleOf(const PackedScales6& scales, int row, int block) {
  const int i = ScaleIndex(row, block);
  const int high = scales.high[i % 64] >> (i < 64 ? 0 : 2) & 3;
  return (scales.low[i] & 15) + 16 * high;
}
inline int MinimumOf(const PackedScales6& scales, int row, int block) {
  const int i = ScaleIndex(row, block);
  const int high = scales.high[i % 64] >> (i < 64 ? 4 : 6) & 3;
  return (scales.low[i] >> 4) + 16 * high;
}

inline int Scale(const UnitQ4K& unit, int row, int block) {
  return ScaleOf(unit.scales, row, block);
}
inline int Scale(const UnitQ5K& unit, int row, int block) {
  return ScaleOf(unit.scales, row, block);
}
inline int Scale(const UnitQ6K& unit, int row, int sub_block) {
  return unit.scales[sub_block][row];
}
inline int Scale(const UnitI4XS& unit, int row, int block) { return unit.scales[block][row]; }
inline int Scale(const UnitQ2K& unit, int row, int sub_block) {
  return unit.scales[sub_block / 2][row][sub_block % 2] & 15;
}
inline int Scale(const UnitQ3K& unit, int row, int sub_block) {
  return unit.scales[sub_block][row];
}
template <typename BlockType, Codebook kBook>
int Scale(const UnitCodes<BlockType, kBook>& unit, int row, int sub_block) {
  return 2 * (unit.blocks[sub_block / 2].scales[row] >> 4 * (sub_block % 2) & 15) + 1;
}
inline int Scale(const UnitT2&, int, int) { return 1; }

inline int Minimum(const UnitQ4K& unit, int row, int block) {
  return MinimumOf(unit.scales, row, block);
}
inline int Minimum(const UnitQ5K& unit, int row, int block) {
  return MinimumOf(unit.scales, row, block);
}
inline int Minimum(const UnitQ2K& unit, int row, int sub_block) {
  return unit.scales[sub_block / 2][row][sub_block % 2] >> 4;
}

}  // namespace skald::kernels
