#include "kernels/delta/delta.h"

#include "base/exact_math.h"
#include "kernels/delta/variants.h"
#include "kernels/isa/exp_ref.h"

namespace skald::kernels {

DeltaFn DeltaFor([[maybe_unused]] Isa isa) {
#if defined(__x86_64__)
  if (isa >= Isa::kAvx512) return avx512::Delta;
  if (isa >= Isa::kAvx2) return avx2::Delta;
#endif
  return scalar::Delta;
}

L2NormFn L2NormFor([[maybe_unused]] Isa isa) {
#if defined(__x86_64__)
  if (isa >= Isa::kAvx512) return avx512::L2Norm;
  if (isa >= Isa::kAvx2) return avx2::L2Norm;
#endif
  return scalar::L2Norm;
}

// In double precision: where x is far below 0, 1 + exp(x) of floats is 1, and its logarithm 0.
float Softplus(float x) {
  constexpr float kLinear = 20.0f;  // above it softplus(x) is x, to the last bit of a float
  return x > kLinear ? x : static_cast<float>(ExactLog(1.0 + ExactExp(double{x})));
}

float Decay(float step, float rate) { return ExpRef(step * rate); }

}  // namespace skald::kernels
