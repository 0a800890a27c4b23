// The scalar matmul: numerics 3.6 in code, one output element at a time.

#include <cmath>
#include <cstring>

#include "base/check.h"
#include "kernels/matmul/variants.h"
#include "kernels/pack/unit_access.h"
#include "kernels/quantize/tile_layout.h"
#include "tensor/half.h"

namespace skald::kernels::scalar {
namespace {

// The integer dot product of columns begin..begin+n-1 of `row`; q are the activations of the block
// or super-block column 0 belongs to, 32 to a block, blocks `block_stride` bytes apart.
template <typename Unit>
int32_t Dot(const Unit& unit, int row, int begin, int n, const int8_t* q, int block_stride) {
  int32_t dot = 0;
  for (int i = begin; i < begin + n; ++i) {
    dot += Weight(unit, row, i) * q[i / 32 * block_stride + i % 32];
  }
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
  const Unit* units = reinterpret_cast<const Unit*>(e.panel);
  float acc = 0;
  for (int64_t b = 0; b < e.cols / 32; ++b) {
    const Unit& unit = units[b];
    const Block32Sections a =
        SectionsOfBlock32(e.tile + b * e.tokens * kBlock32TokenBytes, e.tokens);
    const float da = a.da[e.token];
    const int32_t dot = Dot(unit, e.row, 0, 32, a.q + 32 * e.token, 0);
    acc = std::fma(static_cast<float>(dot), tensor::FloatFromHalf(unit.d[e.row]) * da, acc);
    if constexpr (UnitTraits<Unit>::kHasMin) {
      const int32_t sum = SumOf(a.corr8[e.token], 8);
      acc = std::fma(tensor::FloatFromHalf(unit.m[e.row]), da * static_cast<float>(sum), acc);
    }
  }
  return acc;
}

template <typename Unit>
float Super256Element(const Element& e) {
  constexpr int kSub = UnitTraits<Unit>::kSubBlockCols;
  const Unit* units = reinterpret_cast<const Unit*>(e.panel);
  float acc = 0;
  for (int64_t s = 0; s < e.cols / 256; ++s) {
    const Unit& unit = units[s];
    const Super256Sections a =
        SectionsOfSuper256(e.tile + s * e.tokens * kSuper256TokenBytes, e.tokens);
    int32_t scaled_dots = 0;  // I
    int32_t scaled_sums = 0;  // J
    for (int i = 0; i < 256; i += kSub) {
      const int32_t factor = 1 << a.shift[i / 32 * e.tokens + e.token];
      const int32_t dot = Dot(unit, e.row, i, kSub, a.q + 32 * e.token, 32 * e.tokens);
      scaled_dots += Scale(unit, e.row, i / kSub) * (dot * factor);
      if constexpr (UnitTraits<Unit>::kHasMin) {
        int32_t sum = 0;
        for (int t = i / 16; t < (i + kSub) / 16; ++t) {
          sum += SumOf(a.corr32[t * e.tokens + e.token], 32);
        }
        scaled_sums += Minimum(unit, e.row, i / kSub) * (sum * factor);
      }
    }
    float t = static_cast<float>(scaled_dots) * tensor::FloatFromHalf(unit.d[e.row]);
    if constexpr (UnitTraits<Unit>::kHasMin) {
      const float dmin = tensor::FloatFromHalf(unit.dmin[e.row]);
      t = std::fma(-static_cast<float>(scaled_sums), dmin, t);
    }
    acc = std::fma(t, a.da[e.token], acc);
  }
  return acc;
}

float FloatOf(float value) { return value; }
struct Half {
  uint16_t bits;
};
struct BFloat16 {
  uint16_t bits;
};
float FloatOf(Half value) { return tensor::FloatFromHalf(value.bits); }
float FloatOf(BFloat16 value) { return tensor::FloatFromBf16(value.bits); }

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

template <PanelType kType, float (*kElement)(const Element&)>
void Matmul(const MatmulArgs& args) {
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
    case PanelType::kF32: return Matmul<PanelType::kF32, FloatElement<float>>;
    case PanelType::kF16: return Matmul<PanelType::kF16, FloatElement<Half>>;
    case PanelType::kBF16: return Matmul<PanelType::kBF16, FloatElement<BFloat16>>;
    case PanelType::kQ8: return Matmul<PanelType::kQ8, Block32Element<UnitQ8>>;
    case PanelType::kQ8M: return Matmul<PanelType::kQ8M, Block32Element<UnitQ8M>>;
    case PanelType::kQ4: return Matmul<PanelType::kQ4, Block32Element<UnitQ4>>;
    case PanelType::kQ4M: return Matmul<PanelType::kQ4M, Block32Element<UnitQ4M>>;
    case PanelType::kQ4K: return Matmul<PanelType::kQ4K, Super256Element<UnitQ4K>>;
    case PanelType::kQ5K: return Matmul<PanelType::kQ5K, Super256Element<UnitQ5K>>;
    case PanelType::kQ6K: return Matmul<PanelType::kQ6K, Super256Element<UnitQ6K>>;
    case PanelType::kQ8K: return Matmul<PanelType::kQ8K, Super256Element<UnitQ8K>>;
  }
  UNREACHABLE();
}

}  // namespace skald::kernels::scalar
