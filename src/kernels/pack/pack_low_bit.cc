#include <bit>
#include <cstring>

#include "base/check.h"
#include "kernels/pack/pack_units.h"
#include "tensor/codebooks.h"
#include "tensor/low_bit_blocks.h"

namespace skald::kernels {
namespace {

using namespace skald::tensor;

// A stored super-block of a codebook type. kPerBlock: entries of 32 columns.
template <int kPerBlock>
struct Codes {
  uint16_t d;
  uint8_t scale[16];  // s of each 16 columns
  uint16_t index[8 * kPerBlock];
  uint8_t signs[32];        // bit i of signs[j] is that of column 8 j + i; not of kIQ1
  bool negative_shift[32];  // of each entry, of kIQ1
};
using Eights = Codes<4>;
using Fours = Codes<8>;

uint32_t LoadWord(const uint8_t* bytes) {
  uint32_t word = 0;
  std::memcpy(&word, bytes, 4);
  return word;
}

// The scales and the signs of block b from a word of IQ2_XXS or IQ3_XXS.
template <int kPerBlock>
void DecodeWord(uint32_t word, int b, Codes<kPerBlock>& out) {
  out.scale[2 * b] = out.scale[2 * b + 1] = static_cast<uint8_t>(word >> 28);
  for (int l = 0; l < 4; ++l) out.signs[4 * b + l] = SignsOf(word >> 7 * l & 127);
}

// A scale for each 16 columns: the low and the high nibble of a byte.
void DecodeScales(const uint8_t (&scales)[8], Eights& out) {
  for (int t = 0; t < 16; ++t) out.scale[t] = scales[t / 2] >> 4 * (t % 2) & 15;
}

void Decode(const BlockIQ2_XXS& block, Eights& out) {
  out.d = block.d;
  for (int b = 0; b < 8; ++b) {
    for (int l = 0; l < 4; ++l) out.index[4 * b + l] = block.qs[8 * b + l];
    DecodeWord(LoadWord(block.qs + 8 * b + 4), b, out);
  }
}

void Decode(const BlockIQ2_XS& block, Eights& out) {
  out.d = block.d;
  DecodeScales(block.scales, out);
  for (int j = 0; j < 32; ++j) {
    out.index[j] = block.qs[j] & 511;
    out.signs[j] = SignsOf(block.qs[j] >> 9);
  }
}

void Decode(const BlockIQ2_S& block, Eights& out) {
  out.d = block.d;
  DecodeScales(block.scales, out);
  std::memcpy(out.signs, block.signs, sizeof(out.signs));
  for (int j = 0; j < 32; ++j) {
    const int high = block.qh[j / 4] >> 2 * (j % 4) & 3;
    out.index[j] = static_cast<uint16_t>(block.qs[j] | high << 8);
  }
}

void Decode(const BlockIQ3_XXS& block, Fours& out) {
  out.d = block.d;
  for (int j = 0; j < 64; ++j) out.index[j] = block.qs[j];
  for (int b = 0; b < 8; ++b) DecodeWord(LoadWord(block.words + 4 * b), b, out);
}

void Decode(const BlockIQ3_S& block, Fours& out) {
  out.d = block.d;
  std::memcpy(out.signs, block.signs, sizeof(out.signs));
  for (int t = 0; t < 16; ++t) out.scale[t] = block.scales[t / 4] >> 4 * (t / 2 % 2) & 15;
  for (int j = 0; j < 64; ++j) {
    const int high = block.qh[j / 8] >> j % 8 & 1;
    out.index[j] = static_cast<uint16_t>(block.qs[j] | high << 8);
  }
}

void Decode(const BlockIQ1_S& block, Eights& out) {
  out.d = block.d;
  for (int t = 0; t < 16; ++t) out.scale[t] = block.qh[t / 2] >> 12 & 7;
  for (int j = 0; j < 32; ++j) {
    const uint16_t qh = block.qh[j / 4];
    const int high = qh >> 3 * (j % 4) & 7;
    out.index[j] = static_cast<uint16_t>(block.qs[j] | high << 8);
    out.negative_shift[j] = (qh & 0x8000) != 0;
  }
}

void Decode(const BlockIQ1_M& block, Eights& out) {
  out.d = block.d();
  for (int t = 0; t < 16; ++t) out.scale[t] = block.scales[t / 4] >> 3 * (t % 4) & 7;
  for (int j = 0; j < 32; ++j) {
    const int nibble = block.qh[j / 2] >> 4 * (j % 2) & 15;
    out.index[j] = static_cast<uint16_t>(block.qs[j] | (nibble & 7) << 8);
    out.negative_shift[j] = (nibble & 8) != 0;
  }
}

// Bits are or-ed into zeroed bytes.
void AddBits(uint8_t& byte, int bits) { byte = static_cast<uint8_t>(byte | bits); }

// Stores 4 bits of each column group: the low four of signs[0] are those of k4 = 0, and so on.
void PutBits(const uint8_t* bits, int row, BlockBits& out) {
  for (int k4 = 0; k4 < 8; ++k4) {
    const int nibble = bits[k4 / 2] >> 4 * (k4 % 2) & 15;
    AddBits(out[k4][row / 2], nibble << 4 * (row % 2));
  }
}

void PutIndices(const Eights& codes, int b, int row, BlockI2& out) {
  for (int g = 0; g < 4; ++g) {
    const int index = codes.index[4 * b + g];
    out.low[g][row] = static_cast<uint8_t>(index);
    AddBits(out.high[row], index >> 8 << 2 * g);
  }
  PutBits(codes.signs + 4 * b, row, out.signs);
}

void PutIndices(const Fours& codes, int b, int row, BlockI3& out) {
  for (int k4 = 0; k4 < 8; ++k4) {
    const int index = codes.index[8 * b + k4];
    out.low[k4][row] = static_cast<uint8_t>(index);
    AddBits(out.high[row], index >> 8 << k4);
  }
  PutBits(codes.signs + 4 * b, row, out.signs);
}

void PutIndices(const Eights& codes, int b, int row, BlockI1& out) {
  for (int g = 0; g < 4; ++g) {
    const int index = codes.index[4 * b + g];
    const int nibble = index >> 8 | (codes.negative_shift[4 * b + g] ? 8 : 0);
    out.low[g][row] = static_cast<uint8_t>(index);
    AddBits(out.high[g / 2][row], nibble << 4 * (g % 2));
  }
}

template <typename Block, typename DecodedCodes, typename Unit>
void PackCodes(const RowSource& rows, std::byte* panel) {
  ForEachBlock<Block>(rows, [panel](const Block& block, int row, int64_t index) {
    DecodedCodes codes = {};
    Decode(block, codes);
    Unit& unit = reinterpret_cast<Unit*>(panel)[index];
    unit.d[row] = codes.d;
    for (int b = 0; b < kSuperBlocks; ++b) {
      PutIndices(codes, b, row, unit.blocks[b]);
      unit.blocks[b].scales[row] =
          static_cast<uint8_t>(codes.scale[2 * b] | codes.scale[2 * b + 1] << 4);
    }
  });
}

// ---------------------------------------------------------------------------------------------
// Fields of 1 and 2 bits.

void Decode(const BlockTQ2_0& block, uint8_t (&q)[256]) {
  for (int i = 0; i < 256; ++i) q[i] = block.qs[i / 128 * 32 + i % 32] >> i % 128 / 32 * 2 & 3;
}

// Digit n of each of `count` bytes, n ascending: `digits` runs of `count` columns.
uint8_t* DecodeDigits(const uint8_t* bytes, int count, int digits, uint8_t* out) {
  uint32_t power = 1;
  for (int n = 0; n < digits; ++n, power *= 3) {
    for (int m = 0; m < count; ++m) {
      *out++ = static_cast<uint8_t>((bytes[m] * power & 255) * 3 >> 8);
    }
  }
  return out;
}

void Decode(const BlockTQ1_0& block, uint8_t (&q)[256]) {
  uint8_t* out = DecodeDigits(block.qs, 32, 5, q);
  out = DecodeDigits(block.qs + 32, 16, 5, out);
  DecodeDigits(block.qh, 4, 4, out);
}

void Decode(const BlockQ2_0& block, uint8_t (&q)[64]) {
  for (int i = 0; i < 64; ++i) q[i] = block.qs[i / 4] >> i % 4 * 2 & 3;
}

template <typename Block, typename Unit>
void PackTwoBits(const RowSource& rows, std::byte* panel) {
  ForEachBlock<Block>(rows, [panel](const Block& block, int row, int64_t index) {
    constexpr int kBlocks = sizeof(Unit::blocks) / sizeof(BlockTwoBits);
    uint8_t q[kBlocks * kBlockCols];
    Decode(block, q);
    Unit& unit = reinterpret_cast<Unit*>(panel)[index];
    unit.d[row] = block.d;
    for (int b = 0; b < kBlocks; ++b) PutTwoBits(unit.blocks[b], row, q + b * kBlockCols);
  });
}

void PackBits(const RowSource& rows, std::byte* panel) {
  ForEachBlock<BlockQ1_0>(rows, [panel](const BlockQ1_0& block, int row, int64_t index) {
    UnitQ1& unit = reinterpret_cast<UnitQ1*>(panel)[index];
    unit.d[row] = block.d;
    for (int b = 0; b < 4; ++b) PutBits(block.qs + 4 * b, row, unit.blocks[b]);
  });
}

}  // namespace

void PackRowsLowBit(const RowSource& rows, std::byte* panel) {
  switch (rows.dtype) {
    case DType::kIQ2_XXS: PackCodes<BlockIQ2_XXS, Eights, UnitI2XXS>(rows, panel); return;
    case DType::kIQ2_XS: PackCodes<BlockIQ2_XS, Eights, UnitI2XS>(rows, panel); return;
    case DType::kIQ2_S: PackCodes<BlockIQ2_S, Eights, UnitI2S>(rows, panel); return;
    case DType::kIQ3_XXS: PackCodes<BlockIQ3_XXS, Fours, UnitI3XXS>(rows, panel); return;
    case DType::kIQ3_S: PackCodes<BlockIQ3_S, Fours, UnitI3S>(rows, panel); return;
    case DType::kIQ1_S: PackCodes<BlockIQ1_S, Eights, UnitI1>(rows, panel); return;
    case DType::kIQ1_M: PackCodes<BlockIQ1_M, Eights, UnitI1>(rows, panel); return;
    case DType::kTQ1_0: PackTwoBits<BlockTQ1_0, UnitT2>(rows, panel); return;
    case DType::kTQ2_0: PackTwoBits<BlockTQ2_0, UnitT2>(rows, panel); return;
    case DType::kQ1_0: PackBits(rows, panel); return;
    case DType::kQ2_0: PackTwoBits<BlockQ2_0, UnitQ2>(rows, panel); return;
    default: UNREACHABLE();
  }
}

}  // namespace skald::kernels
