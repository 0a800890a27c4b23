/// SoftCapRef: cap * tanh(x / cap) of numerics 3.12, one float at a time. The specification of
/// every SoftCap here: that of logits (activation/) and that of attention's scores (attention/).
#pragma once

#include "kernels/isa/exp_ref.h"

namespace skald::kernels {

/// Between -cap and cap; within 2^-22 * cap of the exact value.
inline float SoftCapRef(float cap, float x) {
  // tanh t = 1 - 2 / (1 + e^2t): where e^2t is 0 or huge, the ends are exact.
  const float e = ExpRef(2.0f * (x / cap));
  return cap * (1.0f - 2.0f / (1.0f + e));
}

}  // namespace skald::kernels
