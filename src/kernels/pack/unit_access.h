/// Scalar access to the elements of a unit: the meaning of pack/unit_layout.h in code.
///
/// One set of overloads per unit type, so that the scalar matmul and the embedding look-up are
/// written once for all of them:
///
///     Weight(unit, row, column)      the integer weight, offset removed
///     BlockScale(unit, row)          its float scale d (units of 32 columns)
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

/// What kind of unit it is. kSubBlockCols: columns that share a scale; kHasMin: whether there is a
/// minimum term.
template <typename Unit>
struct UnitTraits;

template <int SubBlockCols, bool HasMin>
struct UnitTraitsOf {
  static constexpr int kSubBlockCols = SubBlockCols;
  static constexpr bool kHasMin = HasMin;
};

template <>
struct UnitTraits<UnitQ8> : UnitTraitsOf<32, false> {};
template <>
struct UnitTraits<UnitQ8M> : UnitTraitsOf<32, true> {};
template <>
struct UnitTraits<UnitQ4> : UnitTraitsOf<32, false> {};
template <>
struct UnitTraits<UnitQ4M> : UnitTraitsOf<32, true> {};
template <>
struct UnitTraits<UnitMX4> : UnitTraitsOf<32, false> {};
template <>
struct UnitTraits<UnitQ4K> : UnitTraitsOf<32, true> {};
template <>
struct UnitTraits<UnitQ5K> : UnitTraitsOf<32, true> {};
template <>
struct UnitTraits<UnitQ6K> : UnitTraitsOf<16, false> {};
template <>
struct UnitTraits<UnitQ8K> : UnitTraitsOf<16, true> {};

/// The 4-bit value of `column` (0..31) in a block of nibbles.
inline int NibbleOf(const uint8_t (&nibbles)[4][16][4], int row, int column) {
  const int k4 = column / 4;
  const int byte = nibbles[k4 % 4][row][column % 4];
  return k4 < 4 ? byte & 15 : byte >> 4;
}

inline int Weight(const UnitQ8& unit, int row, int column) {
  return unit.q[column / 4][row][column % 4] - 128;
}
inline int Weight(const UnitQ8M& unit, int row, int column) {
  return unit.q[column / 4][row][column % 4];
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
  const BlockQ5& block = unit.blocks[column / 32];
  const int k4 = column % 32 / 4;
  return NibbleOf(block.nibbles, row, column % 32) + 16 * (block.high[row][column % 4] >> k4 & 1);
}
inline int Weight(const UnitQ6K& unit, int row, int column) {
  const BlockQ6& block = unit.blocks[column / 32];
  const int k4 = column % 32 / 4;
  const int high = block.high[k4 % 2][row][column % 4] >> kHighShiftQ6[k4] & 3;
  return NibbleOf(block.low, row, column % 32) + 16 * high - 32;
}
inline int Weight(const UnitQ8K& unit, int row, int column) {
  return unit.q[column / 32][column % 32 / 4][row][column % 4] - 128;
}

template <typename Unit>
float BlockScale(const Unit& unit, int row) {
  return tensor::FloatFromHalf(unit.d[row]);
}
inline float BlockScale(const UnitMX4& unit, int row) {
  return tensor::HalfOfPowerOfTwo(unit.e[row]);
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
inline int Scale(const UnitQ8K& unit, int row, int sub_block) {
  return unit.scales[sub_block][row];
}

inline int Minimum(const UnitQ4K& unit, int row, int block) {
  return MinimumOf(unit.scales, row, block);
}
inline int Minimum(const UnitQ5K& unit, int row, int block) {
  return MinimumOf(unit.scales, row, block);
}
inline int Minimum(const UnitQ8K& unit, int row, int sub_block) {
  return unit.mins[sub_block][row];
}

}  // namespace skald::kernels
