#include "kernels/quantize/quantize.h"

#include "base/check.h"
#include "base/checked_math.h"
#include "kernels/quantize/tile_layout.h"

namespace skald::kernels {

int NextTileTokens(int64_t remaining) {
  CHECK(remaining > 0);
  for (const int tokens : kTileSizes) {
    if (tokens <= remaining) return tokens;
  }
  UNREACHABLE();
}

int64_t UnitColumns(ActivationFormat format) {
  switch (format) {
    case ActivationFormat::kF32: return 1;
    case ActivationFormat::kBlock32:
    case ActivationFormat::kBFloat16: return 32;
    case ActivationFormat::kBlock128: return 128;
  }
  UNREACHABLE();
}

int64_t ActivationBytes(ActivationFormat format, int64_t cols) {
  switch (format) {
    case ActivationFormat::kF32: return cols * 4;
    case ActivationFormat::kBlock32: CHECK(cols % 32 == 0); return cols / 32 * kBlock32TokenBytes;
    case ActivationFormat::kBlock128:
      CHECK(cols % 128 == 0);
      return cols / 128 * kBlock128TokenBytes;
    case ActivationFormat::kBFloat16: return DivCeil<int64_t>(cols, 32) * kBFloat16TokenBytes;
  }
  UNREACHABLE();
}

}  // namespace skald::kernels
