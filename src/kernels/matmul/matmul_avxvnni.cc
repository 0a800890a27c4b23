// The AVX-VNNI matmul: matmul_256_generic.h with vpdpbusd, which multiplies unsigned weights with
// signed activations and adds four products to each int32 without saturation. So no type has a
// bound on its sums, and weights of 8 bits are read as they stand, offset by 128; the sums of
// activations, which remove an offset, are where the chain of dot products starts.

#include "kernels/isa/intrinsics.h"
#include "kernels/matmul/low_bit_avx2.h"
#include "kernels/matmul/variants.h"
#include "kernels/matmul/weights_avx2.h"
#include "kernels/pack/unit_layout.h"
#include "kernels/quantize/tile_layout.h"
#include "kernels/x86/avxvnni.h"
#include "tensor/quant_blocks.h"

// clang-format off: the region must open after everything else.
#include "kernels/isa/target_avxvnni_begin.h"
#include "kernels/matmul/matmul_256_generic.h"
// clang-format on

namespace skald::kernels::avxvnni {
namespace {

using avx2::Broadcast4;
using avx2::kHalfRows;
using avx2::Load;
using avx2::LoadBytes;
using avx2::SignedWeights;
using avx2::UnsignedWeights;

[[gnu::always_inline]] inline UnsignedWeights<8> UnpackBytes(const uint8_t (&q)[8][16][4],
                                                             int half) {
  UnsignedWeights<8> weights;
#pragma GCC unroll 8
  for (int k = 0; k < 8; ++k) weights.w[k] = Load(q[k][kHalfRows * half]);
  return weights;
}

struct Q8 {
  using Unit = UnitQ8;
  static constexpr int kOffset = 128;
  static constexpr bool kHasMin = false;
  [[gnu::always_inline]] static UnsignedWeights<8> Unpack(const Unit& unit, int, int half) {
    return UnpackBytes(unit.q, half);
  }
};

struct Q8K : avx2::Q8K {
  // Not inherited: gcc would compile that one outside of the region.
  [[gnu::always_inline]] Q8K(const Unit& unit, int rows) : avx2::Q8K(unit, rows) {}

  template <typename Dots>
  [[gnu::always_inline]] void AddBlock(const Unit& unit, const avx2::BlockArgs& block,
                                       avx2::Sums& sums) const {
    const auto [a, b, rows] = block;
    const UnsignedWeights<8> weights = UnpackBytes(unit.q[b], rows);
    const __m256i low_scale = LoadBytes(unit.scales[2 * b] + kHalfRows * rows);
    const __m256i high_scale = LoadBytes(unit.scales[2 * b + 1] + kHalfRows * rows);
    const int32_t* corr = a.corr32 + b % 4 * 2 * a.tokens;
    for (int m = 0; m < a.tokens; ++m) {
      const int8_t* q = a.block(b % 4, m);
      const __m256i low_start = avx2::CorrectionFor<128, 32>(corr[m]);
      const __m256i high_start = avx2::CorrectionFor<128, 32>(corr[a.tokens + m]);
      const __m256i low = Dots::template DotFrom<0, 4>(low_start, weights, q);
      const __m256i high = Dots::template DotFrom<4, 4>(high_start, weights, q);
      sums[m] = avx2::AddScaled(sums[m], low, low_scale);
      sums[m] = avx2::AddScaled(sums[m], high, high_scale);
    }
  }
};

[[gnu::always_inline]] inline __m256i Step(__m256i sum, const auto& weights, int k,
                                           const int8_t* q) {
  if constexpr (requires { weights.magnitude; }) {
    const __m256i signed_q = _mm256_sign_epi8(Broadcast4(q + 4 * k), weights.w[k]);
    return _mm256_dpbusd_avx_epi32(sum, weights.magnitude[k], signed_q);
  } else {
    return _mm256_dpbusd_avx_epi32(sum, weights.w[k], Broadcast4(q + 4 * k));
  }
}

// Two chains: one alone would wait for its latency where few tokens follow one another.
struct DotInstruction {
  using Q8Weights = Q8;
  using Q8KWeights = Q8K;

  template <int kFirst, int kCount, typename Weights>
  [[gnu::always_inline]] static __m256i DotFrom(__m256i start, const Weights& weights,
                                                const int8_t* q) {
    __m256i even = start;
    __m256i odd = _mm256_setzero_si256();
#pragma GCC unroll 4
    for (int k = kFirst; k < kFirst + kCount; k += 2) {
      even = Step(even, weights, k, q);
      odd = Step(odd, weights, k + 1, q);
    }
    return _mm256_add_epi32(even, odd);
  }
  template <int kFirst, int kCount, typename Weights>
  [[gnu::always_inline]] static __m256i Dot(const Weights& weights, const int8_t* q) {
    return DotFrom<kFirst, kCount>(_mm256_setzero_si256(), weights, q);
  }
};

}  // namespace

MatmulFn MatmulFor(PanelType type) {
  const ActivationFormat format = InfoOf(type).activation;
  const bool integers =
      format == ActivationFormat::kBlock32 || format == ActivationFormat::kBlock128;
  return integers ? avx2::IntegerMatmulFor<DotInstruction>(type) : avx2::MatmulFor(type);
}

}  // namespace skald::kernels::avxvnni

#include "kernels/isa/target_end.h"
