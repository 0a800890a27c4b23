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

void AddFifthBits(const uint8_t (&qh)[4], int8_t (&out)[32]) {
  for (int i = 0; i < 32; ++i) out[i] = static_cast<int8_t>(out[i] + 16 * (qh[i / 8] >> i % 8 & 1));
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

void Decode(const BlockIQ4_NL& block, Ints32& out) {
  DecodeNibbles(block.qs, out.weight);
  for (int8_t& weight : out.weight) weight = kIQ4Values[weight];
}

void Put(const Ints32& ints, int row, UnitQ8& unit) {
  unit.d[row] = ints.d;
  for (int i = 0; i < 32; ++i) {
    unit.q[i / 4][row][i % 4] = static_cast<uint8_t>(ints.weight[i] + 128);
  }
}

void Put(const Ints32& ints, int row, UnitQ8M& unit) {
  unit.d[row] = ints.d;
  unit.m[row] = ints.m;
  for (int i = 0; i < 32; ++i) unit.q[i / 4][row][i % 4] = static_cast<uint8_t>(ints.weight[i]);
}

void Put(const Ints32& ints, int row, UnitQ4& unit) {
  unit.d[row] = ints.d;
  for (int i = 0; i < 32; ++i) PutNibble(unit.nibbles, row, i, ints.weight[i] + 8);
}

void Put(const Ints32& ints, int row, UnitQ4M& unit) {
  unit.d[row] = ints.d;
  unit.m[row] = ints.m;
  for (int i = 0; i < 32; ++i) PutNibble(unit.nibbles, row, i, ints.weight[i]);
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

}  // namespace

void PackRows32(const RowSource& rows, std::byte* panel) {
  switch (rows.dtype) {
    case DType::kQ8_0: PackRows<BlockQ8_0, UnitQ8>(rows, panel); return;
    case DType::kQ5_0: PackRows<BlockQ5_0, UnitQ8>(rows, panel); return;
    case DType::kIQ4_NL: PackRows<BlockIQ4_NL, UnitQ8>(rows, panel); return;
    case DType::kQ5_1: PackRows<BlockQ5_1, UnitQ8M>(rows, panel); return;
    case DType::kQ4_0: PackRows<BlockQ4_0, UnitQ4>(rows, panel); return;
    case DType::kQ4_1: PackRows<BlockQ4_1, UnitQ4M>(rows, panel); return;
    default: UNREACHABLE();
  }
}

}  // namespace skald::kernels
