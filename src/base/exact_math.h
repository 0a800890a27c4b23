/// exp, log, pow, sine and cosine whose every bit is specified.
///
/// The C library's versions differ between libraries, releases and processors in the last bit, and
/// one bit can change a sampled token or a rotary angle, and so the whole answer. These use only
/// the basic operations of IEEE 754 double precision (+ - * /, each correctly rounded) in a fixed
/// order, compiled with -ffp-contract=off: the same bits from every compiler and on every machine.
///
/// Accuracy is that of a good library, not perfect: the error bounds below are tested against long
/// double. No state, no errno, any thread. Cost: 10 to 20 ns.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace skald {

/// Adding this to |x| < 2^51 rounds x to an integer (ties to even) and leaves that integer in the
/// low bits of the sum, in two's complement; subtracting it again gives the integer as a double.
inline constexpr double kRoundingShift = 0x1.8p+52;

/// ln 2 = kLn2Hi + kLn2Lo. The first has 32 bits, so its product with an exponent is exact.
inline constexpr double kLn2Hi = 0x1.62e42fee00000p-1;
inline constexpr double kLn2Lo = 0x1.a39ef35793c76p-33;

/// 1 / ln 2.
inline constexpr double kInverseLn2 = 0x1.71547652b82fep+0;

/// The Taylor series of (e^r - 1 - r) / r^2 for |r| <= ln(2)/2, highest power first; the first term
/// left out of e^r, r^14/14!, is below 2^-57.
inline constexpr std::array kExpSeries = {1.0 / 6227020800.0, 1.0 / 479001600.0, 1.0 / 39916800.0,
                                          1.0 / 3628800.0,    1.0 / 362880.0,    1.0 / 40320.0,
                                          1.0 / 5040.0,       1.0 / 720.0,       1.0 / 120.0,
                                          1.0 / 24.0,         1.0 / 6.0,         0.5};

/// Where e^x is a normal number: kExpMin is log(2^-1022) rounded up to an integer, kExpMax is
/// log(2^1024).
inline constexpr double kExpMin = -708;
inline constexpr double kExpMax = 709.782712893384;

/// e^x for kExpMin <= x <= kExpMax, the same bits as ExactExp, without a branch: a loop over it
/// turns into SIMD code, whose lanes are the same operations on the same numbers.
inline double ExactExpInRange(double x) {
  // x = n ln 2 + r, |r| <= ln(2)/2; e^x = 2^n e^r.
  const double shifted = x * kInverseLn2 + kRoundingShift;
  const double n = shifted - kRoundingShift;
  const double r = (x - n * kLn2Hi) - n * kLn2Lo;
  double sum = kExpSeries[0];
  for (size_t i = 1; i < kExpSeries.size(); ++i) sum = sum * r + kExpSeries[i];
  const double power = 1.0 + (r + r * r * sum);
  // 2^n: n sits in the low bits of `shifted`; move it to the exponent field and add the bias of
  // 1023. As 2 * 2^(n-1), because at the top of the range n is 1024.
  const uint64_t half_scale = (std::bit_cast<uint64_t>(shifted) << 52) + (uint64_t{1022} << 52);
  return power * std::bit_cast<double>(half_scale) * 2.0;
}

/// e^x. Relative error below 2e-16. Above kExpMax the result is +infinity, below kExpMin it is 0,
/// never subnormal. NaN gives NaN.
double ExactExp(double x);

/// The natural logarithm. Relative error below 1.5e-16 for x > 0. Zero gives -infinity, x < 0
/// and NaN give NaN, +infinity gives +infinity.
double ExactLog(double x);

/// base^exponent for normal base > 0 and finite exponent, e.g. the frequencies of rotary
/// embeddings. Relative error below (3 + y/10) * 1e-16 with y = |exponent * log(base)|: 5e-16 for
/// rotary embeddings, where y < 20. Any other base or exponent gives NaN, but x^0 is 1. Range as
/// ExactExp.
double ExactPow(double base, double exponent);

/// Sine and cosine of one angle in radians.
struct SinCos {
  double sin = 0;
  double cos = 0;
};

/// The largest |x| of ExactSinCos: the angle of the fastest rotary frequency at position 10^7.
inline constexpr double kMaxSinCosAngle = 1e7;

/// Sine and cosine. Absolute error below 1.5e-16 for |x| <= kMaxSinCosAngle; beyond it, and for
/// NaN, both are NaN.
SinCos ExactSinCos(double x);

}  // namespace skald
