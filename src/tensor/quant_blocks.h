/// The quantized blocks of GGUF files, byte for byte.
///
/// Each struct is one block: `w` are the elements of a row that it stands for, in order. All fields
/// are little endian and unaligned in the file (the structs have alignment 2 at most and are read
/// by memcpy). Source: the GGUF/ggml format as published in ggml's ggml-common.h and its reference
/// dequantization; d and dmin are IEEE half floats as bits.
#pragma once

#include <cstdint>

namespace skald::tensor {

/// w[i] = d * q[i], i in 0..31. 8.5 bits a weight.
struct BlockQ8_0 {
  uint16_t d;
  int8_t q[32];
};
static_assert(sizeof(BlockQ8_0) == 34);

/// w[i] = d * (q[i] - 8); q[i] is the low nibble of qs[i] for i < 16, the high nibble of qs[i - 16]
/// else. 4.5 bits.
struct BlockQ4_0 {
  uint16_t d;
  uint8_t qs[16];
};
static_assert(sizeof(BlockQ4_0) == 18);

/// w[i] = d * q[i] + m; nibbles as in Q4_0. 5 bits.
struct BlockQ4_1 {
  uint16_t d;
  uint16_t m;
  uint8_t qs[16];
};
static_assert(sizeof(BlockQ4_1) == 20);

/// w[i] = d * (q[i] - 16); q[i] = nibble as in Q4_0 + 16 * bit i of the 32-bit word qh (bytes,
/// little endian). 5.5 bits.
struct BlockQ5_0 {
  uint16_t d;
  uint8_t qh[4];
  uint8_t qs[16];
};
static_assert(sizeof(BlockQ5_0) == 22);

/// w[i] = d * q[i] + m; q[i] as in Q5_0. 6 bits.
struct BlockQ5_1 {
  uint16_t d;
  uint16_t m;
  uint8_t qh[4];
  uint8_t qs[16];
};
static_assert(sizeof(BlockQ5_1) == 24);

/// 256 elements in 16 sub-blocks of 16: w = d * (scales[s] & 15) * q - dmin * (scales[s] >> 4), s =
/// i / 16. q[i], 2 bits: for i = 128 h + 32 j + l (h in 0..1, j in 0..3, l in 0..31): (qs[32 h + l]
/// >> 2 j) & 3. 2.625 bits.
struct BlockQ2_K {
  uint8_t scales[16];
  uint8_t qs[64];
  uint16_t d;
  uint16_t dmin;
};
static_assert(sizeof(BlockQ2_K) == 84);

/// 256 elements in 16 sub-blocks of 16: w = d * (sc[s] - 32) * q.
/// q[i] = ((qs[32 h + l] >> 2 j) & 3) - (bit (4 h + j) of hmask[l] set ? 0 : 4), i = 128 h + 32 j +
/// l as in Q2_K. sc[s], 6 bits: low 4 bits are nibble s of scales[0..7] (s < 8 low nibbles, s >= 8
/// high nibbles of scales[s - 8]); high 2 bits are (scales[8 + s % 4] >> 2 (s / 4)) & 3. 3.4375
/// bits.
struct BlockQ3_K {
  uint8_t hmask[32];
  uint8_t qs[64];
  uint8_t scales[12];
  uint16_t d;
};
static_assert(sizeof(BlockQ3_K) == 110);

/// 256 elements in 8 sub-blocks of 32: w = d * sc[s] * q - dmin * mn[s], s = i / 32.
/// q[i]: for i = 64 c + l, l < 32: low nibble of qs[32 c + l]; l >= 32: high nibble of qs[32 c + l
/// - 32]. sc, mn, 6 bits each, from scales[12]: s < 4: sc = scales[s] & 63, mn = scales[s + 4] &
/// 63; s >= 4: sc = (scales[s + 4] & 15) | (scales[s - 4] >> 6 << 4), mn = (scales[s + 4] >> 4) |
/// (scales[s] >> 6 << 4). 4.5 bits.
struct BlockQ4_K {
  uint16_t d;
  uint16_t dmin;
  uint8_t scales[12];
  uint8_t qs[128];
};
static_assert(sizeof(BlockQ4_K) == 144);

/// As Q4_K with a fifth bit: q[i] += 16 if bit s of qh[i % 32] is set. 5.5 bits.
struct BlockQ5_K {
  uint16_t d;
  uint16_t dmin;
  uint8_t scales[12];
  uint8_t qh[32];
  uint8_t qs[128];
};
static_assert(sizeof(BlockQ5_K) == 176);

/// 256 elements in 16 sub-blocks of 16: w = d * scales[s] * (q - 32), s = i / 16.
/// q[i], 6 bits, i = 128 h + 32 j + l: low 4 bits: nibble (j / 2) of ql[64 h + 32 (j % 2) + l];
/// high 2 bits: (qh[32 h + l] >> 2 j) & 3. 6.5625 bits.
struct BlockQ6_K {
  uint8_t ql[128];
  uint8_t qh[64];
  int8_t scales[16];
  uint16_t d;
};
static_assert(sizeof(BlockQ6_K) == 210);

/// w[i] = d * kIQ4Values[q[i]]; nibbles as in Q4_0. 4.5 bits.
struct BlockIQ4_NL {
  uint16_t d;
  uint8_t qs[16];
};
static_assert(sizeof(BlockIQ4_NL) == 18);

/// 256 elements in 8 sub-blocks of 32: w = d * (ls[s] - 32) * kIQ4Values[q[i]].
/// q: sub-block s uses qs[16 s .. 16 s + 15], nibbles as in Q4_0. ls[s], 6 bits: low 4 bits nibble
/// (s % 2) of scales_l[s / 2], high 2 bits (scales_h >> 2 s) & 3. 4.25 bits.
struct BlockIQ4_XS {
  uint16_t d;
  uint16_t scales_h;
  uint8_t scales_l[4];
  uint8_t qs[128];
};
static_assert(sizeof(BlockIQ4_XS) == 136);

/// w[i] = d * kMXFP4Values[q[i]], d = HalfOfPowerOfTwo(e) (tensor/half.h); nibbles as in Q4_0. 4.25
/// bits. "OCP Microscaling Formats (MX) v1.0" defines it: a shared exponent, E8M0, and 4-bit
/// floats, E2M1. Their values 0, 0.5, 1, 1.5, 2, 3, 4, 6 are doubled here, and d is halved for it.
struct BlockMXFP4 {
  uint8_t e;
  uint8_t qs[16];
};
static_assert(sizeof(BlockMXFP4) == 17);

/// 64 elements in 4 sub-blocks of 16: w = d[s] * kMXFP4Values[q], d[s] = HalfOfE4M3(d[s])
/// (tensor/half.h). q of element i of a sub-block: low nibble of qs[8 s + i] for i < 8, high nibble
/// of qs[8 s + i - 8] else. 4.5 bits. The scale of the whole tensor stands in a tensor of its own.
struct BlockNVFP4 {
  uint8_t d[4];
  uint8_t qs[32];
};
static_assert(sizeof(BlockNVFP4) == 36);

/// The 16 values of the 4-bit floats, doubled; minus zero is zero.
inline constexpr int8_t kMXFP4Values[16] = {0, 1,  2,  3,  4,  6,  8,  12,
                                            0, -1, -2, -3, -4, -6, -8, -12};

/// The 16 values of the non-linear 4-bit types.
inline constexpr int8_t kIQ4Values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                          1,    13,   25,  38,  53,  69,  89,  113};

}  // namespace skald::tensor
