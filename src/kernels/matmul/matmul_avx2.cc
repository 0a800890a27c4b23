// The AVX2 matmul: matmul_256_generic.h with the dot products below, and floats.
//
// Without a dot-product instruction, u8 x s8 products are summed in pairs by vpmaddubsw, which
// saturates at int16; each type says how many of its pairs can be added before that is possible, so
// every sum is exact:
//
//     4 bits     8 pairs   8 * 2 * 15 * 127 = 30480
//     5 bits     4 pairs   4 * 2 * 31 * 127 = 31496
//     6 bits     2 pairs   2 * 2 * 63 * 127 = 32004
//     64 +- 62   1 pair        2 * 126 * 127 = 32004
//     8 signed   1 pair        2 * 128 * 127 = 32512, as |w| times q with the sign of w

#include "base/check.h"
#include "kernels/isa/intrinsics.h"
#include "kernels/isa/prefetch.h"
#include "kernels/matmul/low_bit_avx2.h"
#include "kernels/matmul/variants.h"
#include "kernels/matmul/weights_avx2.h"
#include "kernels/pack/unit_layout.h"
#include "kernels/quantize/tile_layout.h"
#include "tensor/quant_blocks.h"

// clang-format off: the region must open after everything else.
#include "kernels/isa/target_avx2_begin.h"
#include "kernels/matmul/matmul_256_generic.h"
// clang-format on

namespace skald::kernels::avx2 {
namespace {

// Weights of 8 bits are signed here: offset by 128 the pairs would not fit.
struct SignedBytes {
  static constexpr int kOffset = 0;
  [[gnu::always_inline]] static SignedWeights<> Of(const UnsignedWeights<8>& bytes) {
    SignedWeights<> weights;
#pragma GCC unroll 8
    for (int k = 0; k < 8; ++k) {
      weights.w[k] = _mm256_xor_si256(bytes.w[k], _mm256_set1_epi8(-128));  // q - 128
      weights.magnitude[k] = _mm256_abs_epi8(weights.w[k]);
    }
    return weights;
  }
};

// The dot products of what was unpacked, as above. Pairs are multiplied with their scale where they
// are added up in any case: a 32-bit multiplication is two instructions more, of 10 cycles.
struct PairDots {
  using Bytes = SignedBytes;
  static constexpr bool kStarts = false;

  // In both int16 of each lane.
  [[gnu::always_inline]] static __m256i ScaleOf(__m256i scale) { return PairOf(scale, scale); }
  template <int kFirst, int kCount, typename Weights>
  [[gnu::always_inline]] static __m256i AddScaled(__m256i sum, __m256i /*start*/,
                                                  const Weights& weights, const int8_t* q,
                                                  __m256i scale) {
    return weights.template AddTo<kFirst, kCount>(sum, q, scale);
  }

  template <int kFirst, int kCount, typename Weights>
  [[gnu::always_inline]] static __m256i Dot(const Weights& weights, const int8_t* q) {
    return DotFrom<kFirst, kCount>(_mm256_setzero_si256(), weights, q);
  }
  template <int kFirst, int kCount, typename Weights>
  [[gnu::always_inline]] static __m256i DotFrom(__m256i start, const Weights& weights,
                                                const int8_t* q) {
    return weights.template AddTo<kFirst, kCount>(start, q, _mm256_set1_epi16(1));
  }
};

// ---------------------------------------------------------------------------------------------
// Float weights: one fma chain per element.

struct F32 {
  static constexpr int kBytes = 4;
  [[gnu::always_inline]] static __m256 Load8(const std::byte* p) {
    return _mm256_loadu_ps(reinterpret_cast<const float*>(p));
  }
};
struct F16 {
  static constexpr int kBytes = 2;
  [[gnu::always_inline]] static __m256 Load8(const std::byte* p) {
    return LoadHalves(reinterpret_cast<const uint16_t*>(p));
  }
};

// kTokens tokens times kPanels panels: 2 * kTokens * kPanels accumulators, 8 of them to cover the
// latency of the fma, which leaves registers for the weights and a broadcast.
template <typename Type, int kTokens, int kPanels>
void FloatPanels(const TileArgs& args, int64_t panel, int token) {
  const int64_t column_bytes = kPanelRows * Type::kBytes;
  const int64_t panel_bytes = args.cols * column_bytes;
  const std::byte* panels = args.panels + panel * panel_bytes;
  const float* x = reinterpret_cast<const float*>(args.tile) + token;
  __m256 acc[kTokens][kPanels][2];
  for (int m = 0; m < kTokens; ++m) {
    for (int p = 0; p < kPanels; ++p) acc[m][p][0] = acc[m][p][1] = _mm256_setzero_ps();
  }
  for (int64_t k = 0; k < args.cols; ++k) {
#pragma GCC unroll 4
    for (int p = 0; p < kPanels; ++p) {
      const std::byte* column = panels + p * panel_bytes + k * column_bytes;
      if constexpr (kTokens == 1) PrefetchAhead<1>(kTwoSteps, column);
      const __m256 w0 = Type::Load8(column);
      const __m256 w1 = Type::Load8(column + column_bytes / 2);
#pragma GCC unroll 4
      for (int m = 0; m < kTokens; ++m) {
        const __m256 xm = _mm256_set1_ps(x[k * args.tokens + m]);
        acc[m][p][0] = _mm256_fmadd_ps(w0, xm, acc[m][p][0]);
        acc[m][p][1] = _mm256_fmadd_ps(w1, xm, acc[m][p][1]);
      }
    }
  }
  float* out = args.out + token * args.out_stride + panel * kPanelRows;
  for (int m = 0; m < kTokens; ++m) {
    for (int p = 0; p < kPanels; ++p) {
      float* target = out + m * args.out_stride + p * kPanelRows;
      _mm256_storeu_ps(target, acc[m][p][0]);
      _mm256_storeu_ps(target + kHalfRows, acc[m][p][1]);
    }
  }
}

// The next kPanels panels for all tokens: by fours, then two, then one.
template <typename Type, int kPanels>
void FloatTokens(const TileArgs& args, int64_t panel) {
  int m = 0;
  if constexpr (kPanels == 1) {
    for (; m + 4 <= args.tokens; m += 4) FloatPanels<Type, 4, 1>(args, panel, m);
  }
  if constexpr (kPanels <= 2) {
    for (; m + 2 <= args.tokens; m += 2) FloatPanels<Type, 2, kPanels>(args, panel, m);
  }
  for (; m < args.tokens; ++m) FloatPanels<Type, 1, kPanels>(args, panel, m);
}

template <typename Type>
void MatmulFloat(const TileArgs& args) {
  int64_t p = 0;
  if (args.tokens == 1) {
    for (; p + 4 <= args.panel_count; p += 4) FloatTokens<Type, 4>(args, p);
  } else if (args.tokens < 4) {
    for (; p + 2 <= args.panel_count; p += 2) FloatTokens<Type, 2>(args, p);
  }
  for (; p < args.panel_count; ++p) FloatTokens<Type, 1>(args, p);
}

}  // namespace

MatmulFn MatmulFor(PanelType type) {
  switch (type) {
    case PanelType::kF32: return EveryTile<PanelType::kF32, MatmulFloat<F32>>;
    case PanelType::kF16: return EveryTile<PanelType::kF16, MatmulFloat<F16>>;
    case PanelType::kBF16: return MatmulBFloat16;
    default: return IntegerMatmulFor<PairDots>(type);
  }
}

}  // namespace skald::kernels::avx2

#include "kernels/isa/target_end.h"
