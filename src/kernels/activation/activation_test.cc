#include "kernels/activation/activation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "kernels/isa/tested_isas.h"
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
    SwigluFor(isa)(gate.data(), up.data(), y.data(), static_cast<int64_t>(gate.size()));
    return y;
  }
};
INSTANTIATE_TEST_SUITE_P(Isas, ActivationTest, testing::ValuesIn(TestedIsas()), IsaTestName);

TEST_P(ActivationTest, SwigluGivesTheBitsOfTheSpecificationAtEveryLength) {
  std::mt19937 random(1);
  for (size_t n = 0; n <= 100; ++n) {
    const std::vector<float> gate = RandomFloats(n, random);
    const std::vector<float> up = RandomFloats(n, random);
    const std::vector<float> expected = Swiglu(Isa::kScalar, gate, up);
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
  std::vector<float> expected = Swiglu(Isa::kScalar, gate, up);
  expected.resize(37);
  std::vector<float> y = gate;
  SwigluFor(GetParam())(y.data(), up.data(), y.data(), 37);
  EXPECT_EQ(y, expected);
  y = up;
  SwigluFor(GetParam())(gate.data(), y.data(), y.data(), 37);
  EXPECT_EQ(y, expected);
}

TEST_P(ActivationTest, AddGivesTheRoundedSumAtEveryLength) {
  std::mt19937 random(3);
  for (size_t n = 0; n <= 50; ++n) {
    const std::vector<float> x = RandomFloats(n, random);
    const std::vector<float> before = RandomFloats(n + 1, random);
    std::vector<float> y = before;
    AddFor(GetParam())(x.data(), y.data(), static_cast<int64_t>(n));
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
    AddScaledFor(GetParam())(a, x.data(), y.data(), static_cast<int64_t>(n));
    for (size_t i = 0; i < n; ++i) ASSERT_EQ(y[i], std::fma(a, x[i], before[i]));
    ASSERT_EQ(y[n], before[n]) << "written past the end";
  }
}

}  // namespace
}  // namespace skald::kernels
