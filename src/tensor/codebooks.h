/// The codebooks of the IQ types: an index of 8 to 11 bits stands for 8 or 4 neighbouring elements.
///
/// The tables are a part of the format, published with ggml (ggml-common.h). Element i of an entry
/// is byte i, counted from the low end. Elements of the 2- and 3-bit types are magnitudes, their
/// signs are stored apart; elements of IQ1 are -1, 0 and 1, and stand here plus one.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace skald::tensor {

extern const std::array<uint64_t, 256> kIQ2XXSGrid;  ///< 8 magnitudes: 8, 25, 43
extern const std::array<uint64_t, 512> kIQ2XSGrid;   ///< the same, other combinations
extern const std::array<uint64_t, 1024> kIQ2SGrid;   ///< the same, other combinations
extern const std::array<uint32_t, 256> kIQ3XXSGrid;  ///< 4 magnitudes: 4, 12, 20, .., 52, and 62
extern const std::array<uint32_t, 512> kIQ3SGrid;    ///< 4 magnitudes: 1, 3, .., 15
extern const std::array<uint64_t, 2048> kIQ1Grid;    ///< 8 of 0, 1, 2: the element plus one

/// The signs of 8 elements, bit i set for a negative element i, from the 7 that a file stores: the
/// number of negative elements is even. Requires bits < 128.
constexpr uint8_t SignsOf(uint32_t bits) {
  return static_cast<uint8_t>(bits | static_cast<uint32_t>(std::popcount(bits) & 1) << 7);
}

}  // namespace skald::tensor
