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

/// 128 columns of MR tokens. Two blocks of 32 columns of a token stand side by side, so that 16
/// tokens of 64 columns are a tile register of the AMX extension.
template <int MR>
struct Block128Tile {
  int8_t q[2][MR][64];
  int32_t sum_pairs[2][MR];
  int32_t corr32[8][MR];
  float da[MR];
};

/// 32 columns of MR tokens: for MR 16 a tile register of the AMX extension. The two of a dword
/// belong to the two chains of numerics 3.6 (pack/unit_layout.h, UnitBF16).
template <int MR>
struct BFloat16Tile {
  uint16_t x[MR][16][2];  ///< [token][k]: column k, column 16 + k
};

/// Bytes of one token in a unit; the structs above have MR times as many.
inline constexpr int kBlock32TokenBytes = 32 + 3 * 4;
inline constexpr int kBlock128TokenBytes = 128 + (2 + 8 + 1) * 4;
inline constexpr int kBFloat16TokenBytes = 64;
static_assert(sizeof(Block32Tile<1>) == kBlock32TokenBytes);
static_assert(sizeof(Block32Tile<16>) == 16 * kBlock32TokenBytes);
static_assert(sizeof(Block128Tile<1>) == kBlock128TokenBytes);
static_assert(sizeof(Block128Tile<3>) == 3 * kBlock128TokenBytes);
static_assert(sizeof(BFloat16Tile<3>) == 3 * kBFloat16TokenBytes);

/// The sections of one unit of `tokens` tokens: entry [i][m] of a section of rows of tokens stands
/// at i * tokens + m; q of token m at 32 * m, and in units of 128 columns the q of block b at
/// 64 * (b / 2 * tokens + m) + 32 * (b % 2).
struct Block32Sections {
  int8_t* q;
  float* da;
  int32_t* corr8;
  int32_t* corr128;
};
struct Block128Sections {
  int8_t* q;
  int32_t* sum_pairs;
  int32_t* corr32;
  float* da;
  int tokens;

  /// The activations of block `b` (0..3) of token `m`.
  int8_t* block(int b, int m) const { return q + 64 * (b / 2 * tokens + m) + 32 * (b % 2); }
};

inline Block32Sections SectionsOfBlock32(std::byte* unit, int tokens) {
  std::byte* after_q = unit + 32 * tokens;
  return {.q = reinterpret_cast<int8_t*>(unit),
          .da = reinterpret_cast<float*>(after_q),
          .corr8 = reinterpret_cast<int32_t*>(after_q + 4 * tokens),
          .corr128 = reinterpret_cast<int32_t*>(after_q + 8 * tokens)};
}

inline Block128Sections SectionsOfBlock128(std::byte* unit, int tokens) {
  std::byte* after_q = unit + 128 * tokens;
  return {.q = reinterpret_cast<int8_t*>(unit),
          .sum_pairs = reinterpret_cast<int32_t*>(after_q),
          .corr32 = reinterpret_cast<int32_t*>(after_q + 2 * 4 * tokens),
          .da = reinterpret_cast<float*>(after_q + 10 * 4 * tokens),
          .tokens = tokens};
}

}  // namespace skald::kernels
