// The scalar matmul: numerics 3.6 in code, one output element at a time.

#include <cmath>
#include <cstring>
#include <limits>

#include "base/check.h"
#include "kernels/matmul/variants.h"
#include "kernels/pack/unit_access.h"
#include "kernels/quantize/tile_layout.h"
#include "tensor/half.h"

namespace skald::kernels::scalar {
namespace {

// The integer dot product of columns begin..begin+n-1 of `row` with the activations q of these
// columns.
template <typename Unit>
int32_t Dot(const Unit& unit, int row, int begin, int n, const int8_t* q) {
  int32_t dot = 0;
  for (int i = 0; i < n; ++i) dot += Weight(unit, row, begin + i) * q[i];
  return dot;
}

// The exact sum of the activations that corr = -offset * sum stands for.
int32_t SumOf(int32_t corr, int offset) { return -corr / offset; }

// What one element of the output depends on: a row of a panel and a token of the tile.
struct Element {
  const std::byte* panel;
  int row;
  std::byte* tile;  // read only; the section structs have no const twin
  int token;
  int tokens;
  int64_t cols;
};

template <typename Unit>
float Block32Element(const Element& e) {
  constexpr int kBlocks = UnitTraits<Unit>::kCols / kBlockCols;
  constexpr int kSub = UnitTraits<Unit>::kSubBlockCols;
  const Unit* units = reinterpret_cast<const Unit*>(e.panel);
  float acc = 0;
  for (int64_t b = 0; b < e.cols / 32; ++b) {
    const Unit& unit = units[b / kBlocks];
    const int first = static_cast<int>(b % kBlocks) * kBlockCols;
    const Block32Sections a =
        SectionsOfBlock32(e.tile + b * e.tokens * kBlock32TokenBytes, e.tokens);
    const float da = a.da[e.token];
    for (int i = 0; i < kBlockCols; i += kSub) {
      const int32_t dot = Dot(unit, e.row, first + i, kSub, a.q + 32 * e.token + i);
      acc = std::fma(static_cast<float>(dot), FloatScale(unit, e.row, first + i) * da, acc);
    }
    if constexpr (UnitTraits<Unit>::kHasMin) {
      const int32_t sum = SumOf(a.corr8[e.token], 8);
      acc = std::fma(tensor::FloatFromHalf(unit.m[e.row]), da * static_cast<float>(sum), acc);
    }
  }
  return acc;
}

// I and J of half a unit.
struct HalfSums {
  int32_t scaled_dots = 0;
  int32_t scaled_sums = 0;
};

template <typename Unit>
HalfSums SumsOfHalf(const Unit& unit, int half, const Block128Sections& a, const Element& e) {
  constexpr int kSub = UnitTraits<Unit>::kSubBlockCols;
  HalfSums sums;
  for (int i = 0; i < 128; i += kSub) {
    const int column = 128 * half + i;
    const int8_t* q = a.block(i / 32, e.token) + i % 32;
    sums.scaled_dots += Scale(unit, e.row, column / kSub) * Dot(unit, e.row, column, kSub, q);
    if constexpr (UnitTraits<Unit>::kHasMin) {
      int32_t sum = 0;
      for (int t = i / 16; t < (i + kSub) / 16; ++t) {
        sum += SumOf(a.corr32[t * e.tokens + e.token], 32);
      }
      sums.scaled_sums += Minimum(unit, e.row, column / kSub) * sum;
    }
  }
  return sums;
}

template <typename Unit>
float SuperElement(const Element& e) {
  const Unit* units = reinterpret_cast<const Unit*>(e.panel);
  float acc = 0;
  for (int64_t h = 0; h < e.cols / 128; ++h) {
    const Unit& unit = units[h / 2];
    const Block128Sections a =
        SectionsOfBlock128(e.tile + h * e.tokens * kBlock128TokenBytes, e.tokens);
    const HalfSums sums = SumsOfHalf(unit, static_cast<int>(h % 2), a, e);
    float t = static_cast<float>(sums.scaled_dots) * FloatScale(unit, e.row);
    if constexpr (UnitTraits<Unit>::kHasMin) {
      const float dmin = tensor::FloatFromHalf(unit.dmin[e.row]);
      t = std::fma(-static_cast<float>(sums.scaled_sums), dmin, t);
    }
    acc = std::fma(t, a.da[e.token], acc);
  }
  return acc;
}

float FloatOf(float value) { return value; }
struct Half {
  uint16_t bits;
};
float FloatOf(Half value) { return tensor::FloatFromHalf(value.bits); }

template <typename T>
float FloatElement(const Element& e) {
  const float* x = reinterpret_cast<const float*>(e.tile);
  float acc = 0;
  for (int64_t k = 0; k < e.cols; ++k) {
    T weight;
    std::memcpy(&weight, e.panel + (k * kPanelRows + e.row) * static_cast<int64_t>(sizeof(T)),
                sizeof(T));
    acc = std::fma(FloatOf(weight), x[k * e.tokens + e.token], acc);
  }
  return acc;
}

// A subnormal number is a zero of its sign.
float Flush(float x) {
  return std::fabs(x) < std::numeric_limits<float>::min() ? std::copysign(0.0f, x) : x;
}

// Operands that are no subnormals. The exact sum of two that is smaller than the least normal float
// is a float: nothing is rounded before it is flushed.
float AddAndFlush(float a, float b) { return Flush(a + b); }

// a and b are bfloat16, c is a float, none of them subnormal. What decides is the number as it were
// with 24 bits and any exponent (tininess after rounding): from 2^-126 - 2^-151 on that is 2^-126,
// while the subnormal floats, with fewer bits, round up to it from 2^-126 - 2^-150 on. The product
// is exact in double, and so is a sum next to that bound: 16 bits from the product, of which the
// first is 2^-126 at most, and 24 from c, multiples of 2^-149.
float FmaAndFlush(float a, float b, float c) {
  const double sum = double{a} * double{b} + double{c};
  const float result = std::fma(a, b, c);
  return std::fabs(sum) < 0x1p-126 - 0x1p-151 ? std::copysign(0.0f, result) : result;
}

float BFloat16At(const std::byte* bits) {
  uint16_t value;
  std::memcpy(&value, bits, sizeof(value));
  return Flush(tensor::FloatFromBf16(value));
}

// One of the two chains of a unit of 32 columns.
float BFloat16Chain(const Element& e, int64_t unit, int chain) {
  const std::byte* w = e.panel + unit * int64_t{sizeof(UnitBF16)};
  const std::byte* x = e.tile + (unit * e.tokens + e.token) * int64_t{kBFloat16TokenBytes};
  float sum = 0;
  for (int k = 0; k < 16; ++k) {
    sum = FmaAndFlush(BFloat16At(w + 2 * (2 * (kPanelRows * k + e.row) + chain)),
                      BFloat16At(x + 2 * (2 * k + chain)), sum);
  }
  return sum;
}

float BFloat16Element(const Element& e) {
  float acc = 0;
  for (int64_t u = 0; 32 * u < e.cols; ++u) {
    acc = AddAndFlush(acc, AddAndFlush(BFloat16Chain(e, u, 0), BFloat16Chain(e, u, 1)));
  }
  return acc;
}

template <PanelType kType, float (*kElement)(const Element&)>
void Matmul(const TileArgs& args) {
  const int64_t panel_bytes = PanelBytes(kType, args.cols);
  for (int64_t p = 0; p < args.panel_count; ++p) {
    for (int m = 0; m < args.tokens; ++m) {
      float* out = args.out + m * args.out_stride + kPanelRows * p;
      for (int row = 0; row < kPanelRows; ++row) {
        out[row] = kElement({.panel = args.panels + p * panel_bytes,
                             .row = row,
                             .tile = const_cast<std::byte*>(args.tile),
                             .token = m,
                             .tokens = args.tokens,
                             .cols = args.cols});
      }
    }
  }
}

}  // namespace

MatmulFn MatmulFor(PanelType type) {
  switch (type) {
    case PanelType::kF32:
      return EveryTile<PanelType::kF32, Matmul<PanelType::kF32, FloatElement<float>>>;
    case PanelType::kF16:
      return EveryTile<PanelType::kF16, Matmul<PanelType::kF16, FloatElement<Half>>>;
    case PanelType::kBF16:
      return EveryTile<PanelType::kBF16, Matmul<PanelType::kBF16, BFloat16Element>>;
    case PanelType::kQ8:
      return EveryTile<PanelType::kQ8, Matmul<PanelType::kQ8, Block32Element<UnitQ8>>>;
    case PanelType::kQ5:
      return EveryTile<PanelType::kQ5, Matmul<PanelType::kQ5, Block32Element<UnitQ5>>>;
    case PanelType::kQ5M:
      return EveryTile<PanelType::kQ5M, Matmul<PanelType::kQ5M, Block32Element<UnitQ5M>>>;
    case PanelType::kQ4:
      return EveryTile<PanelType::kQ4, Matmul<PanelType::kQ4, Block32Element<UnitQ4>>>;
    case PanelType::kQ4M:
      return EveryTile<PanelType::kQ4M, Matmul<PanelType::kQ4M, Block32Element<UnitQ4M>>>;
    case PanelType::kI4NL:
      return EveryTile<PanelType::kI4NL, Matmul<PanelType::kI4NL, Block32Element<UnitI4NL>>>;
    case PanelType::kMX4:
      return EveryTile<PanelType::kMX4, Matmul<PanelType::kMX4, Block32Element<UnitMX4>>>;
    case PanelType::kQ4K:
      return EveryTile<PanelType::kQ4K, Matmul<PanelType::kQ4K, SuperElement<UnitQ4K>>>;
    case PanelType::kQ5K:
      return EveryTile<PanelType::kQ5K, Matmul<PanelType::kQ5K, SuperElement<UnitQ5K>>>;
    case PanelType::kQ6K:
      return EveryTile<PanelType::kQ6K, Matmul<PanelType::kQ6K, SuperElement<UnitQ6K>>>;
    case PanelType::kI4XS:
      return EveryTile<PanelType::kI4XS, Matmul<PanelType::kI4XS, SuperElement<UnitI4XS>>>;
    case PanelType::kQ2K:
      return EveryTile<PanelType::kQ2K, Matmul<PanelType::kQ2K, SuperElement<UnitQ2K>>>;
    case PanelType::kQ3K:
      return EveryTile<PanelType::kQ3K, Matmul<PanelType::kQ3K, SuperElement<UnitQ3K>>>;
    case PanelType::kI2XXS:
      return EveryTile<PanelType::kI2XXS, Matmul<PanelType::kI2XXS, SuperElement<UnitI2XXS>>>;
    case PanelType::kI2XS:
      return EveryTile<PanelType::kI2XS, Matmul<PanelType::kI2XS, SuperElement<UnitI2XS>>>;
    case PanelType::kI2S:
      return EveryTile<PanelType::kI2S, Matmul<PanelType::kI2S, SuperElement<UnitI2S>>>;
    case PanelType::kI3XXS:
      return EveryTile<PanelType::kI3XXS, Matmul<PanelType::kI3XXS, SuperElement<UnitI3XXS>>>;
    case PanelType::kI3S:
      return EveryTile<PanelType::kI3S, Matmul<PanelType::kI3S, SuperElement<UnitI3S>>>;
    case PanelType::kI1:
      return EveryTile<PanelType::kI1, Matmul<PanelType::kI1, SuperElement<UnitI1>>>;
    case PanelType::kT2:
      return EveryTile<PanelType::kT2, Matmul<PanelType::kT2, SuperElement<UnitT2>>>;
    case PanelType::kQ1:
      return EveryTile<PanelType::kQ1, Matmul<PanelType::kQ1, Block32Element<UnitQ1>>>;
    case PanelType::kQ2:
      return EveryTile<PanelType::kQ2, Matmul<PanelType::kQ2, Block32Element<UnitQ2>>>;
    case PanelType::kNV4:
      return EveryTile<PanelType::kNV4, Matmul<PanelType::kNV4, Block32Element<UnitNV4>>>;
  }
  UNREACHABLE();
}

}  // namespace skald::kernels::scalar
