#include <array>

#include "kernels/uniform/variants.h"

namespace skald::kernels::scalar {

void Uniform(const UniformArgs& args) {
  for (int64_t i = 0; i < args.pairs; ++i) {
    const std::array<double, 2> pair =
        UniformPair(args.key, args.first_pair + static_cast<uint32_t>(i));
    args.numbers[2 * i] = pair[0];
    args.numbers[2 * i + 1] = pair[1];
  }
}

}  // namespace skald::kernels::scalar
