#include "kernels/pack/dequantize.h"

#include <cstring>

#include "base/check.h"
#include "tensor/codebooks.h"
#include "tensor/half.h"
#include "tensor/low_bit_blocks.h"
#include "tensor/quant_blocks.h"

namespace skald::kernels {
namespace {

using namespace skald::tensor;

// Nibble i of 32, as in Q4_0: 16 low halves, then 16 high halves.
int Nibble32(const uint8_t* qs, int i) { return i < 16 ? qs[i] & 15 : qs[i - 16] >> 4; }

int FifthBit(const uint8_t* qh, int i) { return qh[i / 8] >> i % 8 & 1; }

// One element of each block type, by the formula beside its struct.

float Element(const BlockQ8_0& b, int i) { return FloatFromHalf(b.d) * b.q[i]; }

float Element(const BlockQ4_0& b, int i) {
  return FloatFromHalf(b.d) * static_cast<float>(Nibble32(b.qs, i) - 8);
}

float Element(const BlockQ4_1& b, int i) {
  return FloatFromHalf(b.d) * static_cast<float>(Nibble32(b.qs, i)) + FloatFromHalf(b.m);
}

float Element(const BlockQ5_0& b, int i) {
  const int q = Nibble32(b.qs, i) + 16 * FifthBit(b.qh, i);
  return FloatFromHalf(b.d) * static_cast<float>(q - 16);
}

float Element(const BlockQ5_1& b, int i) {
  const int q = Nibble32(b.qs, i) + 16 * FifthBit(b.qh, i);
  return FloatFromHalf(b.d) * static_cast<float>(q) + FloatFromHalf(b.m);
}

float Element(const BlockIQ4_NL& b, int i) {
  return FloatFromHalf(b.d) * kIQ4Values[Nibble32(b.qs, i)];
}

float Element(const BlockQ2_K& b, int i) {
  const int h = i / 128;
  const int j = i % 128 / 32;
  const int l = i % 32;
  const int q = b.qs[32 * h + l] >> 2 * j & 3;
  const int scale = b.scales[i / 16] & 15;
  const int minimum = b.scales[i / 16] >> 4;
  const float step = FloatFromHalf(b.d) * static_cast<float>(scale);
  const float offset = FloatFromHalf(b.dmin) * static_cast<float>(minimum);
  return step * static_cast<float>(q) - offset;
}

float Element(const BlockQ3_K& b, int i) {
  const int h = i / 128;
  const int j = i % 128 / 32;
  const int l = i % 32;
  const bool high = b.hmask[l] >> (4 * h + j) & 1;
  const int q = (b.qs[32 * h + l] >> 2 * j & 3) - (high ? 0 : 4);
  const int s = i / 16;
  const int low4 = s < 8 ? b.scales[s] & 15 : b.scales[s - 8] >> 4;
  const int high2 = b.scales[8 + s % 4] >> 2 * (s / 4) & 3;
  const float step = FloatFromHalf(b.d) * static_cast<float>(low4 + 16 * high2 - 32);
  return step * static_cast<float>(q);
}

// Scale and minimum s of the 12 bytes of Q4_K and Q5_K.
struct ScaleMin {
  int scale;
  int minimum;
};
ScaleMin ScaleMinOf(const uint8_t* scales, int s) {
  if (s < 4) return {scales[s] & 63, scales[s + 4] & 63};
  return {(scales[s + 4] & 15) | (scales[s - 4] >> 6 << 4),
          (scales[s + 4] >> 4) | (scales[s] >> 6 << 4)};
}

// Element of Q4_K or Q5_K with quant q.
float ElementOfQ45(uint16_t d, uint16_t dmin, ScaleMin sm, int q) {
  const float step = FloatFromHalf(d) * static_cast<float>(sm.scale);
  const float offset = FloatFromHalf(dmin) * static_cast<float>(sm.minimum);
  return step * static_cast<float>(q) - offset;
}

int Nibble64(const uint8_t* qs, int i) {
  const int c = i / 64;
  const int l = i % 64;
  return l < 32 ? qs[32 * c + l] & 15 : qs[32 * c + l - 32] >> 4;
}

float Element(const BlockQ4_K& b, int i) {
  return ElementOfQ45(b.d, b.dmin, ScaleMinOf(b.scales, i / 32), Nibble64(b.qs, i));
}

float Element(const BlockQ5_K& b, int i) {
  const int q = Nibble64(b.qs, i) + 16 * (b.qh[i % 32] >> i / 32 & 1);
  return ElementOfQ45(b.d, b.dmin, ScaleMinOf(b.scales, i / 32), q);
}

float Element(const BlockQ6_K& b, int i) {
  const int h = i / 128;
  const int j = i % 128 / 32;
  const int l = i % 32;
  const int ql = b.ql[64 * h + 32 * (j % 2) + l];
  const int low = j / 2 == 0 ? ql & 15 : ql >> 4;
  const int high = b.qh[32 * h + l] >> 2 * j & 3;
  const float step = FloatFromHalf(b.d) * b.scales[i / 16];
  return step * static_cast<float>(low + 16 * high - 32);
}

float Element(const BlockIQ4_XS& b, int i) {
  const int s = i / 32;
  const int low = b.scales_l[s / 2] >> 4 * (s % 2) & 15;
  const int high = b.scales_h >> 2 * s & 3;
  const float step = FloatFromHalf(b.d) * static_cast<float>(low + 16 * high - 32);
  return step * kIQ4Values[Nibble32(b.qs + 16 * s, i % 32)];
}

float Element(const BlockMXFP4& b, int i) {
  return HalfOfPowerOfTwo(b.e) * kMXFP4Values[Nibble32(b.qs, i)];
}

float Element(const BlockNVFP4& b, int i) {
  const uint8_t pair = b.qs[i / 16 * 8 + i % 8];
  const int q = i % 16 < 8 ? pair & 15 : pair >> 4;
  return HalfOfE4M3(b.d[i / 16]) * kMXFP4Values[q];
}

// Byte i of an entry of a codebook.
int ByteOf(uint64_t entry, int i) { return static_cast<int>(entry >> 8 * i & 255); }

// d * (2 s + 1), d with the factor of the type.
float StepOf(float d, int s) { return d * static_cast<float>(2 * s + 1); }

float Signed(int magnitude, bool negative) {
  return static_cast<float>(negative ? -magnitude : magnitude);
}

// The word of 28 bits of signs and a scale.
uint32_t WordAt(const uint8_t* bytes) {
  uint32_t word = 0;
  std::memcpy(&word, bytes, 4);
  return word;
}
bool SignInWord(uint32_t word, int i) { return SignsOf(word >> 7 * (i / 8) & 127) >> i % 8 & 1; }

float Element(const BlockIQ2_XXS& b, int i) {
  const uint8_t* block = b.qs + i / 32 * 8;
  const uint32_t word = WordAt(block + 4);
  const int magnitude = ByteOf(kIQ2XXSGrid[block[i % 32 / 8]], i % 8);
  return StepOf(FloatFromHalf(b.d) / 8, static_cast<int>(word >> 28)) *
         Signed(magnitude, SignInWord(word, i % 32));
}

float Element(const BlockIQ2_XS& b, int i) {
  const uint16_t code = b.qs[i / 8];
  const int s = i % 32 < 16 ? b.scales[i / 32] & 15 : b.scales[i / 32] >> 4;
  const bool negative = SignsOf(code >> 9) >> i % 8 & 1;
  return StepOf(FloatFromHalf(b.d) / 8, s) *
         Signed(ByteOf(kIQ2XSGrid[code & 511], i % 8), negative);
}

float Element(const BlockIQ2_S& b, int i) {
  const size_t high = b.qh[i / 32] >> i % 32 / 8 * 2 & 3;
  const int s = i % 32 < 16 ? b.scales[i / 32] & 15 : b.scales[i / 32] >> 4;
  const bool negative = b.signs[i / 8] >> i % 8 & 1;
  return StepOf(FloatFromHalf(b.d) / 8, s) *
         Signed(ByteOf(kIQ2SGrid[b.qs[i / 8] + 256 * high], i % 8), negative);
}

float Element(const BlockIQ3_XXS& b, int i) {
  const uint32_t word = WordAt(b.words + i / 32 * 4);
  const int magnitude = ByteOf(kIQ3XXSGrid[b.qs[i / 4]], i % 4);
  return StepOf(FloatFromHalf(b.d) / 4, static_cast<int>(word >> 28)) *
         Signed(magnitude, SignInWord(word, i % 32));
}

float Element(const BlockIQ3_S& b, int i) {
  const size_t high = b.qh[i / 32] >> i % 32 / 4 & 1;
  const int s = b.scales[i / 64] >> 4 * (i / 32 % 2) & 15;
  const bool negative = b.signs[i / 8] >> i % 8 & 1;
  return StepOf(FloatFromHalf(b.d), s) *
         Signed(ByteOf(kIQ3SGrid[b.qs[i / 4] + 256 * high], i % 4), negative);
}

// Element i % 8 of entry `index` with its shift, in eighths.
float TernaryOf(size_t index, int i, bool negative_shift) {
  return static_cast<float>(8 * ByteOf(kIQ1Grid[index], i % 8) - 8 + (negative_shift ? -1 : 1));
}

float Element(const BlockIQ1_S& b, int i) {
  const uint16_t qh = b.qh[i / 32];
  const size_t high = qh >> 3 * (i % 32 / 8) & 7;
  return StepOf(FloatFromHalf(b.d) / 8, qh >> 12 & 7) *
         TernaryOf(b.qs[i / 8] + 256 * high, i, qh >> 15 != 0);
}

float Element(const BlockIQ1_M& b, int i) {
  const int nibble = i / 8 % 2 == 0 ? b.qh[i / 16] & 15 : b.qh[i / 16] >> 4;
  const int s = b.scales[i / 64] >> (6 * (i / 32 % 2) + 3 * (i / 16 % 2)) & 7;
  const size_t high = static_cast<size_t>(nibble) & 7;
  return StepOf(FloatFromHalf(b.d()) / 8, s) *
         TernaryOf(b.qs[i / 8] + 256 * high, i, (nibble & 8) != 0);
}

// Digit n of a byte of ternary digits.
int DigitOf(uint8_t byte, int n) {
  for (; n > 0; --n) byte = static_cast<uint8_t>(3 * byte);
  return 3 * byte >> 8;
}

float Element(const BlockTQ1_0& b, int i) {
  const int digit = i < 160   ? DigitOf(b.qs[i % 32], i / 32)
                    : i < 240 ? DigitOf(b.qs[32 + i % 16], (i - 160) / 16)
                              : DigitOf(b.qh[i % 4], (i - 240) / 4);
  return FloatFromHalf(b.d) * static_cast<float>(digit - 1);
}

float Element(const BlockTQ2_0& b, int i) {
  const int q = b.qs[i / 128 * 32 + i % 32] >> 2 * (i % 128 / 32) & 3;
  return FloatFromHalf(b.d) * static_cast<float>(q - 1);
}

float Element(const BlockQ1_0& b, int i) {
  const float d = FloatFromHalf(b.d);
  return (b.qs[i / 8] >> i % 8 & 1) != 0 ? d : -d;
}

float Element(const BlockQ2_0& b, int i) {
  return FloatFromHalf(b.d) * static_cast<float>((b.qs[i / 4] >> 2 * (i % 4) & 3) - 1);
}

template <typename Block>
void DequantizeBlocks(std::span<const std::byte> source, int64_t cols, float* out) {
  const int64_t per_block = cols / static_cast<int64_t>(source.size() / sizeof(Block));
  for (int64_t i = 0; i < cols; ++i) {
    Block block;
    std::memcpy(&block, source.data() + i / per_block * static_cast<int64_t>(sizeof(Block)),
                sizeof(Block));
    out[i] = Element(block, static_cast<int>(i % per_block));
  }
}

template <typename Bits>
void DequantizeFloats(std::span<const std::byte> source, float (*convert)(Bits), float* out) {
  for (size_t i = 0; i < source.size() / sizeof(Bits); ++i) {
    Bits bits;
    std::memcpy(&bits, source.data() + i * sizeof(Bits), sizeof(Bits));
    out[i] = convert(bits);
  }
}

}  // namespace

void DequantizeRow(DType dtype, std::span<const std::byte> source, int64_t cols, float* out) {
  const DTypeInfo& info = InfoOf(dtype);
  CHECK(cols % info.block_elements == 0);
  CHECK(static_cast<int64_t>(source.size()) == cols / info.block_elements * info.block_bytes);
  if (cols == 0) return;
  switch (dtype) {
    case DType::kF32: std::memcpy(out, source.data(), source.size()); return;
    case DType::kF16: DequantizeFloats<uint16_t>(source, FloatFromHalf, out); return;
    case DType::kBF16: DequantizeFloats<uint16_t>(source, FloatFromBf16, out); return;
    case DType::kQ8_0: DequantizeBlocks<BlockQ8_0>(source, cols, out); return;
    case DType::kQ4_0: DequantizeBlocks<BlockQ4_0>(source, cols, out); return;
    case DType::kQ4_1: DequantizeBlocks<BlockQ4_1>(source, cols, out); return;
    case DType::kQ5_0: DequantizeBlocks<BlockQ5_0>(source, cols, out); return;
    case DType::kQ5_1: DequantizeBlocks<BlockQ5_1>(source, cols, out); return;
    case DType::kQ2_K: DequantizeBlocks<BlockQ2_K>(source, cols, out); return;
    case DType::kQ3_K: DequantizeBlocks<BlockQ3_K>(source, cols, out); return;
    case DType::kQ4_K: DequantizeBlocks<BlockQ4_K>(source, cols, out); return;
    case DType::kQ5_K: DequantizeBlocks<BlockQ5_K>(source, cols, out); return;
    case DType::kQ6_K: DequantizeBlocks<BlockQ6_K>(source, cols, out); return;
    case DType::kIQ4_NL: DequantizeBlocks<BlockIQ4_NL>(source, cols, out); return;
    case DType::kIQ4_XS: DequantizeBlocks<BlockIQ4_XS>(source, cols, out); return;
    case DType::kMXFP4: DequantizeBlocks<BlockMXFP4>(source, cols, out); return;
    case DType::kIQ2_XXS: DequantizeBlocks<BlockIQ2_XXS>(source, cols, out); return;
    case DType::kIQ2_XS: DequantizeBlocks<BlockIQ2_XS>(source, cols, out); return;
    case DType::kIQ2_S: DequantizeBlocks<BlockIQ2_S>(source, cols, out); return;
    case DType::kIQ3_XXS: DequantizeBlocks<BlockIQ3_XXS>(source, cols, out); return;
    case DType::kIQ3_S: DequantizeBlocks<BlockIQ3_S>(source, cols, out); return;
    case DType::kIQ1_S: DequantizeBlocks<BlockIQ1_S>(source, cols, out); return;
    case DType::kIQ1_M: DequantizeBlocks<BlockIQ1_M>(source, cols, out); return;
    case DType::kTQ1_0: DequantizeBlocks<BlockTQ1_0>(source, cols, out); return;
    case DType::kTQ2_0: DequantizeBlocks<BlockTQ2_0>(source, cols, out); return;
    case DType::kQ1_0: DequantizeBlocks<BlockQ1_0>(source, cols, out); return;
    case DType::kQ2_0: DequantizeBlocks<BlockQ2_0>(source, cols, out); return;
    case DType::kNVFP4: DequantizeBlocks<BlockNVFP4>(source, cols, out); return;
  }
  UNREACHABLE();
}

}  // namespace skald::kernels
