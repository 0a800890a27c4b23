/// The last step of a strided sum (numerics 2.1): folding its partial sums, in one fixed order.
#pragma once

namespace skald::kernels {

/// Folds `partial[0..width)` in place by halves and returns the sum. `width` is a power of two.
inline float FoldRef(float* partial, int width) {
  for (int half = width / 2; half >= 1; half /= 2) {
    for (int j = 0; j < half; ++j) partial[j] = partial[j] + partial[j + half];
  }
  return partial[0];
}

}  // namespace skald::kernels
