#include <cstring>

#include "base/check.h"
#include "kernels/pack/pack_units.h"
#include "kernels/pack/unit_access.h"
#include "tensor/quant_blocks.h"

namespace skald::kernels {
namespace {

using namespace skald::tensor;

// The 2-bit field of column i = 128 h + 32 j + l: bits 2 j of byte 32 h + l (Q2_K, Q3_K, and the
// high bits of Q6_K).
int TwoBits(const uint8_t (&qs)[64], int i) {
  return qs[i / 128 * 32 + i % 32] >> i % 128 / 32 * 2 & 3;
}

void Decode(const BlockQ2_K& block, Ints256& out) {
  out.dmin = block.dmin;
  for (int s = 0; s < 16; ++s) {
    out.scale[s] = static_cast<int8_t>(block.scales[s] & 15);
    out.minimum[s] = static_cast<uint8_t>(block.scales[s] >> 4);
  }
  for (int i = 0; i < 256; ++i) out.weight[i] = static_cast<int8_t>(TwoBits(block.qs, i));
}

void Decode(const BlockQ3_K& block, Ints256& out) {
  for (int s = 0; s < 16; ++s) {
    const int low = block.scales[s % 8] >> (s < 8 ? 0 : 4) & 15;
    const int high = block.scales[8 + s % 4] >> s / 4 * 2 & 3;
    out.scale[s] = static_cast<int8_t>((low | high << 4) - 32);
  }
  for (int i = 0; i < 256; ++i) {
    const int third_bit = block.hmask[i % 32] >> i / 32 & 1;
    out.weight[i] = static_cast<int8_t>(TwoBits(block.qs, i) + 4 * third_bit - 4);
  }
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
  for (int byte = 0; byte < 128; ++byte) {
    const int i = byte / 32 * 64 + byte % 32;
    out.weight[i] = static_cast<int8_t>(qs[byte] & 15);
    out.weight[i + 32] = static_cast<int8_t>(qs[byte] >> 4);
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
  for (int i = 0; i < 256; ++i) {
    out.weight[i] = static_cast<int8_t>(out.weight[i] + 16 * (block.qh[i % 32] >> i / 32 & 1));
  }
}

void Decode(const BlockQ6_K& block, Ints256& out) {
  std::memcpy(out.scale, block.scales, 16);
  for (int i = 0; i < 256; ++i) {
    // Columns 128 h + 0..63 are the low, 64..127 the high nibbles of bytes 64 h + 0..63.
    const int low = block.ql[i / 128 * 64 + i % 64] >> i % 128 / 64 * 4 & 15;
    out.weight[i] = static_cast<int8_t>((low | TwoBits(block.qh, i) << 4) - 32);
  }
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
    out.weight[i] = kIQ4Values[block.qs[byte] & 15];
    out.weight[i + 16] = kIQ4Values[block.qs[byte] >> 4];
  }
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
  for (int i = 0; i < 256; ++i) PutNibble(unit.nibbles[i / 32], row, i % 32, ints.weight[i]);
}

void Put(const Ints256& ints, int row, UnitQ5K& unit) {
  unit.d[row] = ints.d;
  unit.dmin[row] = ints.dmin;
  PutScales(ints, row, unit.scales);
  for (int i = 0; i < 256; ++i) {
    BlockQ5& block = unit.blocks[i / 32];
    PutNibble(block.nibbles, row, i % 32, ints.weight[i] & 15);
    uint8_t& high = block.high[row][i % 4];
    high = static_cast<uint8_t>(high | ints.weight[i] >> 4 << i % 32 / 4);
  }
}

void Put(const Ints256& ints, int row, UnitQ6K& unit) {
  unit.d[row] = ints.d;
  for (int s = 0; s < kSuperSubBlocks; ++s) unit.scales[s][row] = ints.scale[s];
  for (int i = 0; i < 256; ++i) {
    const int q = ints.weight[i] + 32;
    const int k4 = i % 32 / 4;
    BlockQ6& block = unit.blocks[i / 32];
    PutNibble(block.low, row, i % 32, q & 15);
    uint8_t& high = block.high[k4 % 2][row][i % 4];
    high = static_cast<uint8_t>(high | q >> 4 << kHighShiftQ6[k4]);
  }
}

void Put(const Ints256& ints, int row, UnitQ8K& unit) {
  unit.d[row] = ints.d;
  unit.dmin[row] = ints.dmin;
  for (int s = 0; s < kSuperSubBlocks; ++s) {
    unit.scales[s][row] = ints.scale[s];
    unit.mins[s][row] = ints.minimum[s];
  }
  for (int i = 0; i < 256; ++i) {
    unit.q[i / 32][i % 32 / 4][row][i % 4] = static_cast<uint8_t>(ints.weight[i] + 128);
  }
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
    case DType::kQ3_K: PackRows<BlockQ3_K, UnitQ6K>(rows, panel); return;
    case DType::kQ2_K: PackRows<BlockQ2_K, UnitQ8K>(rows, panel); return;
    case DType::kIQ4_XS: PackRows<BlockIQ4_XS, UnitQ8K>(rows, panel); return;
    default: UNREACHABLE();
  }
}

}  // namespace skald::kernels
