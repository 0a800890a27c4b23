#include "kernels/norm/norm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "kernels/isa/tested_isas.h"
#include "kernels/kernels.h"
#include "kernels/test_data.h"

namespace skald::kernels {
namespace {

constexpr float kPoison = -12345.0f;

std::vector<float> RandomFloats(int64_t n, std::mt19937& random) {
  std::vector<float> values(static_cast<size_t>(n));
  for (float& value : values) value = RandomFloat(random);
  return values;
}

// One row through the variant of `isa`, with poison behind the end of the output.
std::vector<float> Normalized(Isa isa, const std::vector<float>& x,
                              const std::vector<float>& weight, float eps) {
  std::vector<float> y(x.size() + 16, kPoison);
  RmsNormArgs args;
  args.x = x.data();
  args.weight = weight.data();
  args.y = y.data();
  args.rows = 1;
  args.n = static_cast<int64_t>(x.size());
  args.eps = eps;
  TableFor(isa).rms_norm(args);
  return y;
}

class RmsNormTest : public testing::TestWithParam<Isa> {};
INSTANTIATE_TEST_SUITE_P(Isas, RmsNormTest, testing::ValuesIn(TestedIsas()), IsaTestName);

TEST_P(RmsNormTest, GivesTheBitsOfTheSpecificationAtEveryLength) {
  std::mt19937 random(1);
  for (int64_t n = 1; n <= 300; ++n) {
    const std::vector<float> x = RandomFloats(n, random);
    const std::vector<float> weight = RandomFloats(n, random);
    const std::vector<float> expected = Normalized(ScalarIsa(), x, weight, 1e-5f);
    const std::vector<float> got = Normalized(GetParam(), x, weight, 1e-5f);
    ASSERT_EQ(std::memcmp(got.data(), expected.data(), got.size() * sizeof(float)), 0) << n;
    ASSERT_EQ(got[static_cast<size_t>(n)], kPoison) << "written past the end, n = " << n;
  }
}

TEST_P(RmsNormTest, NormalizesTwoElementsToTheTextbookValue) {
  // mean square (9 + 16) / 2 = 12.5
  const std::vector<float> y = Normalized(GetParam(), {3.0f, 4.0f}, {1.0f, 2.0f}, 0.0f);
  EXPECT_FLOAT_EQ(y[0], 3.0f / std::sqrt(12.5f));
  EXPECT_FLOAT_EQ(y[1], 8.0f / std::sqrt(12.5f));
}

TEST_P(RmsNormTest, IsCloseToDoublePrecision) {
  // The sum of n squares, all positive, has n / 64 + 6 roundings in a chain, so the mean is exact
  // to (n / 64 + 8) * 2^-24; the root halves that; root, quotient and two products add 4 more.
  std::mt19937 random(2);
  for (const int64_t n : {64, 576, 2048, 4096}) {
    const std::vector<float> x = RandomFloats(n, random);
    const std::vector<float> weight = RandomFloats(n, random);
    double sum = 0;
    for (const float value : x) sum += double{value} * value;
    const double r = 1.0 / std::sqrt(sum / static_cast<double>(n) + 1e-6);
    const std::vector<float> y = Normalized(GetParam(), x, weight, 1e-6f);
    const double bound = (static_cast<double>(n) / 128 + 8) * 0x1p-24;
    for (size_t i = 0; i < x.size(); ++i) {
      const double exact = x[i] * r * weight[i];
      ASSERT_LE(std::abs(y[i] - exact), bound * std::abs(exact)) << n << " " << i;
    }
  }
}

TEST_P(RmsNormTest, RowsAreIndependentAndMayBeNormalizedInPlace) {
  std::mt19937 random(3);
  constexpr int64_t kN = 70;
  constexpr int64_t kStride = 80;
  const std::vector<float> weight = RandomFloats(kN, random);
  std::vector<float> rows = RandomFloats(3 * kStride, random);
  const std::vector<float> before = rows;
  RmsNormArgs args;
  args.x = rows.data();
  args.x_stride = kStride;
  args.y = rows.data();
  args.y_stride = kStride;
  args.weight = weight.data();
  args.rows = 3;
  args.n = kN;
  args.eps = 1e-5f;
  TableFor(GetParam()).rms_norm(args);
  for (int64_t row = 0; row < 3; ++row) {
    const float* start = before.data() + row * kStride;
    const std::vector<float> expected = Normalized(ScalarIsa(), {start, start + kN}, weight, 1e-5f);
    EXPECT_EQ(std::memcmp(rows.data() + row * kStride, expected.data(), kN * sizeof(float)), 0);
    for (int64_t i = kN; i < kStride; ++i) EXPECT_EQ(rows[row * kStride + i], start[i]);
  }
}

TEST_P(RmsNormTest, SmallestAndLargestValuesMatchTheSpecification) {
  const float tiny = std::numeric_limits<float>::denorm_min();
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float value : {0.0f, -0.0f, tiny, 1e-20f, 1e19f, 1e20f, infinity}) {
    const std::vector<float> x(33, value);
    const std::vector<float> weight(33, 1.5f);
    for (const float eps : {0.0f, 1e-5f}) {
      const std::vector<float> expected = Normalized(ScalarIsa(), x, weight, eps);
      const std::vector<float> got = Normalized(GetParam(), x, weight, eps);
      for (size_t i = 0; i < x.size(); ++i) {
        if (std::isnan(expected[i])) {
          EXPECT_TRUE(std::isnan(got[i])) << value;
        } else {
          EXPECT_EQ(got[i], expected[i]) << value;
        }
      }
    }
  }
}

TEST_P(RmsNormTest, ANaNMakesItsRowNaN) {
  std::vector<float> x(20, 1.0f);
  x[17] = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> y = Normalized(GetParam(), x, std::vector<float>(20, 1.0f), 1e-5f);
  for (size_t i = 0; i < x.size(); ++i) EXPECT_TRUE(std::isnan(y[i]));
}

// The same for LayerNorm; without a bias where `bias` is empty.
std::vector<float> LayerNormalized(Isa isa, const std::vector<float>& x,
                                   const std::vector<float>& weight,
                                   const std::vector<float>& bias) {
  std::vector<float> y(x.size() + 16, kPoison);
  TableFor(isa).layer_norm({.x = x.data(),
                            .weight = weight.data(),
                            .bias = bias.empty() ? nullptr : bias.data(),
                            .y = y.data(),
                            .rows = 1,
                            .n = static_cast<int64_t>(x.size()),
                            .eps = 1e-5f});
  return y;
}

TEST_P(RmsNormTest, LayerNormGivesTheBitsOfTheSpecificationAtEveryLength) {
  std::mt19937 random(4);
  for (int64_t n = 1; n <= 300; ++n) {
    const std::vector<float> x = RandomFloats(n, random);
    const std::vector<float> weight = RandomFloats(n, random);
    for (const std::vector<float>& bias : {RandomFloats(n, random), std::vector<float>()}) {
      const std::vector<float> expected = LayerNormalized(ScalarIsa(), x, weight, bias);
      const std::vector<float> got = LayerNormalized(GetParam(), x, weight, bias);
      ASSERT_EQ(std::memcmp(got.data(), expected.data(), got.size() * sizeof(float)), 0) << n;
      ASSERT_EQ(got[static_cast<size_t>(n)], kPoison) << "written past the end, n = " << n;
    }
  }
}

TEST_P(RmsNormTest, LayerNormIsCloseToDoublePrecision) {
  // Elements near 3 with a spread of 1, so that the mean matters. Of the mean: (n / 64 + 7)
  // roundings of sums of |x| < 4; the rest as for RMSNorm. Elements of the result are below 4.
  std::mt19937 random(5);
  for (const int64_t n : {64, 576, 4096}) {
    std::vector<float> x = RandomFloats(n, random);
    for (float& value : x) value += 3.0f;
    const std::vector<float> weight = RandomFloats(n, random);
    const std::vector<float> bias = RandomFloats(n, random);
    double mean = 0;
    for (const float value : x) mean += value;
    mean /= static_cast<double>(n);
    double squares = 0;
    for (const float value : x) squares += (value - mean) * (value - mean);
    const double r = 1.0 / std::sqrt(squares / static_cast<double>(n) + 1e-5);
    const std::vector<float> y = LayerNormalized(GetParam(), x, weight, bias);
    const double bound = 16 * (static_cast<double>(n) / 64 + 16) * 0x1p-24;
    for (size_t i = 0; i < x.size(); ++i) {
      ASSERT_NEAR(y[i], (x[i] - mean) * r * weight[i] + bias[i], bound) << n << " " << i;
    }
  }
}

TEST_P(RmsNormTest, LayerNormTakesRowsInPlaceAndANaNToItsRowOnly) {
  std::mt19937 random(6);
  std::vector<float> rows = RandomFloats(2 * 80, random);
  const std::vector<float> weight = RandomFloats(70, random);
  const std::vector<float> first(rows.begin(), rows.begin() + 70);
  rows[80 + 69] = std::numeric_limits<float>::quiet_NaN();
  TableFor(GetParam())
      .layer_norm({.x = rows.data(),
                   .x_stride = 80,
                   .weight = weight.data(),
                   .y = rows.data(),
                   .y_stride = 80,
                   .rows = 2,
                   .n = 70,
                   .eps = 1e-5f});
  const std::vector<float> expected = LayerNormalized(ScalarIsa(), first, weight, {});
  EXPECT_EQ(std::memcmp(rows.data(), expected.data(), 70 * sizeof(float)), 0);
  for (int i = 0; i < 70; ++i) EXPECT_TRUE(std::isnan(rows[80 + i])) << i;
}

}  // namespace
}  // namespace skald::kernels
