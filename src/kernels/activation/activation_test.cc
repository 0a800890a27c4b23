#include "kernels/activation/activation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "kernels/isa/tested_isas.h"
#include "kernels/kernels.h"
#include "kernels/test_data.h"

namespace skald::kernels {
namespace {

constexpr float kPoison = -12345.0f;
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

std::vector<float> RandomFloats(size_t n, std::mt19937& random) {
  std::vector<float> values(n);
  for (float& value : values) value = RandomFloat(random);
  return values;
}

class ActivationTest : public testing::TestWithParam<Isa> {
 protected:
  static std::vector<float> Swiglu(Isa isa, const std::vector<float>& gate,
                                   const std::vector<float>& up) {
    std::vector<float> y(gate.size() + 16, kPoison);
    TableFor(isa).swiglu(gate.data(), up.data(), y.data(), static_cast<int64_t>(gate.size()));
    return y;
  }
};
INSTANTIATE_TEST_SUITE_P(Isas, ActivationTest, testing::ValuesIn(TestedIsas()), IsaTestName);

TEST_P(ActivationTest, SwigluGivesTheBitsOfTheSpecificationAtEveryLength) {
  std::mt19937 random(1);
  for (size_t n = 0; n <= 100; ++n) {
    const std::vector<float> gate = RandomFloats(n, random);
    const std::vector<float> up = RandomFloats(n, random);
    const std::vector<float> expected = Swiglu(ScalarIsa(), gate, up);
    const std::vector<float> got = Swiglu(GetParam(), gate, up);
    ASSERT_EQ(std::memcmp(got.data(), expected.data(), got.size() * sizeof(float)), 0) << n;
    ASSERT_EQ(got[n], kPoison) << "written past the end";
  }
}

TEST_P(ActivationTest, SwigluIsCloseToDoublePrecision) {
  for (float gate = -80.0f; gate <= 80.0f; gate += 0.37f) {
    const double exact = gate / (1.0 + std::exp(-double{gate})) * 3.0;
    // Exp is exact to 2 units of 2^-24; sum, quotient and product add one each.
    EXPECT_NEAR(Swiglu(GetParam(), {gate}, {3.0f})[0], exact, 5 * 0x1p-24 * std::abs(exact));
  }
}

TEST_P(ActivationTest, SwigluAtTheEdges) {
  const std::vector<float> gate = {0.0f, 200.0f, kInfinity, -200.0f, kNaN};
  const std::vector<float> y = Swiglu(GetParam(), gate, std::vector<float>(5, 1.0f));
  EXPECT_EQ(y[0], 0.0f);
  EXPECT_EQ(y[1], 200.0f);
  EXPECT_EQ(y[2], kInfinity);
  EXPECT_LE(std::abs(y[3]), 1e-35f);  // not exactly 0: Exp stops at 1.65e38
  EXPECT_TRUE(std::isnan(y[4]));
}

TEST_P(ActivationTest, SwigluMayOverwriteEitherInput) {
  std::mt19937 random(2);
  const std::vector<float> gate = RandomFloats(37, random);
  const std::vector<float> up = RandomFloats(37, random);
  std::vector<float> expected = Swiglu(ScalarIsa(), gate, up);
  expected.resize(37);
  std::vector<float> y = gate;
  TableFor(GetParam()).swiglu(y.data(), up.data(), y.data(), 37);
  EXPECT_EQ(y, expected);
  y = up;
  TableFor(GetParam()).swiglu(gate.data(), y.data(), y.data(), 37);
  EXPECT_EQ(y, expected);
}

TEST_P(ActivationTest, GluGivesTheBitsOfTheSpecificationAtEveryLength) {
  std::mt19937 random(12);
  for (int64_t n = 0; n <= 50; ++n) {
    const std::vector<float> gate = RandomFloats(static_cast<size_t>(n), random);
    const std::vector<float> up = RandomFloats(static_cast<size_t>(n), random);
    std::vector<float> expected(static_cast<size_t>(n) + 1, kPoison);
    std::vector<float> found = expected;
    TableFor(ScalarIsa()).glu(gate.data(), up.data(), expected.data(), n);
    TableFor(GetParam()).glu(gate.data(), up.data(), found.data(), n);
    ASSERT_EQ(std::memcmp(found.data(), expected.data(), found.size() * sizeof(float)), 0) << n;
    for (size_t i = 0; i + 1 < found.size(); ++i) {
      const double exact = up[i] / (1.0 + std::exp(-double{gate[i]}));
      EXPECT_NEAR(found[i], exact, 1e-6 * std::abs(exact) + 1e-37);
    }
  }
}

TEST_P(ActivationTest, AddGivesTheRoundedSumAtEveryLength) {
  std::mt19937 random(3);
  for (size_t n = 0; n <= 50; ++n) {
    const std::vector<float> x = RandomFloats(n, random);
    const std::vector<float> before = RandomFloats(n + 1, random);
    std::vector<float> y = before;
    TableFor(GetParam()).add(x.data(), y.data(), static_cast<int64_t>(n));
    for (size_t i = 0; i < n; ++i) ASSERT_EQ(y[i], x[i] + before[i]);
    ASSERT_EQ(y[n], before[n]) << "written past the end";
  }
}

TEST_P(ActivationTest, AddScaledRoundsOnceAtEveryLength) {
  std::mt19937 random(4);
  for (size_t n = 0; n <= 50; ++n) {
    const std::vector<float> x = RandomFloats(n, random);
    const std::vector<float> before = RandomFloats(n + 1, random);
    const float a = RandomFloat(random);
    std::vector<float> y = before;
    TableFor(GetParam()).add_scaled(a, x.data(), y.data(), static_cast<int64_t>(n));
    for (size_t i = 0; i < n; ++i) ASSERT_EQ(y[i], std::fma(a, x[i], before[i]));
    ASSERT_EQ(y[n], before[n]) << "written past the end";
  }
}

// One float through Gelu.
float GeluOf(Isa isa, float x) {
  float y = kPoison;
  TableFor(isa).gelu(&x, &y, 1);
  return y;
}

TEST_P(ActivationTest, GeluWithErfGivesTheBitsOfTheSpecificationAtEveryLength) {
  std::mt19937 random(21);
  for (size_t n = 0; n <= 50; ++n) {
    std::vector<float> x = RandomFloats(n, random);
    for (float& value : x) value *= 6;
    if (n > 20) x[20] = kInfinity, x[19] = -0.0f, x[18] = 1e-40f, x[17] = -1e4f;
    const std::vector<float> up = RandomFloats(n, random);
    std::vector<float> expected(n + 1, kPoison);
    std::vector<float> got = expected;
    const auto size = static_cast<int64_t>(n);
    TableFor(ScalarIsa()).gelu_erf(x.data(), expected.data(), size);
    TableFor(GetParam()).gelu_erf(x.data(), got.data(), size);
    ASSERT_EQ(std::memcmp(got.data(), expected.data(), got.size() * sizeof(float)), 0) << n;
    TableFor(GetParam()).geglu_erf(x.data(), up.data(), got.data(), size);
    for (size_t i = 0; i < n; ++i) ASSERT_EQ(got[i], expected[i] * up[i]);
    ASSERT_EQ(got[n], kPoison) << "written past the end";
  }
}

TEST_P(ActivationTest, GeluWithErfIsCloseToDoublePrecision) {
  for (float x = -12.0f; x <= 12.0f; x += 0.01f) {
    const double exact = 0.5 * double{x} * std::erfc(-double{x} / std::sqrt(2.0));
    float y = kPoison;
    TableFor(GetParam()).gelu_erf(&x, &y, 1);
    // The share is known to 7.5e-8, and to some units of 2^-24.
    EXPECT_NEAR(y, exact, (7.5e-8 + 6 * 0x1p-24) * std::abs(double{x})) << x;
  }
}

TEST_P(ActivationTest, GeluWithErfOfNoNumberIsNone) {
  float y = 0;
  TableFor(GetParam()).gelu_erf(&kNaN, &y, 1);
  EXPECT_TRUE(std::isnan(y));
}

TEST_P(ActivationTest, ClampedSwigluGivesTheBitsOfTheSpecificationAtEveryLength) {
  std::mt19937 random(6);
  for (size_t n = 0; n <= 50; ++n) {
    std::vector<float> gate = RandomFloats(n, random);
    std::vector<float> up = RandomFloats(n, random);
    for (size_t i = 0; i < n; ++i) gate[i] *= 10, up[i] *= 10;
    if (n > 20) gate[20] = kInfinity, up[19] = -kInfinity, gate[18] = -kInfinity;
    std::vector<float> expected(n + 1, kPoison);
    std::vector<float> got = expected;
    const auto size = static_cast<int64_t>(n);
    TableFor(ScalarIsa()).swiglu_clamped(gate.data(), up.data(), expected.data(), size);
    TableFor(GetParam()).swiglu_clamped(gate.data(), up.data(), got.data(), size);
    ASSERT_EQ(std::memcmp(got.data(), expected.data(), got.size() * sizeof(float)), 0) << n;
  }
}

TEST_P(ActivationTest, LimitedSwigluGivesTheBitsOfTheSpecificationAtEveryLength) {
  std::mt19937 random(8);
  for (size_t n = 0; n <= 50; ++n) {
    std::vector<float> gate = RandomFloats(n, random);
    std::vector<float> up = RandomFloats(n, random);
    for (size_t i = 0; i < n; ++i) gate[i] *= 10, up[i] *= 10;
    if (n > 20) gate[20] = kInfinity, up[19] = -kInfinity, gate[18] = -kInfinity;
    std::vector<float> expected(n + 1, kPoison);
    std::vector<float> got = expected;
    const auto size = static_cast<int64_t>(n);
    TableFor(ScalarIsa()).swiglu_limited(1.5f, gate.data(), up.data(), expected.data(), size);
    TableFor(GetParam()).swiglu_limited(1.5f, gate.data(), up.data(), got.data(), size);
    ASSERT_EQ(std::memcmp(got.data(), expected.data(), got.size() * sizeof(float)), 0) << n;
    for (size_t i = 0; i < n && i < 18; ++i) {
      const double silu = gate[i] / (1 + std::exp(-double{gate[i]}));
      const double exact = std::min(silu, 1.5) * std::clamp(double{up[i]}, -1.5, 1.5);
      EXPECT_NEAR(got[i], exact, 1e-6 * std::abs(exact) + 1e-30);
    }
  }
  for (const auto& [gate, up] : {std::pair(kNaN, 1.0f), std::pair(1.0f, kNaN)}) {
    float y = 0;
    TableFor(GetParam()).swiglu_limited(7, &gate, &up, &y, 1);
    EXPECT_TRUE(std::isnan(y));
  }
}

TEST_P(ActivationTest, ClampedSwigluIsCloseToDoublePrecision) {
  for (float gate = -30; gate <= 12; gate += 0.37f) {
    for (const float up : {-20.0f, -7.5f, -3.0f, 0.5f, 6.5f, 30.0f}) {
      const double a = std::min(double{gate}, 7.0);
      const double b = std::clamp(double{up}, -7.0, 7.0);
      const double exact = a / (1 + std::exp(-1.702 * a)) * (b + 1);
      float y = 0;
      TableFor(GetParam()).swiglu_clamped(&gate, &up, &y, 1);
      EXPECT_NEAR(y, exact, 4e-6 * std::abs(exact)) << gate << ", " << up;
    }
  }
}

TEST_P(ActivationTest, ClampedSwigluKeepsWhatIsNoNumber) {
  for (const auto& [gate, up] : {std::pair(kNaN, 1.0f), std::pair(1.0f, kNaN)}) {
    float y = 0;
    TableFor(GetParam()).swiglu_clamped(&gate, &up, &y, 1);
    EXPECT_TRUE(std::isnan(y));
  }
}

TEST_P(ActivationTest, GeluAndGegluGiveTheBitsOfTheSpecificationAtEveryLength) {
  std::mt19937 random(5);
  for (size_t n = 0; n <= 100; ++n) {
    std::vector<float> gate = RandomFloats(n, random);
    for (float& value : gate) value *= 6;
    const std::vector<float> up = RandomFloats(n, random);
    const auto size = static_cast<int64_t>(n);
    for (const bool gated : {false, true}) {
      std::vector<float> expected(n + 16, kPoison);
      std::vector<float> got = expected;
      if (gated) {
        TableFor(ScalarIsa()).geglu(gate.data(), up.data(), expected.data(), size);
        TableFor(GetParam()).geglu(gate.data(), up.data(), got.data(), size);
      } else {
        TableFor(ScalarIsa()).gelu(gate.data(), expected.data(), size);
        TableFor(GetParam()).gelu(gate.data(), got.data(), size);
      }
      ASSERT_EQ(std::memcmp(got.data(), expected.data(), got.size() * sizeof(float)), 0) << n;
      ASSERT_EQ(got[n], kPoison) << "written past the end";
    }
  }
}

TEST_P(ActivationTest, GeluIsCloseToDoublePrecision) {
  for (float x = -30.0f; x <= 30.0f; x += 0.037f) {
    const double u = std::sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * std::pow(x, 3.0));
    const double exact = 0.5 * x * (1 + std::tanh(u));
    // The exponent is wrong by 4 units at most, the exponential by that relatively.
    const double bound = 4 * 0x1p-24 * (2 * std::abs(u) + 3) * std::abs(exact) + 1e-30;
    EXPECT_NEAR(GeluOf(GetParam(), x), exact, bound + 1e-15) << x;
  }
  EXPECT_EQ(GeluOf(GetParam(), 0.0f), 0.0f);
  EXPECT_EQ(GeluOf(GetParam(), 1e30f), 1e30f);
  EXPECT_LE(std::abs(GeluOf(GetParam(), -200.0f)), 1e-35f);
  EXPECT_TRUE(std::isnan(GeluOf(GetParam(), kNaN)));
}

TEST_P(ActivationTest, ReluSquaredIsTheSquareOfWhatIsAboveZeroAtEveryLength) {
  std::mt19937 random(7);
  for (size_t n = 0; n <= 50; ++n) {
    std::vector<float> x = RandomFloats(n, random);
    if (n > 20) x[20] = kInfinity, x[19] = -kInfinity, x[18] = -0.0f;
    std::vector<float> y(n + 1, kPoison);
    TableFor(GetParam()).relu_squared(x.data(), y.data(), static_cast<int64_t>(n));
    for (size_t i = 0; i < n; ++i) {
      ASSERT_EQ(y[i], x[i] > 0 ? x[i] * x[i] : 0.0f);
      ASSERT_FALSE(std::signbit(y[i]));
    }
    ASSERT_EQ(y[n], kPoison) << "written past the end";
  }
  float nan = kNaN;
  TableFor(GetParam()).relu_squared(&nan, &nan, 1);
  EXPECT_TRUE(std::isnan(nan));
}

TEST_P(ActivationTest, SoftCapGivesTheBitsOfTheSpecificationAtEveryLength) {
  std::mt19937 random(6);
  for (size_t n = 0; n <= 50; ++n) {
    std::vector<float> expected = RandomFloats(n + 1, random);
    for (float& value : expected) value *= 40;
    std::vector<float> got = expected;
    TableFor(ScalarIsa()).soft_cap(7.5f, expected.data(), static_cast<int64_t>(n));
    TableFor(GetParam()).soft_cap(7.5f, got.data(), static_cast<int64_t>(n));
    ASSERT_EQ(std::memcmp(got.data(), expected.data(), got.size() * sizeof(float)), 0) << n;
  }
}

TEST_P(ActivationTest, SoftCapIsCloseToDoublePrecisionAndNeverBeyondTheCap) {
  constexpr float kCap = 30;
  for (float x = -4000.0f; x <= 4000.0f; x += x > -200 && x < 200 ? 0.37f : 50.0f) {
    float y = x;
    TableFor(GetParam()).soft_cap(kCap, &y, 1);
    EXPECT_NEAR(y, kCap * std::tanh(double{x} / kCap), 0x1p-22 * kCap) << x;
    EXPECT_LE(std::abs(y), kCap);
  }
  float edges[] = {kInfinity, -kInfinity, kNaN};
  TableFor(GetParam()).soft_cap(kCap, edges, 3);
  EXPECT_EQ(edges[0], kCap);
  EXPECT_EQ(edges[1], -kCap);
  EXPECT_TRUE(std::isnan(edges[2]));
}

}  // namespace
}  // namespace skald::kernels
