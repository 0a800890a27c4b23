#include <array>
#include <cstring>

#include "base/check.h"
#include "kernels/pack/pack_units.h"
#include "kernels/pack/unit_access.h"
#include "tensor/quant_blocks.h"

namespace skald::kernels {
namespace {

using namespace skald::tensor;

// The 2-bit fields of Q2_K, Q3_K and the high bits of Q6_K: column 128 h + 32 j + l has bits 2 j of
// byte 32 h + l.
void DecodeTwoBits(const uint8_t (&qs)[64], uint8_t (&out)[256]) {
  for (int h = 0; h < 2; ++h) {
    for (int j = 0; j < 4; ++j) {
      uint8_t* columns = out + 128 * h + 32 * j;
      for (int l = 0; l < 32; ++l) columns[l] = qs[32 * h + l] >> 2 * j & 3;
    }
  }
}

// Bit b of byte l belongs to column 32 b + l (Q3_K, Q5_K). Here it becomes 0 or 1 in that column.
void DecodeBits(const uint8_t (&bits)[32], uint8_t (&out)[256]) {
  for (int b = 0; b < 8; ++b) {
    for (int l = 0; l < 32; ++l) out[32 * b + l] = bits[l] >> b & 1;
  }
}

void Decode(const BlockQ2_K& block, Ints256& out) {
  out.dmin = block.dmin;
  for (int s = 0; s < 16; ++s) {
    out.scale[s] = static_cast<int8_t>(block.scales[s] & 15);
    out.minimum[s] = static_cast<uint8_t>(block.scales[s] >> 4);
  }
  uint8_t q[256];
  DecodeTwoBits(block.qs, q);
  std::memcpy(out.weight, q, sizeof(q));
}

void Decode(const BlockQ3_K& block, Ints256& out) {
  for (int s = 0; s < 16; ++s) {
    const int low = block.scales[s % 8] >> (s < 8 ? 0 : 4) & 15;
    const int high = block.scales[8 + s % 4] >> s / 4 * 2 & 3;
    out.scale[s] = static_cast<int8_t>((low | high << 4) - 32);
  }
  uint8_t low[256];
  uint8_t high[256];
  DecodeTwoBits(block.qs, low);
  DecodeBits(block.hmask, high);
  for (int i = 0; i < 256; ++i) out.weight[i] = static_cast<int8_t>(low[i] + 4 * high[i] - 4);
}

// The 6-bit scales and minimums of Q4_K and Q5_K: blocks 0-3 have a byte each; blocks 4-7 have a
// nibble each in the last 4 bytes and 2 bits on top of the bytes of blocks 0-3.
void DecodeScales(const uint8_t (&bytes)[12], Ints256& out) {
  for (int b = 0; b < 8; ++b) {
    int scale = 0;
    int minimum = 0;
    if (b < 4) {
      scale = bytes[b] & 63;
      minimum = bytes[b + 4] & 63;
    } else {
      scale = (bytes[b + 4] & 15) | (bytes[b - 4] >> 6 << 4);
      minimum = (bytes[b + 4] >> 4) | (bytes[b] >> 6 << 4);
    }
    out.scale[2 * b] = out.scale[2 * b + 1] = static_cast<int8_t>(scale);
    out.minimum[2 * b] = out.minimum[2 * b + 1] = static_cast<uint8_t>(minimum);
  }
}

// Columns 64 c + 0..31 are the low and 64 c + 32..63 the high nibbles of bytes 32 c + 0..31.
void DecodeNibbles(const uint8_t (&qs)[128], Ints256& out) {
  for (int c = 0; c < 4; ++c) {
    for (int l = 0; l < 32; ++l) {
      out.weight[64 * c + l] = static_cast<int8_t>(qs[32 * c + l] & 15);
      out.weight[64 * c + 32 + l] = static_cast<int8_t>(qs[32 * c + l] >> 4);
    }
  }
}

void Decode(const BlockQ4_K& block, Ints256& out) {
  out.dmin = block.dmin;
  DecodeScales(block.scales, out);
  DecodeNibbles(block.qs, out);
}

void Decode(const BlockQ5_K& block, Ints256& out) {
  out.dmin = block.dmin;
  DecodeScales(block.scales, out);
  DecodeNibbles(block.qs, out);
  uint8_t high[256];
  DecodeBits(block.qh, high);
  for (int i = 0; i < 256; ++i) out.weight[i] = static_cast<int8_t>(out.weight[i] + 16 * high[i]);
}

void Decode(const BlockQ6_K& block, Ints256& out) {
  std::memcpy(out.scale, block.scales, 16);
  // Columns 128 h + 0..63 are the low, 64..127 the high nibbles of bytes 64 h + 0..63.
  uint8_t low[256];
  for (int h = 0; h < 2; ++h) {
    for (int l = 0; l < 64; ++l) {
      low[128 * h + l] = block.ql[64 * h + l] & 15;
      low[128 * h + 64 + l] = block.ql[64 * h + l] >> 4;
    }
  }
  uint8_t high[256];
  DecodeTwoBits(block.qh, high);
  for (int i = 0; i < 256; ++i) out.weight[i] = static_cast<int8_t>(low[i] + 16 * high[i] - 32);
}

void Decode(const BlockIQ4_XS& block, Ints256& out) {
  for (int s = 0; s < 16; ++s) {
    const int b = s / 2;
    const int low = block.scales_l[b / 2] >> b % 2 * 4 & 15;
    const int high = block.scales_h >> 2 * b & 3;
    out.scale[s] = static_cast<int8_t>((low | high << 4) - 32);
  }
  for (int byte = 0; byte < 128; ++byte) {
    const int i = byte / 16 * 32 + byte % 16;
    out.weight[i] = static_cast<int8_t>(block.qs[byte] & 15);
    out.weight[i + 16] = static_cast<int8_t>(block.qs[byte] >> 4);
  }
}

std::array<uint8_t, 256> LowNibbles(const std::array<uint8_t, 256>& q) {
  std::array<uint8_t, 256> low;
  for (size_t i = 0; i < q.size(); ++i) low[i] = q[i] & 15;
  return low;
}

void PutScales(const Ints256& ints, int row, PackedScales6& scales) {
  for (int b = 0; b < kSuperBlocks; ++b) {
    const int i = ScaleIndex(row, b);
    const int scale = ints.scale[2 * b];
    const int minimum = ints.minimum[2 * b];
    scales.low[i] = static_cast<uint8_t>((scale & 15) | (minimum & 15) << 4);
    const int high = (scale >> 4 | minimum >> 4 << 4) << (i < 64 ? 0 : 2);
    scales.high[i % 64] = static_cast<uint8_t>(scales.high[i % 64] | high);
  }
}

void Put(const Ints256& ints, int row, UnitQ4K& unit) {
  unit.d[row] = ints.d;
  unit.dmin[row] = ints.dmin;
  PutScales(ints, row, unit.scales);
  const auto q = Unsigned(ints.weight, 0);
  for (int b = 0; b < kSuperBlocks; ++b) PutNibbles(unit.nibbles[b], row, q.data() + 32 * b);
}

void Put(const Ints256& ints, int row, UnitQ5K& unit) {
  unit.d[row] = ints.d;
  unit.dmin[row] = ints.dmin;
  PutScales(ints, row, unit.scales);
  const auto q = Unsigned(ints.weight, 0);
  for (int b = 0; b < kSuperBlocks; ++b) PutFiveBits(unit.blocks[b], row, q.data() + 32 * b);
}

// Stores the high two bits of 32 columns at their places in a BlockQ6.
void PutHighTwoBits(uint8_t (&high)[2][16][4], int row, const uint8_t* q) {
  uint32_t groups[2] = {0, 0};
  for (int k4 = 0; k4 < 8; ++k4) {
    groups[k4 % 2] |= (LoadGroup(q + 4 * k4) >> 4 & 0x03030303) << kHighShiftQ6[k4];
  }
  for (int parity = 0; parity < 2; ++parity) std::memcpy(high[parity][row], &groups[parity], 4);
}

void Put(const Ints256& ints, int row, UnitQ6K& unit) {
  unit.d[row] = ints.d;
  for (int s = 0; s < kSuperSubBlocks; ++s) unit.scales[s][row] = ints.scale[s];
  const auto q = Unsigned(ints.weight, 32);
  const auto low = LowNibbles(q);
  for (int b = 0; b < kSuperBlocks; ++b) {
    PutNibbles(unit.blocks[b].low, row, low.data() + 32 * b);
    PutHighTwoBits(unit.blocks[b].high, row, q.data() + 32 * b);
  }
}

void Put(const Ints256& ints, int row, UnitI4XS& unit) {
  unit.d[row] = ints.d;
  for (int b = 0; b < kSuperBlocks; ++b) unit.scales[b][row] = ints.scale[2 * b];
  const auto q = Unsigned(ints.weight, 0);
  for (int b = 0; b < kSuperBlocks; ++b) PutNibbles(unit.nibbles[b], row, q.data() + 32 * b);
}

void Put(const Ints256& ints, int row, UnitQ2K& unit) {
  unit.d[row] = ints.d;
  unit.dmin[row] = ints.dmin;
  for (int s = 0; s < kSuperSubBlocks; ++s) {
    unit.scales[s / 2][row][s % 2] = static_cast<uint8_t>(ints.scale[s] | ints.minimum[s] << 4);
  }
  const auto q = Unsigned(ints.weight, 0);
  for (int b = 0; b < kSuperBlocks; ++b) PutTwoBits(unit.blocks[b], row, q.data() + 32 * b);
}

void Put(const Ints256& ints, int row, UnitQ3K& unit) {
  unit.d[row] = ints.d;
  for (int s = 0; s < kSuperSubBlocks; ++s) unit.scales[s][row] = ints.scale[s];
  const auto q = Unsigned(ints.weight, 4);
  for (int b = 0; b < kSuperBlocks; ++b) PutThreeBits(unit.blocks[b], row, q.data() + 32 * b);
}

template <typename Block, typename Unit>
void PackRows(const RowSource& rows, std::byte* panel) {
  ForEachBlock<Block>(rows, [panel](const Block& block, int row, int64_t unit) {
    Ints256 ints = {};
    ints.d = block.d;
    Decode(block, ints);
    Put(ints, row, reinterpret_cast<Unit*>(panel)[unit]);
  });
}

}  // namespace

void PackRows256(const RowSource& rows, std::byte* panel) {
  switch (rows.dtype) {
    case DType::kQ4_K: PackRows<BlockQ4_K, UnitQ4K>(rows, panel); return;
    case DType::kQ5_K: PackRows<BlockQ5_K, UnitQ5K>(rows, panel); return;
    case DType::kQ6_K: PackRows<BlockQ6_K, UnitQ6K>(rows, panel); return;
    case DType::kQ3_K: PackRows<BlockQ3_K, UnitQ3K>(rows, panel); return;
    case DType::kQ2_K: PackRows<BlockQ2_K, UnitQ2K>(rows, panel); return;
    case DType::kIQ4_XS: PackRows<BlockIQ4_XS, UnitI4XS>(rows, panel); return;
    default: UNREACHABLE();
  }
}

}  // namespace skald::kernels
