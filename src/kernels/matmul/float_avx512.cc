// The AVX-512 matmul of F32 and F16 weights: one fma chain per element.

#include <span>

#include "base/check.h"
#include "kernels/isa/intrinsics.h"
#include "kernels/isa/prefetch.h"
#include "kernels/matmul/variants.h"
#include "kernels/matmul/ways.h"
#include "kernels/matmul/weights_avx512.h"
#include "kernels/pack/panel.h"

// clang-format off: the region must open before the templates and after everything else.
#include "kernels/isa/target_avx512_begin.h"
#include "kernels/matmul/matmul_generic.h"
// clang-format on

namespace skald::kernels::avx512 {
namespace {

struct F32Element {
  static constexpr int kBytes = 4;
  [[gnu::always_inline]] static __m512 Load16(const std::byte* p) {
    return _mm512_loadu_ps(reinterpret_cast<const float*>(p));
  }
};
struct F16Element {
  static constexpr int kBytes = 2;
  [[gnu::always_inline]] static __m512 Load16(const std::byte* p) {
    return LoadHalves(reinterpret_cast<const uint16_t*>(p));
  }
};

template <typename Element, int MR>
struct FloatKernel {
  // Panels in flight: an fma has a latency of 4 cycles and two start in each, so fewer than 8
  // independent chains leave the units idle. With 24 accumulators there are registers to spare.
  static constexpr int kPanels = MR == 1 ? 8 : MR <= 3 ? 4 : MR <= 12 ? 2 : 1;

  template <int NP>
  static void Panels(const std::byte* panels, const TileArgs& args, float* out) {
    const int64_t panel_bytes = args.cols * kPanelRows * Element::kBytes;
    const float* x = reinterpret_cast<const float*>(args.tile);
    __m512 acc[MR][NP];
    for (int m = 0; m < MR; ++m) {
      for (int p = 0; p < NP; ++p) acc[m][p] = _mm512_setzero_ps();
    }
    for (int64_t k = 0; k < args.cols; ++k) {
      __m512 w[NP];
#pragma GCC unroll 8
      for (int p = 0; p < NP; ++p) {
        const std::byte* column = panels + p * panel_bytes + k * kPanelRows * Element::kBytes;
        PrefetchAhead<1>(args.ahead, column);
        w[p] = Element::Load16(column);
      }
#pragma GCC unroll 16
      for (int m = 0; m < MR; ++m) {
        const __m512 xm = _mm512_set1_ps(x[k * MR + m]);
#pragma GCC unroll 8
        for (int p = 0; p < NP; ++p) acc[m][p] = _mm512_fmadd_ps(w[p], xm, acc[m][p]);
      }
    }
    for (int m = 0; m < MR; ++m) {
      for (int p = 0; p < NP; ++p) {
        _mm512_storeu_ps(out + m * args.out_stride + p * kPanelRows, acc[m][p]);
      }
    }
  }

  // The panels from p on: by NP, the rest by half as many.
  template <int NP>
  static void RunFrom(int64_t p, const TileArgs& args) {
    const int64_t panel_bytes = args.cols * kPanelRows * Element::kBytes;
    for (; p + NP <= args.panel_count; p += NP) {
      Panels<NP>(args.panels + p * panel_bytes, args, args.out + p * kPanelRows);
    }
    if constexpr (NP > 1) RunFrom<NP / 2>(p, args);
  }

  static void Run(const TileArgs& args) { RunFrom<kPanels>(0, args); }
};

template <int MR>
using F32Kernel = FloatKernel<F32Element, MR>;
template <int MR>
using F16Kernel = FloatKernel<F16Element, MR>;

// Constants: nothing of the standard library is called inside of the region.
constexpr MatmulWay kF32Ways[] = {{"", kByTiles<PanelType::kF32, F32Kernel>}};
constexpr MatmulWay kF16Ways[] = {{"", kByTiles<PanelType::kF16, F16Kernel>}};

}  // namespace
}  // namespace skald::kernels::avx512

#include "kernels/isa/target_end.h"

namespace skald::kernels::avx512 {

std::span<const MatmulWay> FloatWays(PanelType type) {
  switch (type) {
    case PanelType::kF32: return kF32Ways;
    case PanelType::kF16: return kF16Ways;
    default: return {};
  }
}

}  // namespace skald::kernels::avx512
