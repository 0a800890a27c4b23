/// For tests: do counts look like draws from a distribution? Pearson's chi-square test.
#pragma once

#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

namespace skald::sampling {

using Distribution = std::vector<long double>;

/// The value that a chi-square variable with `degrees` of freedom exceeds with probability 1e-6
/// (Wilson and Hilferty 1931; 4.753 is that quantile of the normal distribution).
inline double ChiSquareLimit(int degrees) {
  const double v = 2.0 / (9.0 * degrees);
  return degrees * std::pow(1 - v + 4.753 * std::sqrt(v), 3);
}

/// Whether `counts` look like draws from `p`: what is impossible never drawn, the rest inside the
/// limit. Cells expected fewer than 10 times are lumped together.
inline bool LooksLike(const std::vector<int>& counts, const Distribution& p) {
  const double draws = std::accumulate(counts.begin(), counts.end(), 0.0);
  double chi_square = 0;
  double rare_expected = 0;
  double rare_count = 0;
  int cells = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    const double expected = static_cast<double>(p[i]) * draws;
    if (expected == 0 && counts[i] != 0) return false;
    if (expected < 10) {
      rare_expected += expected;
      rare_count += counts[i];
      continue;
    }
    chi_square += (counts[i] - expected) * (counts[i] - expected) / expected;
    ++cells;
  }
  if (rare_expected >= 10) {
    chi_square += (rare_count - rare_expected) * (rare_count - rare_expected) / rare_expected;
    ++cells;
  }
  return cells == 1 || chi_square < ChiSquareLimit(cells - 1);
}

}  // namespace skald::sampling
