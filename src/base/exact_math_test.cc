#include "base/exact_math.h"

#include <gtest/gtest.h>

#include <bit>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

// The oracle is the C library in long double: 64 bits of mantissa, 11 more than double.
static_assert(LDBL_MANT_DIG >= 64, "these tests need a long double wider than double");

namespace skald {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// Keeps the largest error seen and where.
struct WorstError {
  double error = 0;
  double at = 0;
  void AddRelative(double got, long double want, double x) {
    Add(static_cast<double>(std::fabs((static_cast<long double>(got) - want) / want)), x);
  }
  void AddAbsolute(double got, long double want, double x) {
    Add(static_cast<double>(std::fabs(static_cast<long double>(got) - want)), x);
  }
  void Add(double e, double x) {
    if (!(e <= error)) error = e, at = x;  // a NaN is the worst of all
  }
};

constexpr int kDraws = 200'000;

TEST(ExactExp, IsWithinItsErrorBoundOverTheWholeRange) {
  std::mt19937_64 random(1);
  for (const double range : {1e-3, 1.0, 30.0, 708.0}) {
    std::uniform_real_distribution<double> uniform(-range, range);
    WorstError worst;
    for (int i = 0; i < kDraws; ++i) {
      const double x = uniform(random);
      worst.AddRelative(ExactExp(x), std::exp(static_cast<long double>(x)), x);
    }
    EXPECT_LT(worst.error, 2e-16) << "at " << worst.at;
  }
}

TEST(ExactExp, HandlesTheEndsOfItsRange) {
  EXPECT_EQ(ExactExp(0.0), 1.0);
  EXPECT_EQ(ExactExp(-0.0), 1.0);
  EXPECT_EQ(ExactExp(kInf), kInf);
  EXPECT_EQ(ExactExp(-kInf), 0.0);
  EXPECT_TRUE(std::isnan(ExactExp(kNan)));
  for (const double x : {kExpMin, 709.0, 709.1, 709.4, 709.5, 709.78}) {
    EXPECT_NEAR(static_cast<double>(ExactExp(x) / std::exp(static_cast<long double>(x))), 1.0,
                3e-16)
        << x;
  }
  EXPECT_EQ(ExactExp(std::nextafter(kExpMin, -kInf)), 0.0);
  EXPECT_EQ(ExactExp(std::nextafter(kExpMax, kInf)), kInf);
  EXPECT_EQ(ExactExp(1e308), kInf);
  EXPECT_EQ(ExactExp(-1e308), 0.0);
}

TEST(ExactLog, IsWithinItsErrorBoundNearOneAndEverywhere) {
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> near_one(-0.5, 0.5);
  std::uniform_real_distribution<double> exponents(-1074, 1023);
  WorstError worst_near;
  WorstError worst_wide;
  for (int i = 0; i < kDraws; ++i) {
    const double scale = i % 2 == 0 ? 1.0 : 1e-9;
    const double x = 1.0 + scale * near_one(random);
    if (x != 1.0) worst_near.AddRelative(ExactLog(x), std::log(static_cast<long double>(x)), x);
    const double y = std::exp2(exponents(random));
    worst_wide.AddRelative(ExactLog(y), std::log(static_cast<long double>(y)), y);
  }
  EXPECT_LT(worst_near.error, 1.5e-16) << "at " << worst_near.at;
  EXPECT_LT(worst_wide.error, 1.5e-16) << "at " << worst_wide.at;
}

TEST(ExactLog, HandlesSpecialValues) {
  EXPECT_EQ(ExactLog(1.0), 0.0);
  EXPECT_EQ(ExactLog(0.0), -kInf);
  EXPECT_EQ(ExactLog(-0.0), -kInf);
  EXPECT_EQ(ExactLog(kInf), kInf);
  EXPECT_TRUE(std::isnan(ExactLog(-1.0)));
  EXPECT_TRUE(std::isnan(ExactLog(-kInf)));
  EXPECT_TRUE(std::isnan(ExactLog(kNan)));
  for (const double x : {5e-324, DBL_MIN, std::nextafter(DBL_MIN, 0.0), DBL_MAX, 0.5, 2.0}) {
    EXPECT_NEAR(static_cast<double>(ExactLog(x) / std::log(static_cast<long double>(x))), 1.0,
                3e-16)
        << x;
  }
}

TEST(ExactPow, IsWithinItsErrorBoundForRandomPowers) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> logs(-20, 20);
  std::uniform_real_distribution<double> products(-700, 700);
  WorstError worst;  // in units of the bound
  for (int i = 0; i < kDraws; ++i) {
    const double base = std::exp(logs(random));
    const double exponent = products(random) / std::log(base);
    const double size = std::fabs(exponent * std::log(base));
    const long double want = std::pow(static_cast<long double>(base), exponent);
    const double error = static_cast<double>(std::fabs(ExactPow(base, exponent) / want - 1));
    worst.Add(error / ((3 + size / 10) * 1e-16), exponent);
  }
  EXPECT_LT(worst.error, 1) << "at exponent " << worst.at;
}

TEST(ExactPow, IsRightForEveryRotaryFrequency) {
  for (const double theta : {1e4, 5e5, 1e6, 1e7}) {
    for (const int head_dim : {64, 80, 96, 128, 256}) {
      for (int i = 0; i < head_dim / 2; ++i) {
        const double exponent = -2.0 * i / head_dim;
        const long double want = std::pow(static_cast<long double>(theta), exponent);
        ASSERT_NEAR(static_cast<double>(ExactPow(theta, exponent) / want), 1.0, 5e-16)
            << theta << " " << head_dim << " " << i;
      }
    }
  }
}

TEST(ExactPow, HandlesSpecialValues) {
  EXPECT_EQ(ExactPow(10.0, 0.0), 1.0);
  EXPECT_EQ(ExactPow(kNan, 0.0), 1.0);
  EXPECT_EQ(ExactPow(1.0, 1e308), 1.0);
  EXPECT_EQ(ExactPow(2.0, 10.0), 1024.0);
  EXPECT_EQ(ExactPow(2.0, -1.0), 0.5);
  EXPECT_EQ(ExactPow(10.0, 400.0), kInf);
  EXPECT_EQ(ExactPow(10.0, -400.0), 0.0);
  EXPECT_EQ(ExactPow(0.5, 1e300), 0.0);
  for (const double base : {-1.0, 0.0, 5e-324, kInf, kNan}) {
    EXPECT_TRUE(std::isnan(ExactPow(base, 2.0))) << base;
  }
  EXPECT_TRUE(std::isnan(ExactPow(2.0, kInf)));
  EXPECT_TRUE(std::isnan(ExactPow(2.0, kNan)));
}

TEST(ExactSinCos, IsWithinItsErrorBoundUpToTheLargestAngle) {
  std::mt19937_64 random(4);
  for (const double range : {1e-6, 1.0, 10.0, 1e5, kMaxSinCosAngle}) {
    std::uniform_real_distribution<double> uniform(-range, range);
    WorstError worst;
    for (int i = 0; i < kDraws; ++i) {
      const double x = uniform(random);
      const SinCos got = ExactSinCos(x);
      worst.AddAbsolute(got.sin, std::sin(static_cast<long double>(x)), x);
      worst.AddAbsolute(got.cos, std::cos(static_cast<long double>(x)), x);
    }
    EXPECT_LT(worst.error, 1.5e-16) << "at " << worst.at;
  }
}

TEST(ExactSinCos, IsRightAtTheBordersOfItsQuadrants) {
  // Multiples of pi/4 from both sides, and whole numbers, as positions are.
  for (int64_t n = -12'000'000; n <= 12'000'000; n += 997) {
    const double border = static_cast<double>(n) * 0x1.921fb54442d18p-1;
    if (std::fabs(border) >= 0.99e7) continue;
    for (const double x : {std::nextafter(border, -kInf), border, std::nextafter(border, kInf),
                           std::floor(border)}) {
      const SinCos got = ExactSinCos(x);
      ASSERT_NEAR(got.sin, static_cast<double>(std::sin(static_cast<long double>(x))), 3e-16) << x;
      ASSERT_NEAR(got.cos, static_cast<double>(std::cos(static_cast<long double>(x))), 3e-16) << x;
    }
  }
}

TEST(ExactSinCos, HandlesSpecialValues) {
  EXPECT_EQ(ExactSinCos(0.0).sin, 0.0);
  EXPECT_EQ(ExactSinCos(0.0).cos, 1.0);
  EXPECT_FALSE(std::isnan(ExactSinCos(kMaxSinCosAngle).sin));
  EXPECT_FALSE(std::isnan(ExactSinCos(-kMaxSinCosAngle).cos));
  for (const double x : {std::nextafter(kMaxSinCosAngle, kInf), -1.1e7, kInf, -kInf, kNan}) {
    EXPECT_TRUE(std::isnan(ExactSinCos(x).sin)) << x;
    EXPECT_TRUE(std::isnan(ExactSinCos(x).cos)) << x;
  }
}

/// A checksum of the bits of many results. A change of one bit of one result changes it: then the
/// version of the numerics must change too.
TEST(ExactMath, BitsArePinned) {
  uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&hash](double value) {
    hash = (hash ^ std::bit_cast<uint64_t>(value)) * 0x100000001b3;
  };
  for (int i = -2000; i <= 2000; ++i) {
    const double x = i * 0.343359375;  // exact, and not a multiple of anything
    add(ExactExp(x));
    add(ExactSinCos(x * 4099).sin);
    add(ExactSinCos(x * 4099).cos);
    add(ExactLog(1e-3 + x * x));
    add(ExactPow(10000.0, x / 1024));
  }
  EXPECT_EQ(hash, uint64_t{0xa5d910b00502fdc1}) << "got " << std::hex << hash;
}

}  // namespace
}  // namespace skald
