#include <array>
#include <cstring>

#include "base/check.h"
#include "kernels/pack/pack_units.h"
#include "tensor/quant_blocks.h"

namespace skald::kernels {
namespace {

using namespace skald::tensor;

// Splits the 16 bytes of nibbles: columns 0-15 low, 16-31 high.
void DecodeNibbles(const uint8_t (&qs)[16], int8_t (&out)[32]) {
  for (int i = 0; i < 16; ++i) {
    out[i] = static_cast<int8_t>(qs[i] & 15);
    out[i + 16] = static_cast<int8_t>(qs[i] >> 4);
  }
}

// What the 8 bits of a byte of fifth bits add to their columns: 16 in the byte of each bit set.
constexpr std::array<uint64_t, 256> kFifthBits = [] {
  std::array<uint64_t, 256> table{};
  for (size_t bits = 0; bits < 256; ++bits) {
    for (size_t i = 0; i < 8; ++i) table[bits] |= (bits >> i & 1) * 16 << 8 * i;
  }
  return table;
}();

void AddFifthBits(const uint8_t (&qh)[4], int8_t (&out)[32]) {
  for (int byte = 0; byte < 4; ++byte) {
    uint64_t columns = 0;
    std::memcpy(&columns, out + 8 * byte, 8);
    columns |= kFifthBits[qh[byte]];
    std::memcpy(out + 8 * byte, &columns, 8);
  }
}

void Subtract(int offset, int8_t (&out)[32]) {
  for (int8_t& weight : out) weight = static_cast<int8_t>(weight - offset);
}

void Decode(const BlockQ8_0& block, Ints32& out) { std::memcpy(out.weight, block.q, 32); }

void Decode(const BlockQ4_0& block, Ints32& out) {
  DecodeNibbles(block.qs, out.weight);
  Subtract(8, out.weight);
}

void Decode(const BlockQ4_1& block, Ints32& out) {
  out.m = block.m;
  DecodeNibbles(block.qs, out.weight);
}

void Decode(const BlockQ5_0& block, Ints32& out) {
  DecodeNibbles(block.qs, out.weight);
  AddFifthBits(block.qh, out.weight);
  Subtract(16, out.weight);
}

void Decode(const BlockQ5_1& block, Ints32& out) {
  out.m = block.m;
  DecodeNibbles(block.qs, out.weight);
  AddFifthBits(block.qh, out.weight);
}

void Decode(const BlockIQ4_NL& block, Ints32& out) { DecodeNibbles(block.qs, out.weight); }

void Put(const Ints32& ints, int row, UnitQ8& unit) {
  unit.d[row] = ints.d;
  PutBytes(unit.q, row, Unsigned(ints.weight, 128).data());
}

void Put(const Ints32& ints, int row, UnitQ5& unit) {
  unit.d[row] = ints.d;
  PutFiveBits(unit.block, row, Unsigned(ints.weight, 16).data());
}

void Put(const Ints32& ints, int row, UnitQ5M& unit) {
  unit.d[row] = ints.d;
  unit.m[row] = ints.m;
  PutFiveBits(unit.block, row, Unsigned(ints.weight, 0).data());
}

void Put(const Ints32& ints, int row, UnitI4NL& unit) {
  unit.d[row] = ints.d;
  PutNibbles(unit.nibbles, row, Unsigned(ints.weight, 0).data());
}

void Put(const Ints32& ints, int row, UnitQ4& unit) {
  unit.d[row] = ints.d;
  PutNibbles(unit.nibbles, row, Unsigned(ints.weight, 8).data());
}

void Put(const Ints32& ints, int row, UnitQ4M& unit) {
  unit.d[row] = ints.d;
  unit.m[row] = ints.m;
  PutNibbles(unit.nibbles, row, Unsigned(ints.weight, 0).data());
}

template <typename Block, typename Unit>
void PackRows(const RowSource& rows, std::byte* panel) {
  ForEachBlock<Block>(rows, [panel](const Block& block, int row, int64_t unit) {
    Ints32 ints = {};
    ints.d = block.d;
    Decode(block, ints);
    Put(ints, row, reinterpret_cast<Unit*>(panel)[unit]);
  });
}

// The exponents and the nibbles as they are: their table is the kernels' affair.
void PackRowsMX4(const RowSource& rows, std::byte* panel) {
  ForEachBlock<BlockMXFP4>(rows, [panel](const BlockMXFP4& block, int row, int64_t index) {
    UnitMX4& unit = reinterpret_cast<UnitMX4*>(panel)[index];
    unit.e[row] = block.e;
    int8_t nibbles[32];
    DecodeNibbles(block.qs, nibbles);
    PutNibbles(unit.nibbles, row, Unsigned(nibbles, 0).data());
  });
}

// Each sub-block of 16 has its nibbles in 8 bytes.
void PackRowsNV4(const RowSource& rows, std::byte* panel) {
  ForEachBlock<BlockNVFP4>(rows, [panel](const BlockNVFP4& block, int row, int64_t index) {
    UnitNV4& unit = reinterpret_cast<UnitNV4*>(panel)[index];
    uint8_t q[64];
    for (int s = 0; s < 4; ++s) {
      unit.d[s][row] = block.d[s];
      for (int i = 0; i < 8; ++i) {
        q[16 * s + i] = block.qs[8 * s + i] & 15;
        q[16 * s + 8 + i] = block.qs[8 * s + i] >> 4;
      }
    }
    for (int b = 0; b < 2; ++b) PutNibbles(unit.blocks[b], row, q + 32 * b);
  });
}

}  // namespace

void PackRows32(const RowSource& rows, std::byte* panel) {
  switch (rows.dtype) {
    case DType::kQ8_0: PackRows<BlockQ8_0, UnitQ8>(rows, panel); return;
    case DType::kQ5_0: PackRows<BlockQ5_0, UnitQ5>(rows, panel); return;
    case DType::kIQ4_NL: PackRows<BlockIQ4_NL, UnitI4NL>(rows, panel); return;
    case DType::kQ5_1: PackRows<BlockQ5_1, UnitQ5M>(rows, panel); return;
    case DType::kQ4_0: PackRows<BlockQ4_0, UnitQ4>(rows, panel); return;
    case DType::kQ4_1: PackRows<BlockQ4_1, UnitQ4M>(rows, panel); return;
    case DType::kMXFP4: PackRowsMX4(rows, panel); return;
    case DType::kNVFP4: PackRowsNV4(rows, panel); return;
    default: UNREACHABLE();
  }
}

}  // namespace skald::kernels
