// bfloat16 weights with AVX2: fused multiply-adds, both halves of a panel beside each other.

#include "base/check.h"
#include "kernels/isa/flush_mode.h"
#include "kernels/isa/intrinsics.h"
#include "kernels/isa/prefetch.h"
#include "kernels/matmul/variants.h"
#include "kernels/pack/unit_layout.h"
#include "kernels/quantize/tile_layout.h"

// clang-format off: the region must open before the templates and after everything else.
#include "kernels/isa/target_avx2_begin.h"
#include "kernels/matmul/bfloat16_generic.h"
// clang-format on

namespace skald::kernels::avx2 {
namespace {

struct Lanes {
  using Vector = __m256;
  static constexpr int kRows = 8;
  // With both halves of a panel 8 chains, the latency of two units; a float serves both halves.
  static constexpr int kTokens = 2;

  [[gnu::always_inline]] static Vector Zero() { return _mm256_setzero_ps(); }
  [[gnu::always_inline]] static Vector Add(Vector a, Vector b) { return _mm256_add_ps(a, b); }
  [[gnu::always_inline]] static Vector Fma(Vector a, const float* p, Vector c) {
    return _mm256_fmadd_ps(a, _mm256_broadcast_ss(p), c);
  }
  [[gnu::always_inline]] static void Store(float* p, Vector a) { _mm256_storeu_ps(p, a); }
  [[gnu::always_inline]] static void Split(const std::byte* p, Vector& low, Vector& high) {
    const __m256i pairs = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    low = _mm256_castsi256_ps(_mm256_slli_epi32(pairs, 16));
    high = _mm256_castsi256_ps(_mm256_and_si256(pairs, _mm256_set1_epi32(~0xffff)));
  }
  // Both vectors are halves of the same lines.
  template <int64_t kBytes>
  [[gnu::always_inline]] static void Prefetch(const ReadAhead& ahead, const std::byte* weights) {
    if (reinterpret_cast<uintptr_t>(weights) % 64 == 0) PrefetchAhead<2 * kBytes>(ahead, weights);
  }
};

void Tile(const TileArgs& args) {
  constexpr int64_t kHalfStride = 32;
  const int64_t panel_bytes = PanelBytes(PanelType::kBF16, args.cols);
  for (int64_t p = 0; p < args.panel_count; ++p) {
    const std::byte* panel = args.panels + p * panel_bytes;
    float* out = args.out + p * kPanelRows;
    BFloat16Tokens<Lanes, Lanes::kTokens, 2>(args, panel, kHalfStride, 0, out);
  }
}

}  // namespace

void MatmulBFloat16(const MatmulArgs& args) {
  const FlushMode flush;
  EveryTile<PanelType::kBF16, Tile>(args);
}

}  // namespace skald::kernels::avx2

#include "kernels/isa/target_end.h"
