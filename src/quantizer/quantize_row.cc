#include "quantizer/quantize_row.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "tensor/half.h"
#include "tensor/quant_blocks.h"

namespace skald::quantizer {
namespace {

using namespace skald::tensor;

constexpr float kHalfMax = 65504;

uint16_t HalfOf(float value) { return HalfFromFloat(std::clamp(value, -kHalfMax, kHalfMax)); }

// The integer of low..high that is nearest to x / step; of 0, if step is 0.
int NearestStep(float x, float step, int low, int high) {
  if (step == 0) return std::clamp(0, low, high);
  return static_cast<int>(std::lround(
      std::clamp(x / step, static_cast<float>(low) - 0.25f, static_cast<float>(high) + 0.25f)));
}

// How scales are tried: so many on each side of the first, in steps of a tenth of an integer.
constexpr int kTriesAside = 12;
constexpr float kTryStep = 0.1f;

// The element with the largest magnitude.
float PeakOf(std::span<const float> x) {
  float peak = 0;
  for (const float value : x) {
    if (std::fabs(value) > std::fabs(peak)) peak = value;
  }
  return peak;
}

// The scale s of the least squared error of x as s * q, q in low..-low - 1. The peak gets the
// lowest integer or one near it: its sign is that of s turned round.
float BestScale(std::span<const float> x, int low) {
  const float peak = PeakOf(x);
  if (peak == 0) return 0;
  float best = 0;
  double best_gain = -1;
  for (int i = -kTriesAside; i <= kTriesAside; ++i) {
    const float step = peak / (static_cast<float>(low) + kTryStep * static_cast<float>(i));
    double product = 0;
    double square = 0;
    for (const float value : x) {
      const int q = NearestStep(value, step, low, -low - 1);
      product += static_cast<double>(value) * q;
      square += q * q;
    }
    // With s = product / square the squared error is that of 0 less this.
    if (square == 0) continue;
    const double gain = product * product / square;
    if (gain <= best_gain) continue;
    best_gain = gain;
    best = static_cast<float>(product / square);
  }
  return best;
}

// x as scale * q - minimum, q in 0..top, minimum >= 0.
struct Affine {
  float scale = 0;
  float minimum = 0;
};

// Sums over a part, for integers q chosen for it.
struct Sums {
  double q = 0;
  double qq = 0;
  double x = 0;
  double xq = 0;
  double xx = 0;
  double count = 0;
};

Sums SumsFor(std::span<const float> x, const Affine& grid, int top) {
  Sums sums;
  for (const float value : x) {
    const int q = NearestStep(value + grid.minimum, grid.scale, 0, top);
    sums.q += q;
    sums.qq += q * q;
    sums.x += value;
    sums.xq += static_cast<double>(value) * q;
    sums.xx += static_cast<double>(value) * value;
  }
  sums.count = static_cast<double>(x.size());
  return sums;
}

// Least squares of x = s q - m; m is not below 0.
Affine Fit(const Sums& sums) {
  const double determinant = sums.count * sums.qq - sums.q * sums.q;
  if (determinant > 0) {
    const double m = (sums.q * sums.xq - sums.qq * sums.x) / determinant;
    const double s = (sums.count * sums.xq - sums.q * sums.x) / determinant;
    if (m >= 0 && s > 0) return {static_cast<float>(s), static_cast<float>(m)};
  }
  return {sums.qq > 0 ? static_cast<float>(std::max(0.0, sums.xq / sums.qq)) : 0.0f, 0};
}

double ErrorOf(const Sums& sums, const Affine& fit) {
  const double s = fit.scale;
  const double m = fit.minimum;
  return sums.xx + s * s * sums.qq + m * m * sums.count - 2 * s * sums.xq + 2 * m * sums.x -
         2 * s * m * sums.q;
}

Affine BestAffine(std::span<const float> x, int top) {
  const float low = std::min(0.0f, *std::min_element(x.begin(), x.end()));
  const float high = *std::max_element(x.begin(), x.end());
  if (high <= low) return {0, -low};
  Affine best;
  double best_error = 0;
  for (int i = -kTriesAside; i <= kTriesAside; ++i) {
    const float steps = static_cast<float>(top) + kTryStep * static_cast<float>(i);
    const Sums sums = SumsFor(x, {(high - low) / steps, -low}, top);
    const Affine fit = Fit(sums);
    const double error = ErrorOf(sums, fit);
    if (i > -kTriesAside && error >= best_error) continue;
    best = fit;
    best_error = error;
  }
  return best;
}

void Quantize(std::span<const float> x, BlockQ8_0& block) {
  block.d = HalfOf(std::fabs(PeakOf(x)) / 127);
  const float d = FloatFromHalf(block.d);
  for (size_t i = 0; i < 32; ++i) {
    block.q[i] = static_cast<int8_t>(NearestStep(x[i], d, -127, 127));
  }
}

void Quantize(std::span<const float> x, BlockQ4_0& block) {
  block.d = HalfOf(BestScale(x, -8));
  const float d = FloatFromHalf(block.d);
  for (size_t i = 0; i < 16; ++i) {
    const int low = NearestStep(x[i], d, -8, 7) + 8;
    const int high = NearestStep(x[i + 16], d, -8, 7) + 8;
    block.qs[i] = static_cast<uint8_t>(low | high << 4);
  }
}

// The 6-bit scales and minimums of Q4_K and Q5_K.
void PutScaleAndMinimum(int scale, int minimum, size_t part, uint8_t (&bytes)[12]) {
  const auto add = [&](size_t at, int bits) { bytes[at] = static_cast<uint8_t>(bytes[at] | bits); };
  if (part < 4) {
    add(part, scale);
    add(part + 4, minimum);
  } else {
    add(part + 4, (scale & 15) | (minimum & 15) << 4);
    add(part - 4, scale >> 4 << 6);
    add(part, minimum >> 4 << 6);
  }
}

// What Q4_K and Q5_K have in common: fills d, dmin and the scales; q gets the integers, 0..top.
template <typename Block>
void QuantizeAffine(std::span<const float> x, int top, Block& block, uint8_t (&q)[256]) {
  std::array<Affine, 8> parts;
  Affine largest;
  for (size_t s = 0; s < 8; ++s) {
    parts[s] = BestAffine(x.subspan(32 * s, 32), top);
    largest.scale = std::max(largest.scale, parts[s].scale);
    largest.minimum = std::max(largest.minimum, parts[s].minimum);
  }
  block.d = HalfOf(largest.scale / 63);
  block.dmin = HalfOf(largest.minimum / 63);
  const float d = FloatFromHalf(block.d);
  const float dmin = FloatFromHalf(block.dmin);
  for (size_t s = 0; s < 8; ++s) {
    const int scale = NearestStep(parts[s].scale, d, 0, 63);
    const int minimum = NearestStep(parts[s].minimum, dmin, 0, 63);
    PutScaleAndMinimum(scale, minimum, s, block.scales);
    const float step = d * static_cast<float>(scale);
    const float offset = dmin * static_cast<float>(minimum);
    for (size_t i = 32 * s; i < 32 * s + 32; ++i) {
      q[i] = static_cast<uint8_t>(NearestStep(x[i] + offset, step, 0, top));
    }
  }
}

// The low 4 bits of Q4_K and Q5_K.
void PutNibbles(const uint8_t (&q)[256], uint8_t (&qs)[128]) {
  for (size_t i = 0; i < 128; ++i) {
    const uint8_t* pair = q + i / 32 * 64 + i % 32;
    qs[i] = static_cast<uint8_t>((pair[0] & 15) | (pair[32] & 15) << 4);
  }
}

void Quantize(std::span<const float> x, BlockQ4_K& block) {
  uint8_t q[256];
  QuantizeAffine(x, 15, block, q);
  PutNibbles(q, block.qs);
}

void Quantize(std::span<const float> x, BlockQ5_K& block) {
  uint8_t q[256];
  QuantizeAffine(x, 31, block, q);
  PutNibbles(q, block.qs);
  for (size_t i = 0; i < 256; ++i) {
    block.qh[i % 32] = static_cast<uint8_t>(block.qh[i % 32] | q[i] >> 4 << i / 32);
  }
}

void Quantize(std::span<const float> x, BlockQ6_K& block) {
  std::array<float, 16> scales;
  for (size_t s = 0; s < 16; ++s) scales[s] = BestScale(x.subspan(16 * s, 16), -32);
  // The largest scale becomes -128, the integer with the largest magnitude.
  block.d = HalfOf(PeakOf(scales) / -128);
  const float d = FloatFromHalf(block.d);
  for (size_t s = 0; s < 16; ++s) {
    block.scales[s] = static_cast<int8_t>(NearestStep(scales[s], d, -128, 127));
  }
  for (size_t i = 0; i < 256; ++i) {
    const int q = NearestStep(x[i], d * static_cast<float>(block.scales[i / 16]), -32, 31) + 32;
    const size_t h = i / 128;
    const size_t j = i % 128 / 32;
    const size_t l = i % 32;
    uint8_t& low = block.ql[64 * h + 32 * (j % 2) + l];
    uint8_t& high = block.qh[32 * h + l];
    low = static_cast<uint8_t>(low | (q & 15) << 4 * (j / 2));
    high = static_cast<uint8_t>(high | q >> 4 << 2 * j);
  }
}

template <typename Block>
void QuantizeBlocks(size_t elements, std::span<const float> values, std::byte* out) {
  for (size_t first = 0; first < values.size(); first += elements, out += sizeof(Block)) {
    Block block = {};
    Quantize(values.subspan(first, elements), block);
    std::memcpy(out, &block, sizeof(Block));
  }
}

}  // namespace

void QuantizeRow(DType dtype, std::span<const float> values, std::span<std::byte> out) {
  const DTypeInfo& info = InfoOf(dtype);
  CHECK(values.size() % info.block_elements == 0);
  CHECK(out.size() == values.size() / info.block_elements * info.block_bytes);
  switch (dtype) {
    case DType::kF16:
      for (size_t i = 0; i < values.size(); ++i) {
        const uint16_t half = HalfOf(values[i]);
        std::memcpy(out.data() + 2 * i, &half, 2);
      }
      return;
    case DType::kQ8_0: QuantizeBlocks<BlockQ8_0>(32, values, out.data()); return;
    case DType::kQ4_0: QuantizeBlocks<BlockQ4_0>(32, values, out.data()); return;
    case DType::kQ4_K: QuantizeBlocks<BlockQ4_K>(256, values, out.data()); return;
    case DType::kQ5_K: QuantizeBlocks<BlockQ5_K>(256, values, out.data()); return;
    case DType::kQ6_K: QuantizeBlocks<BlockQ6_K>(256, values, out.data()); return;
    default: UNREACHABLE();
  }
}

}  // namespace skald::quantizer
