// The AVX2 quantizer, also used on AVX-512 machines: the work of a group is a short chain of
// reductions and two divisions, which wider vectors do not shorten.

#include "kernels/isa/intrinsics.h"
#include "kernels/isa/target_avx2_begin.h"
#include "kernels/quantize/tile_layout.h"
#include "kernels/quantize/variants.h"

namespace skald::kernels::avx2 {
namespace {

// 32 floats in order.
struct Block {
  __m256 x[4];
};

[[gnu::always_inline]] inline Block LoadBlock(const float* p) {
  return {{_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8), _mm256_loadu_ps(p + 16),
           _mm256_loadu_ps(p + 24)}};
}

// The bits of the largest |x|: as integers, so that any NaN is larger than infinity.
[[gnu::always_inline]] inline int32_t MaxMagnitudeBits(const Block& block) {
  const __m256i mask = _mm256_set1_epi32(0x7fffffff);
  __m256i largest = _mm256_setzero_si256();
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    largest = _mm256_max_epi32(largest, _mm256_and_si256(_mm256_castps_si256(block.x[i]), mask));
  }
  __m128i four =
      _mm_max_epi32(_mm256_castsi256_si128(largest), _mm256_extracti128_si256(largest, 1));
  four = _mm_max_epi32(four, _mm_shuffle_epi32(four, _MM_SHUFFLE(1, 0, 3, 2)));
  four = _mm_max_epi32(four, _mm_shuffle_epi32(four, _MM_SHUFFLE(2, 3, 0, 1)));
  return _mm_cvtsi128_si32(four);
}

// What a scale group is multiplied by, and its step. Both 0, or 0 and NaN, where all q are 0.
struct Scale {
  float inverse = 0;
  float step = 0;
};

[[gnu::always_inline]] inline Scale ScaleFor(int32_t maximum_bits) {
  constexpr int32_t kInfinityBits = 0x7f800000;
  const float maximum = __builtin_bit_cast(float, maximum_bits);
  if (maximum_bits >= kInfinityBits) return {0, __builtin_bit_cast(float, 0x7fc00000)};
  if (maximum < kSmallestScaledMaximum) return {};
  return {127 / maximum, maximum / 127};
}

// The sums of q over the columns 0..15 and 16..31.
struct HalfSums {
  int32_t low;
  int32_t high;
};

[[gnu::always_inline]] inline HalfSums SumsOf(__m256i q) {
  // Unsigned sums of 8 bytes each, the bytes moved up by 128.
  const __m256i sums =
      _mm256_sad_epu8(_mm256_xor_si256(q, _mm256_set1_epi8(-128)), _mm256_setzero_si256());
  const __m256i pairs = _mm256_add_epi32(sums, _mm256_srli_si256(sums, 8));
  return {_mm_cvtsi128_si32(_mm256_castsi256_si128(pairs)) - 16 * 128,
          _mm_cvtsi128_si32(_mm256_extracti128_si256(pairs, 1)) - 16 * 128};
}

// rne(rn(x * inverse)), in the order of the columns.
[[gnu::always_inline]] inline __m256i Round(const Block& block, float inverse) {
  const __m256 i = _mm256_set1_ps(inverse);
  __m256i q[4];
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    q[j] = _mm256_cvtps_epi32(_mm256_mul_ps(block.x[j], i));
  }
  const __m256i bytes =
      _mm256_packs_epi16(_mm256_packs_epi32(q[0], q[1]), _mm256_packs_epi32(q[2], q[3]));
  // The packs work within 128-bit lanes and leave groups of 4 in the order 0 2 4 6 1 3 5 7.
  return _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

[[gnu::always_inline]] inline void QuantizeBlock(const float* x, int m,
                                                 const Block32Sections& out) {
  const Block block = LoadBlock(x);
  const Scale scale = ScaleFor(MaxMagnitudeBits(block));
  __m256i q = _mm256_setzero_si256();
  if (scale.inverse != 0) q = Round(block, scale.inverse);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(out.q + 32 * m), q);
  const HalfSums sums = SumsOf(q);
  out.da[m] = scale.step;
  out.corr8[m] = -8 * (sums.low + sums.high);
  out.corr128[m] = -128 * (sums.low + sums.high);
}

void QuantizeWideBlock(const float* x, int m, const Block128Sections& out) {
  int32_t maximum_bits = 0;
  for (int b = 0; b < 4; ++b) {
    const int32_t bits = MaxMagnitudeBits(LoadBlock(x + 32 * b));
    maximum_bits = bits > maximum_bits ? bits : maximum_bits;
  }
  const Scale scale = ScaleFor(maximum_bits);
  out.da[m] = scale.step;
  int32_t sums[4];
  for (int b = 0; b < 4; ++b) {
    __m256i q = _mm256_setzero_si256();
    if (scale.inverse != 0) q = Round(LoadBlock(x + 32 * b), scale.inverse);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out.block(b, m)), q);
    const HalfSums halves = SumsOf(q);
    out.corr32[2 * b * out.tokens + m] = -32 * halves.low;
    out.corr32[(2 * b + 1) * out.tokens + m] = -32 * halves.high;
    sums[b] = halves.low + halves.high;
  }
  for (int j = 0; j < 2; ++j) {
    const uint32_t low = static_cast<uint32_t>(sums[2 * j]) & 0xffffu;
    const uint32_t high = static_cast<uint32_t>(sums[2 * j + 1]) << 16;
    out.sum_pairs[j * out.tokens + m] = static_cast<int32_t>(high | low);
  }
}

// tensor::Bf16FromFloat of 8 floats, in the upper halves; the lower ones are anything.
[[gnu::always_inline]] inline __m256i RoundToBFloat16(__m256 x) {
  const __m256i bits = _mm256_castps_si256(x);
  const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  const __m256i bias = _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff));
  const __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
  const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
  return _mm256_blendv_epi8(_mm256_add_epi32(bits, bias), quiet, nan);
}

// 32 floats of one token.
[[gnu::always_inline]] inline void RoundUnit(const float* x, std::byte* pairs) {
  const Block block = LoadBlock(x);
  for (int i = 0; i < 2; ++i) {
    const __m256i low = _mm256_srli_epi32(RoundToBFloat16(block.x[i]), 16);
    const __m256i pair = _mm256_blend_epi16(low, RoundToBFloat16(block.x[i + 2]), 0xaa);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(pairs) + i, pair);
  }
}

}  // namespace

void QuantizeBFloat16(const QuantizeArgs& args) {
  std::byte* pairs = args.tile;
  const int64_t whole = args.cols / 32 * 32;
  for (int64_t u = 0; u < whole; u += 32) {
    for (int m = 0; m < args.tokens; ++m, pairs += kBFloat16TokenBytes) {
      RoundUnit(args.x + m * args.x_stride + u, pairs);
    }
  }
  if (whole == args.cols) return;
  for (int m = 0; m < args.tokens; ++m, pairs += kBFloat16TokenBytes) {
    const float* x = args.x + m * args.x_stride;
    float padded[32] = {};
    for (int64_t i = whole; i < args.cols; ++i) padded[i - whole] = x[i];
    RoundUnit(padded, pairs);
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

}  // namespace skald::kernels::avx2

#include "kernels/isa/target_end.h"
