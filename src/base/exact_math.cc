#include "base/exact_math.h"

#include <bit>
#include <cstdint>
#include <limits>

namespace skald {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// A number as the unevaluated sum of two doubles, |lo| <= ulp(hi) / 2.
struct DoubleDouble {
  double hi = 0;
  double lo = 0;
};

/// a + b exactly (Knuth 1969).
DoubleDouble TwoSum(double a, double b) {
  const double sum = a + b;
  const double b_part = sum - a;
  return {sum, (a - (sum - b_part)) + (b - b_part)};
}

/// The upper 26 bits of x (Veltkamp). |x| must be below 2^996.
double UpperHalf(double x) {
  const double scaled = x * 0x1.0000002p+27;  // 2^27 + 1
  return scaled - (scaled - x);
}

/// a * b exactly (Dekker 1971), without a fused multiply-add: the baseline processor has none.
DoubleDouble TwoProduct(double a, double b) {
  const double product = a * b;
  const double a_hi = UpperHalf(a);
  const double a_lo = a - a_hi;
  const double b_hi = UpperHalf(b);
  const double b_lo = b - b_hi;
  return {product, ((a_hi * b_hi - product) + a_hi * b_lo + a_lo * b_hi) + a_lo * b_lo};
}

/// x = 2^exponent * fraction with sqrt(1/2) <= fraction < sqrt(2).
struct BinaryParts {
  double exponent = 0;
  double fraction = 1;
};

/// Requires a positive, finite x.
BinaryParts SplitBinary(double x) {
  constexpr double kSqrt2 = 0x1.6a09e667f3bcdp+0;
  constexpr uint64_t kMantissaMask = (uint64_t{1} << 52) - 1;
  constexpr uint64_t kExponentOfOne = uint64_t{1023} << 52;
  int64_t exponent = -1023;
  if (x < std::numeric_limits<double>::min()) {  // subnormal
    x *= 0x1p+54;
    exponent -= 54;
  }
  const uint64_t bits = std::bit_cast<uint64_t>(x);
  exponent += static_cast<int64_t>(bits >> 52);
  double fraction = std::bit_cast<double>((bits & kMantissaMask) | kExponentOfOne);
  if (fraction >= kSqrt2) {
    fraction *= 0.5;
    ++exponent;
  }
  return {static_cast<double>(exponent), fraction};
}

/// z/3 + z^2/5 + z^3/7 + ... with z = s^2: log((1+s)/(1-s)) = 2s * (1 + this). For |s| <= 0.1716
/// (fractions in sqrt(1/2)..sqrt(2)) the first term left out, z^11/23, is below 2^-60.
double AtanhTail(double z) {
  double sum = 1.0 / 21.0;
  sum = sum * z + 1.0 / 19.0;
  sum = sum * z + 1.0 / 17.0;
  sum = sum * z + 1.0 / 15.0;
  sum = sum * z + 1.0 / 13.0;
  sum = sum * z + 1.0 / 11.0;
  sum = sum * z + 1.0 / 9.0;
  sum = sum * z + 1.0 / 7.0;
  sum = sum * z + 1.0 / 5.0;
  sum = sum * z + 1.0 / 3.0;
  return sum * z;
}

/// log(x) to about 2^-60 relative, for positive, finite x.
DoubleDouble LogWide(double x) {
  const BinaryParts parts = SplitBinary(x);
  const double numerator = parts.fraction - 1.0;  // exact
  const DoubleDouble denominator = TwoSum(parts.fraction, 1.0);
  // s = numerator / denominator: a quotient and the quotient of its remainder.
  const double s_hi = numerator / denominator.hi;
  const DoubleDouble back = TwoProduct(s_hi, denominator.hi);
  const double remainder = ((numerator - back.hi) - back.lo) - s_hi * denominator.lo;
  const double s_lo = remainder / denominator.hi;
  const double tail = AtanhTail(s_hi * s_hi);
  // The exponent has at most 11 bits and kLn2Hi 32, so their product is exact.
  const DoubleDouble sum = TwoSum(parts.exponent * kLn2Hi, 2.0 * s_hi);
  const double lo = sum.lo + (parts.exponent * kLn2Lo + (2.0 * s_lo + 2.0 * s_hi * tail));
  return TwoSum(sum.hi, lo);
}

}  // namespace

double ExactExp(double x) {
  if (x != x) return x;
  if (x > kExpMax) return kInfinity;
  if (x < kExpMin) return 0.0;
  return ExactExpInRange(x);
}

double ExactLog(double x) {
  if (x != x || x < 0.0) return kNan;
  if (x == 0.0) return -kInfinity;
  if (x == kInfinity) return x;
  return LogWide(x).hi;
}

double ExactPow(double base, double exponent) {
  if (exponent == 0.0) return 1.0;
  const bool valid =
      base >= std::numeric_limits<double>::min() && base < kInfinity && exponent - exponent == 0.0;
  if (!valid) return kNan;
  const DoubleDouble log = LogWide(base);
  if (log.hi == 0.0) return 1.0;
  const double estimate = exponent * log.hi;
  if (estimate > 800.0 || estimate < -800.0) return estimate > 0 ? kInfinity : 0.0;
  const DoubleDouble product = TwoProduct(exponent, log.hi);
  const double result = ExactExp(product.hi);
  if (result == kInfinity || result == 0.0) return result;
  return result + result * (product.lo + exponent * log.lo);
}

SinCos ExactSinCos(double x) {
  if (!(x >= -kMaxSinCosAngle && x <= kMaxSinCosAngle)) return {kNan, kNan};
  // x = n * pi/2 + r + tail, |r| <= pi/4. pi/2 in three parts (Cody and Waite): the first two have
  // 30 bits and |n| < 2^23, so both products are exact, and so is the first subtraction.
  constexpr double kHalfPi1 = 0x1.921fb54p+0;
  constexpr double kHalfPi2 = 0x1.10b46118p-30;
  constexpr double kHalfPi3 = 0x1.313198a2e0370p-61;
  const double shifted = x * 0x1.45f306dc9c883p-1 + kRoundingShift;
  const double n = shifted - kRoundingShift;
  const uint64_t quadrant = std::bit_cast<uint64_t>(shifted) & 3;
  const DoubleDouble first = TwoSum(x - n * kHalfPi1, -(n * kHalfPi2));
  const DoubleDouble second = TwoSum(first.hi, first.lo - n * kHalfPi3);
  const double r = second.hi;
  const double tail = second.lo;
  const double z = r * r;
  // Taylor series; the first terms left out, r^19/19! and r^18/18!, are below 2^-58.
  double odd = 1.0 / 355687428096000.0;
  odd = odd * z - 1.0 / 1307674368000.0;
  odd = odd * z + 1.0 / 6227020800.0;
  odd = odd * z - 1.0 / 39916800.0;
  odd = odd * z + 1.0 / 362880.0;
  odd = odd * z - 1.0 / 5040.0;
  odd = odd * z + 1.0 / 120.0;
  odd = odd * z - 1.0 / 6.0;
  double even = 1.0 / 20922789888000.0;
  even = even * z - 1.0 / 87178291200.0;
  even = even * z + 1.0 / 479001600.0;
  even = even * z - 1.0 / 3628800.0;
  even = even * z + 1.0 / 40320.0;
  even = even * z - 1.0 / 720.0;
  even = even * z + 1.0 / 24.0;
  const double half_z = 0.5 * z;
  const double sin_r = r + (r * z * odd + tail * (1.0 - half_z));
  const double top = 1.0 - half_z;
  const double cos_r = top + (((1.0 - top) - half_z) + (z * z * even - r * tail));
  switch (quadrant) {
    case 0: return {sin_r, cos_r};
    case 1: return {cos_r, -sin_r};
    case 2: return {-sin_r, -cos_r};
    default: return {-cos_r, sin_r};
  }
}

}  // namespace skald
