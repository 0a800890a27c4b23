#include <cmath>

#include "base/exact_math.h"
#include "kernels/mass/variants.h"

namespace skald::kernels::scalar {

void Mass(const MassArgs& args) {
  for (int64_t i = 0; i < args.n; ++i) {
    const double exponent = MassExponent(args.logits[i], args.max, args.inverse_temperature);
    const double share = ExactExp(exponent) * static_cast<double>(kFullMass);
    args.masses[i] = static_cast<uint64_t>(std::nearbyint(share));
  }
}

}  // namespace skald::kernels::scalar
