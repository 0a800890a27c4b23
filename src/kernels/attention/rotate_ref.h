/// The rotation of a head before it is quantized (numerics 3.20): a Walsh-Hadamard transform, which
/// spreads what is large in one element over all of them (QuaRot, Ashkboos et al. 2024). It is its
/// own inverse.
#pragma once

#include <cmath>

#include "kernels/attention/attention.h"

namespace skald::kernels {

/// What a block of n elements is multiplied by, so that lengths stay as they are. sqrt is correctly
/// rounded everywhere.
inline float RotationFactor(int n) {
  return static_cast<float>(1.0 / std::sqrt(static_cast<double>(n)));
}

/// Rotates a block of n elements, a power of two.
inline void RotateBlockRef(float* x, int n) {
  if (n == 1) return;
  for (int h = 1; h < n; h *= 2) {
    for (int i = 0; i < n; ++i) {
      if ((i & h) != 0) continue;
      const float a = x[i];
      const float b = x[i + h];
      x[i] = a + b;
      x[i + h] = a - b;
    }
  }
  const float factor = RotationFactor(n);
  for (int i = 0; i < n; ++i) x[i] = x[i] * factor;
}

/// Rotates n elements: blocks of the powers of two that add up to n, the largest first.
inline void RotateRef(float* x, int n) {
  for (int block = kMaxQuantizedDim; block >= 1; block /= 2) {
    if ((n & block) == 0) continue;
    RotateBlockRef(x, block);
    x += block;
  }
}

}  // namespace skald::kernels
