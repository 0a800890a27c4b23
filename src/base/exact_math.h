/// exp, log, pow, sine and cosine whose every bit is specified.
///
/// The C library's versions differ between libraries, releases and processors in the last bit, and
/// one bit can change a sampled token or a rotary angle, and so the whole answer. These use only
/// the basic operations of IEEE 754 double precision (+ - * /, each correctly rounded) in a fixed
/// order, compiled with -ffp-contract=off: the same bits from every compiler and on every machine.
///
/// Accuracy is that of a good library, not perfect: the error bounds below are tested against long
/// double. No state, no errno, any thread. Cost: 5 to 10 ns, pow about 100 ns.
#pragma once

namespace skald {

/// e^x. Relative error below 3e-16 for normal results. Overflow gives +infinity; below the normal
/// range (x < -708.39) the result is 0, not subnormal. NaN gives NaN.
double ExactExp(double x);

/// The natural logarithm. Relative error below 3e-16 for normal x > 0. Zero and subnormal numbers
/// give -infinity, x < 0 and NaN give NaN, +infinity gives +infinity.
double ExactLog(double x);

/// base^exponent for normal base > 0 and finite exponent, e.g. the frequencies of rotary
/// embeddings. Relative error below 5e-16 where |exponent * log(base)| <= 700. Any other base or
/// exponent gives NaN, but x^0 is 1. Range as ExactExp.
double ExactPow(double base, double exponent);

/// Sine and cosine of one angle in radians.
struct SinCos {
  double sin = 0;
  double cos = 0;
};

/// The largest |x| of ExactSinCos: the angle of the fastest rotary frequency at position 10^7.
inline constexpr double kMaxSinCosAngle = 1e7;

/// Sine and cosine. Absolute error below 3e-16 for |x| <= kMaxSinCosAngle; beyond it, and for NaN,
/// both are NaN.
SinCos ExactSinCos(double x);

}  // namespace skald
