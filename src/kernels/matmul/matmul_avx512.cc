// Which AVX-512 matmul a panel type has: its ways, by the kind of its units, and the one chosen.

#include <array>
#include <span>

#include "base/check.h"
#include "kernels/isa/cpu.h"
#include "kernels/matmul/variants.h"
#include "kernels/matmul/ways.h"

namespace skald::kernels::avx512 {
namespace {

constexpr MatmulWay kBFloat16ByFma[] = {{"", MatmulBFloat16ByFma}};
constexpr MatmulWay kBFloat16ByDots[] = {{"a panel", MatmulBFloat16ByDots},
                                         {"two panels", MatmulBFloat16ByDotsOfTwo}};

// Tried once: a process starts many engines, and its CPU stays.
std::span<const MatmulWay> BFloat16Ways() {
  static const bool by_dots =
      CpuHasFastBFloat16Dots() && GivesTheSpecifiedBits(MatmulBFloat16ByDots);
  if (by_dots) return kBFloat16ByDots;
  return kBFloat16ByFma;
}

using Choice = std::array<MatmulWay, kPanelTypeCount>;

Choice FastestOfAll() {
  // Now, and not in the first step.
  ReadAheadOfFew(PanelType::kQ4K, 1);
  UnpackedWay(PanelType::kQ6K);
  Choice chosen;
  for (int i = 0; i < kPanelTypeCount; ++i) {
    const auto type = static_cast<PanelType>(i);
    chosen[static_cast<size_t>(i)] = FastestOf(type, WaysOf(type));
  }
  return chosen;
}

}  // namespace

std::span<const MatmulWay> WaysOf(PanelType type) {
  if (type == PanelType::kBF16) return BFloat16Ways();
  for (const auto ways : {FloatWays(type), Block32Ways(type), SuperWays(type)}) {
    if (!ways.empty()) return ways;
  }
  UNREACHABLE();
}

MatmulWay WayFor(PanelType type) {
  // Timed once: a process starts many engines, and its core stays.
  static const Choice chosen = FastestOfAll();
  return chosen[static_cast<size_t>(type)];
}

ReadAhead ReadAheadOfFew(PanelType type, int tokens) {
  // Two kinds of loops: those that unpack much for each line, and those that do little. Of what
  // leaves most to the hardware each has its own: on Zen 4 one step makes Q4_K 7 % faster than
  // none, and BF16 7 % slower.
  static const ReadAhead super =
      FastestReadAhead(PanelType::kQ4K, TokenOfQ4K, {kTwoSteps, kOneStep});
  static const ReadAhead other =
      FastestReadAhead(PanelType::kQ8, TokenOfQ8, {kTwoSteps, kByHardware});
  if (InfoOf(type).activation != ActivationFormat::kBlock128) return other;
  return tokens == 1 ? super : kTwoSteps;
}

MatmulFn MatmulFor(PanelType type) { return WayFor(type).matmul; }

}  // namespace skald::kernels::avx512
