#include <cmath>

#include "kernels/rope/variants.h"

namespace skald::kernels::scalar {

void Rope(const RopeArgs& args) {
  const int64_t pairs = args.rotated / 2;
  for (int64_t head = 0; head < args.heads; ++head) {
    float* x = args.x + head * args.head_dim;
    for (int64_t i = 0; i < pairs; ++i) {
      const bool adjacent = args.pairing == RopePairing::kAdjacent;
      float& first = x[adjacent ? 2 * i : i];
      float& second = x[adjacent ? 2 * i + 1 : i + pairs];
      const float a = first;
      const float b = second;
      const float c = args.cosine[i];
      const float s = args.sine[i];
      first = std::fma(a, c, -(b * s));
      second = std::fma(a, s, b * c);
    }
  }
}

}  // namespace skald::kernels::scalar
