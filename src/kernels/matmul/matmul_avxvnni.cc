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
using avx2::UnsignedWeights;

// Weights of 8 bits as they stand.
struct OffsetBytes {
  static constexpr int kOffset = 128;
  [[gnu::always_inline]] static UnsignedWeights<8> Of(const UnsignedWeights<8>& bytes) {
    return bytes;
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
  using Bytes = OffsetBytes;
  static constexpr bool kStarts = true;

  [[gnu::always_inline]] static __m256i ScaleOf(__m256i scale) { return scale; }
  template <int kFirst, int kCount, typename Weights>
  [[gnu::always_inline]] static __m256i AddScaled(__m256i sum, __m256i start,
                                                  const Weights& weights, const int8_t* q,
                                                  __m256i scale) {
    const __m256i dot = DotFrom<kFirst, kCount>(start, weights, q);
    return _mm256_add_epi32(sum, _mm256_mullo_epi32(dot, scale));
  }

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
