#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/isa/exp_arrays_for_test.h"
#include "kernels/isa/exp_ref.h"
#include "kernels/isa/tested_isas.h"

namespace skald::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

std::vector<float> ExpOf(Isa isa, std::vector<float> x) {
  const size_t n = x.size();
  x.resize((n + 15) / 16 * 16);
  std::vector<float> y(x.size());
  if (isa == ScalarIsa()) {
    for (size_t i = 0; i < n; ++i) y[i] = ExpRef(x[i]);
  } else if (isa.cpu_flags.find("avx512f") == std::string_view::npos) {
    avx2::ExpArray(x.data(), y.data(), static_cast<int64_t>(x.size()));
  } else {
    avx512::ExpArray(x.data(), y.data(), static_cast<int64_t>(x.size()));
  }
  y.resize(n);
  return y;
}

// Every 997th float of [-88, 89]: both zeros, subnormals, all exponents, both sides of the cuts.
std::vector<float> ManyFloats() {
  std::vector<float> x;
  for (uint32_t bits = 0; bits <= std::bit_cast<uint32_t>(89.0f); bits += 997) {
    x.push_back(std::bit_cast<float>(bits));
    if (x.back() <= 88.0f) x.push_back(-x.back());
  }
  return x;
}

class ExpTest : public testing::TestWithParam<Isa> {};
INSTANTIATE_TEST_SUITE_P(Isas, ExpTest, testing::ValuesIn(TestedIsas()), IsaTestName);

TEST_P(ExpTest, IsWithinTheStatedErrorOfTheExponential) {
  const std::vector<float> x = ManyFloats();
  const std::vector<float> y = ExpOf(GetParam(), x);
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i] < -87.0f || x[i] > 88.0f) continue;
    const double exact = std::exp(double{x[i]});
    worst = std::max(worst, std::abs(y[i] - exact) / exact);
  }
  EXPECT_LT(worst, 1.2e-7);
  RecordProperty("worst_relative_error", std::to_string(worst * 1e9) + "e-9");
}

TEST_P(ExpTest, GivesTheBitsOfTheSpecification) {
  const std::vector<float> x = ManyFloats();
  const std::vector<float> y = ExpOf(GetParam(), x);
  for (size_t i = 0; i < x.size(); ++i) {
    ASSERT_EQ(std::bit_cast<uint32_t>(y[i]), std::bit_cast<uint32_t>(ExpRef(x[i]))) << x[i];
  }
}

TEST_P(ExpTest, SpecialValues) {
  const float below = std::nextafter(-87.0f, -kInfinity);
  const float above = std::nextafter(88.0f, kInfinity);
  const std::vector<float> y = ExpOf(
      GetParam(), {0.0f, -0.0f, -kInfinity, below, -1e30f, kInfinity, above, 1e30f, 88.0f, -87.0f});
  EXPECT_EQ(y[0], 1.0f);
  EXPECT_EQ(y[1], 1.0f);
  for (size_t i = 2; i < 5; ++i) EXPECT_EQ(std::bit_cast<uint32_t>(y[i]), 0u) << i;
  for (size_t i = 5; i < 8; ++i) EXPECT_EQ(y[i], y[8]) << i;
  EXPECT_NEAR(y[8] / 1.6516362549940018e38, 1.0, 1.2e-7);
  EXPECT_NEAR(y[9] / 1.6458114310822737e-38, 1.0, 1.2e-7);
  EXPECT_GE(y[9], std::numeric_limits<float>::min()) << "a subnormal result would lose bits";
  EXPECT_TRUE(std::isnan(ExpOf(GetParam(), {kNaN})[0]));
  EXPECT_TRUE(std::isnan(ExpOf(GetParam(), {-kNaN})[0]));
}

}  // namespace
}  // namespace skald::kernels
