/// The units of an activation tile, byte for byte (quantize/quantize.h says what a tile is).
///
/// For vector kernels, whose tile size is a constant: a struct per unit. For scalar code, whose
/// tile size is a variable: the same sections as pointers (SectionsOf*).
#pragma once

#include <cstddef>
#include <cstdint>

namespace skald::kernels {

/// 32 columns of MR tokens.
template <int MR>
struct Block32Tile {
  int8_t q[MR][32];
  float da[MR];
  int32_t corr8[MR];
  int32_t corr128[MR];
};

/// 256 columns of MR tokens.
template <int MR>
struct Super256Tile {
  int8_t q[8][MR][32];
  int32_t shift[8][MR];
  int32_t sum_pairs[4][MR];
  int32_t corr32[16][MR];
  float da[MR];
};

/// Bytes of one token in a unit; the structs above have MR times as many.
inline constexpr int kBlock32TokenBytes = 32 + 3 * 4;
inline constexpr int kSuper256TokenBytes = 256 + (8 + 4 + 16 + 1) * 4;
static_assert(sizeof(Block32Tile<1>) == kBlock32TokenBytes);
static_assert(sizeof(Block32Tile<16>) == 16 * kBlock32TokenBytes);
static_assert(sizeof(Super256Tile<1>) == kSuper256TokenBytes);
static_assert(sizeof(Super256Tile<3>) == 3 * kSuper256TokenBytes);

/// The sections of one unit of `tokens` tokens: entry [i][m] of a section of rows of tokens stands
/// at i * tokens + m, and q of token m of block b at (b * tokens + m) * 32.
struct Block32Sections {
  int8_t* q;
  float* da;
  int32_t* corr8;
  int32_t* corr128;
};
struct Super256Sections {
  int8_t* q;
  int32_t* shift;
  int32_t* sum_pairs;
  int32_t* corr32;
  float* da;
};

inline Block32Sections SectionsOfBlock32(std::byte* unit, int tokens) {
  std::byte* after_q = unit + 32 * tokens;
  return {.q = reinterpret_cast<int8_t*>(unit),
          .da = reinterpret_cast<float*>(after_q),
          .corr8 = reinterpret_cast<int32_t*>(after_q + 4 * tokens),
          .corr128 = reinterpret_cast<int32_t*>(after_q + 8 * tokens)};
}

inline Super256Sections SectionsOfSuper256(std::byte* unit, int tokens) {
  std::byte* after_q = unit + 256 * tokens;
  return {.q = reinterpret_cast<int8_t*>(unit),
          .shift = reinterpret_cast<int32_t*>(after_q),
          .sum_pairs = reinterpret_cast<int32_t*>(after_q + 8 * 4 * tokens),
          .corr32 = reinterpret_cast<int32_t*>(after_q + 12 * 4 * tokens),
          .da = reinterpret_cast<float*>(after_q + 28 * 4 * tokens)};
}

}  // namespace skald::kernels
