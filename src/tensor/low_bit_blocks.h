/// The quantized blocks of GGUF files with 1 to 3.5 bits a weight, byte for byte: what
/// quant_blocks.h is for the others. Source: as there.
#pragma once

#include <cstdint>

namespace skald::tensor {

/// The IQ types hold 256 elements as entries of a codebook (codebooks.h), in order; block b is the
/// elements 32 b .. 32 b + 31, "signs" are those of 8 elements, bit i set for a negative element i.
///
/// w = d / 8 * (2 s + 1) * magnitude, a scale s for each block. The bytes of block b, q = qs + 8 b:
/// 4 indices into kIQ2XXSGrid, then a 32-bit word: SignsOf 7 bits each for the 4 entries, s in bits
/// 28-31. 2.0625 bits.
struct BlockIQ2_XXS {
  uint16_t d;
  uint8_t qs[64];
};
static_assert(sizeof(BlockIQ2_XXS) == 66);

/// w = d / 8 * (2 s + 1) * magnitude, s for each 16 elements: the low nibble of scales[b] for the
/// first half of block b, the high one for the second. Entry j: 9 bits of qs[j] are an index into
/// kIQ2XSGrid, the 7 above them SignsOf. 2.3125 bits.
struct BlockIQ2_XS {
  uint16_t d;
  uint16_t qs[32];
  uint8_t scales[8];
};
static_assert(sizeof(BlockIQ2_XS) == 74);

/// Scales as IQ2_XS. Entry j = 4 b + l: the index into kIQ2SGrid is qs[j] + 256 * ((qh[b] >> 2 l) &
/// 3), its signs are signs[j]. 2.5625 bits.
struct BlockIQ2_S {
  uint16_t d;
  uint8_t qs[32];
  uint8_t signs[32];
  uint8_t qh[8];
  uint8_t scales[8];
};
static_assert(sizeof(BlockIQ2_S) == 82);

/// w = d / 4 * (2 s + 1) * magnitude, s for each block. Entry j of 4 elements: qs[j] is an index
/// into kIQ3XXSGrid. words[4 b .. 4 b + 3] are a 32-bit word: SignsOf 7 bits for each 8 elements, s
/// in bits 28-31. 3.0625 bits.
struct BlockIQ3_XXS {
  uint16_t d;
  uint8_t qs[64];
  uint8_t words[32];
};
static_assert(sizeof(BlockIQ3_XXS) == 98);

/// w = d * (2 s + 1) * magnitude, s for each block: nibble b % 2 of scales[b / 2]. Entry j = 8 b +
/// l of 4 elements: the index into kIQ3SGrid is qs[j] + 256 * bit l of qh[b]. signs[j] are those of
/// the elements 8 j .. 8 j + 7. 3.4375 bits.
struct BlockIQ3_S {
  uint16_t d;
  uint8_t qs[64];
  uint8_t qh[8];
  uint8_t signs[32];
  uint8_t scales[4];
};
static_assert(sizeof(BlockIQ3_S) == 110);

/// w = d / 8 * (2 s + 1) * (8 g + shift), g of kIQ1Grid minus one, s and shift for each block: s is
/// bits 12-14 of qh[b], shift -1 if bit 15 is set, else 1. Entry j = 4 b + l: the index is qs[j] +
/// 256 * ((qh[b] >> 3 l) & 7). 1.5625 bits.
struct BlockIQ1_S {
  uint16_t d;
  uint8_t qs[32];
  uint16_t qh[8];
};
static_assert(sizeof(BlockIQ1_S) == 50);

/// The same with s for each 16 elements and shift for each entry. Entry j has a nibble of qh: n =
/// qh[j / 2] >> 4 (j % 2); the index is qs[j] + 256 * (n & 7), shift -1 if bit 3 of n is set. The
/// 16 elements h (0 or 1) of block b: s = (scales[b / 2] >> (6 (b % 2) + 3 h)) & 7. Nibble i of d
/// is bits 12-15 of scales[i]. 1.75 bits.
struct BlockIQ1_M {
  uint8_t qs[32];
  uint8_t qh[16];
  uint16_t scales[4];

  uint16_t d() const {
    return static_cast<uint16_t>(scales[0] >> 12 | scales[1] >> 12 << 4 | scales[2] >> 12 << 8 |
                                 scales[3] >> 12 << 12);
  }
};
static_assert(sizeof(BlockIQ1_M) == 56);

/// 256 elements, w = d * (t - 1), t in 0..2 a ternary digit. A byte x holds digits 0..4 (qh: 0..3)
/// as a fraction of 256: digit n is (3 * ((x * 3^n) mod 256)) >> 8. Elements 32 n + m: digit n of
/// qs[m], m < 32; then 16 n + m: digit n of qs[32 + m], m < 16; then 4 n + m: digit n of qh[m].
/// 1.6875 bits.
struct BlockTQ1_0 {
  uint8_t qs[48];
  uint8_t qh[4];
  uint16_t d;
};
static_assert(sizeof(BlockTQ1_0) == 54);

/// 256 elements, w = d * (q - 1), q for i = 128 h + 32 j + l as in Q2_K. 2.0625 bits.
struct BlockTQ2_0 {
  uint8_t qs[64];
  uint16_t d;
};
static_assert(sizeof(BlockTQ2_0) == 66);

/// 128 elements, w = d if bit i % 8 of qs[i / 8] is set, else -d. 1.125 bits.
struct BlockQ1_0 {
  uint16_t d;
  uint8_t qs[16];
};
static_assert(sizeof(BlockQ1_0) == 18);

/// 64 elements, w = d * (((qs[i / 4] >> 2 (i % 4)) & 3) - 1). 2.25 bits.
struct BlockQ2_0 {
  uint16_t d;
  uint8_t qs[16];
};
static_assert(sizeof(BlockQ2_0) == 18);

}  // namespace skald::tensor
