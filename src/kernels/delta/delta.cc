#include "kernels/delta/delta.h"

#include "base/exact_math.h"
#include "kernels/isa/exp_ref.h"

namespace skald::kernels {

// In double precision: where x is far below 0, 1 + exp(x) of floats is 1, and its logarithm 0.
float Softplus(float x) {
  constexpr float kLinear = 20.0f;  // above it softplus(x) is x, to the last bit of a float
  return x > kLinear ? x : static_cast<float>(ExactLog(1.0 + ExactExp(double{x})));
}

float Decay(float step, float rate) { return ExpRef(step * rate); }

}  // namespace skald::kernels
