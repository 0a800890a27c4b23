// The scalar quantizer: numerics 3.5 in code.

#include <bit>
#include <limits>

#include "kernels/quantize/tile_layout.h"
#include "kernels/quantize/variants.h"

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

// 32 columns of token m.
void QuantizeBlock(const float* x, int m, const Block32Sections& out) {
  const float maximum = MaxMagnitude(x, 32);
  float scale = 0;
  float inverse = 0;
  if (!IsFinite(maximum)) {
    scale = std::numeric_limits<float>::quiet_NaN();
  } else if (maximum >= kSmallestScaledMaximum) {
    scale = maximum / 127;
    inverse = 127 / maximum;
  }
  int8_t* q = out.q + 32 * m;
  for (int i = 0; i < 32; ++i) {
    q[i] = inverse == 0 ? int8_t{0} : static_cast<int8_t>(RoundToEven(x[i] * inverse));
  }
  const int sum = Sum(q, 32);
  out.da[m] = scale;
  out.corr8[m] = -8 * sum;
  out.corr128[m] = -128 * sum;
}

// The largest k in 0..3 with block_maximum <= maximum * 2^-k.
int BlockExponent(float block_maximum, float maximum) {
  int k = 0;
  while (k < 3 && block_maximum <= maximum / static_cast<float>(2 << k)) ++k;
  return k;
}

// 256 columns of token m of a tile of `tokens`.
void QuantizeSuperBlock(const float* x, int m, int tokens, const Super256Sections& out) {
  const float maximum = MaxMagnitude(x, 256);
  float scale = 0;
  float inverse = 0;
  if (!IsFinite(maximum)) {
    scale = std::numeric_limits<float>::quiet_NaN();
  } else if (maximum >= kSmallestScaledMaximum) {
    scale = maximum / 127 * 0.125f;
    inverse = 127 / maximum;
  }
  out.da[m] = scale;
  int shifted_sums[8] = {};
  for (int b = 0; b < 8; ++b) {
    const float* block = x + 32 * b;
    int8_t* q = out.q + 32 * (b * tokens + m);
    int shift = 0;
    for (int i = 0; i < 32; ++i) q[i] = 0;
    if (inverse != 0) {
      const int k = BlockExponent(MaxMagnitude(block, 32), maximum);
      for (int i = 0; i < 32; ++i) {
        const int rounded = RoundToEven(block[i] * inverse * static_cast<float>(1 << k));
        q[i] = static_cast<int8_t>(rounded > 127 ? 127 : rounded < -127 ? -127 : rounded);
      }
      shift = 3 - k;
    }
    out.shift[b * tokens + m] = shift;
    const int low = Sum(q, 16);
    const int high = Sum(q + 16, 16);
    out.corr32[2 * b * tokens + m] = -32 * low;
    out.corr32[(2 * b + 1) * tokens + m] = -32 * high;
    shifted_sums[b] = (low + high) * (1 << shift);
  }
  for (int j = 0; j < 4; ++j) {
    const uint32_t low = static_cast<uint32_t>(shifted_sums[2 * j]) & 0xffffu;
    const uint32_t high = static_cast<uint32_t>(shifted_sums[2 * j + 1]) << 16;
    out.sum_pairs[j * tokens + m] = static_cast<int32_t>(high | low);
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

void QuantizeSuper256(const QuantizeArgs& args) {
  const int64_t unit_bytes = int64_t{args.tokens} * kSuper256TokenBytes;
  for (int64_t u = 0; u < args.cols / 256; ++u) {
    const Super256Sections out = SectionsOfSuper256(args.tile + u * unit_bytes, args.tokens);
    for (int m = 0; m < args.tokens; ++m) {
      QuantizeSuperBlock(args.x + m * args.x_stride + 256 * u, m, args.tokens, out);
    }
  }
}

}  // namespace skald::kernels::scalar
