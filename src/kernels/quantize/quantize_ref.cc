// The scalar quantizer: numerics 3.5 in code.

#include <bit>
#include <limits>

#include "kernels/quantize/tile_layout.h"
#include "kernels/quantize/variants.h"
#include "tensor/half.h"

namespace skald::kernels::scalar {
namespace {

// The nearest integer, ties to even, for |x| <= 2^22: adding 1.5 * 2^23 moves the last bit of the
// float to the units, so the addition rounds.
int RoundToEven(float x) {
  constexpr float kShifter = 0x1.8p23f;
  return static_cast<int>(x + kShifter - kShifter);
}

// The largest |x| of n values, taken on the bits: any NaN is larger than infinity.
float MaxMagnitude(const float* x, int n) {
  uint32_t largest = 0;
  for (int i = 0; i < n; ++i) {
    const uint32_t magnitude = std::bit_cast<uint32_t>(x[i]) & 0x7fffffffu;
    if (magnitude > largest) largest = magnitude;
  }
  return std::bit_cast<float>(largest);
}

bool IsFinite(float maximum) { return maximum <= std::numeric_limits<float>::max(); }

int Sum(const int8_t* q, int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i) sum += q[i];
  return sum;
}

// What a scale group is multiplied by, and its step. Both 0, or 0 and NaN, where all q are 0.
struct Scale {
  float inverse = 0;
  float step = 0;
};

Scale ScaleOf(const float* x, int n) {
  const float maximum = MaxMagnitude(x, n);
  if (!IsFinite(maximum)) return {0, std::numeric_limits<float>::quiet_NaN()};
  if (maximum < kSmallestScaledMaximum) return {};
  return {127 / maximum, maximum / 127};
}

void Round(const float* x, int n, float inverse, int8_t* q) {
  for (int i = 0; i < n; ++i) {
    q[i] = inverse == 0 ? int8_t{0} : static_cast<int8_t>(RoundToEven(x[i] * inverse));
  }
}

// 32 columns of token m.
void QuantizeBlock(const float* x, int m, const Block32Sections& out) {
  const Scale scale = ScaleOf(x, 32);
  int8_t* q = out.q + 32 * m;
  Round(x, 32, scale.inverse, q);
  const int sum = Sum(q, 32);
  out.da[m] = scale.step;
  out.corr8[m] = -8 * sum;
  out.corr128[m] = -128 * sum;
}

// 128 columns of token m.
void QuantizeWideBlock(const float* x, int m, const Block128Sections& out) {
  const Scale scale = ScaleOf(x, 128);
  out.da[m] = scale.step;
  int sums[4] = {};
  for (int b = 0; b < 4; ++b) {
    int8_t* q = out.block(b, m);
    Round(x + 32 * b, 32, scale.inverse, q);
    const int low = Sum(q, 16);
    const int high = Sum(q + 16, 16);
    out.corr32[2 * b * out.tokens + m] = -32 * low;
    out.corr32[(2 * b + 1) * out.tokens + m] = -32 * high;
    sums[b] = low + high;
  }
  for (int j = 0; j < 2; ++j) {
    const uint32_t low = static_cast<uint32_t>(sums[2 * j]) & 0xffffu;
    const uint32_t high = static_cast<uint32_t>(sums[2 * j + 1]) << 16;
    out.sum_pairs[j * out.tokens + m] = static_cast<int32_t>(high | low);
  }
}

}  // namespace

void QuantizeF32(const QuantizeArgs& args) {
  float* tile = reinterpret_cast<float*>(args.tile);
  for (int64_t k = 0; k < args.cols; ++k) {
    for (int m = 0; m < args.tokens; ++m) *tile++ = args.x[m * args.x_stride + k];
  }
}

void QuantizeBlock32(const QuantizeArgs& args) {
  const int64_t unit_bytes = int64_t{args.tokens} * kBlock32TokenBytes;
  for (int64_t u = 0; u < args.cols / 32; ++u) {
    const Block32Sections out = SectionsOfBlock32(args.tile + u * unit_bytes, args.tokens);
    for (int m = 0; m < args.tokens; ++m) {
      QuantizeBlock(args.x + m * args.x_stride + 32 * u, m, out);
    }
  }
}

void QuantizeBlock128(const QuantizeArgs& args) {
  const int64_t unit_bytes = int64_t{args.tokens} * kBlock128TokenBytes;
  for (int64_t u = 0; u < args.cols / 128; ++u) {
    const Block128Sections out = SectionsOfBlock128(args.tile + u * unit_bytes, args.tokens);
    for (int m = 0; m < args.tokens; ++m) {
      QuantizeWideBlock(args.x + m * args.x_stride + 128 * u, m, out);
    }
  }
}

void QuantizeBFloat16(const QuantizeArgs& args) {
  auto* pairs = reinterpret_cast<uint16_t*>(args.tile);
  for (int64_t u = 0; u < args.cols; u += 32) {
    for (int m = 0; m < args.tokens; ++m) {
      const float* x = args.x + m * args.x_stride;
      for (int64_t k = u; k < u + 16; ++k) {
        for (const int64_t column : {k, k + 16}) {
          *pairs++ = column < args.cols ? tensor::Bf16FromFloat(x[column]) : uint16_t{0};
        }
      }
    }
  }
}

}  // namespace skald::kernels::scalar
