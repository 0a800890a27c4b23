/// ExpRef: the exponential of numerics 2.2, one float at a time. The specification of every Exp
/// here.
///
/// The coefficients are those of Cephes expf (Moshier 1984): a degree-5 polynomial on
/// [-ln 2 / 2, ln 2 / 2] after splitting off a power of two. ln 2 is kept as a sum of two floats,
/// the first with so few bits that n times it is exact.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace skald::kernels {

/// The constants of Exp, in the order of use.
struct ExpConstants {
  static constexpr float kLowest = -87.0f;  ///< below it the result is +0
  static constexpr float kHighest = 88.0f;  ///< above it the result is Exp(88) = 1.65e38
  static constexpr float kLog2E = 1.44269504f;
  static constexpr float kMinusLn2High = -0.693359375f;
  static constexpr float kMinusLn2Low = 2.12194440e-4f;  ///< kMinusLn2High + this = -ln 2
  static constexpr float kPolynomial[6] = {1.9875691500e-4f, 1.3981999507e-3f, 8.3334519073e-3f,
                                           4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f};
};

/// exp(x) with a relative error below 1.2e-7 on [-87, 88]; +0 below, Exp(88) above, NaN for NaN.
inline float ExpRef(float x) {
  using C = ExpConstants;
  if (std::isnan(x)) return x;
  if (x < C::kLowest) return 0.0f;
  if (x > C::kHighest) x = C::kHighest;
  const float n = std::nearbyint(x * C::kLog2E);  // ties to even: the default rounding mode
  float r = std::fma(n, C::kMinusLn2High, x);
  r = std::fma(n, C::kMinusLn2Low, r);
  float p = C::kPolynomial[0];
  for (int i = 1; i < 6; ++i) p = std::fma(p, r, C::kPolynomial[i]);
  const float y = std::fma(p, r * r, r) + 1.0f;
  // n is in -126..127, so 2^n is a normal number and its bits are the shifted exponent.
  const uint32_t power_bits = static_cast<uint32_t>(static_cast<int32_t>(n) + 127) << 23;
  return y * std::bit_cast<float>(power_bits);
}

}  // namespace skald::kernels
