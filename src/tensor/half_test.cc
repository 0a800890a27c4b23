#include "tensor/half.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace skald::tensor {
namespace {

constexpr uint16_t kInfinity = 0x7c00;
constexpr uint16_t kQuietBit = 0x200;

bool IsNan(uint16_t half) { return (half & 0x7fff) > kInfinity; }

// The value of a finite half by its definition, in double: an independent reading of the format.
double ValueOf(uint16_t half) {
  const int exponent = (half >> 10) & 31;
  const int mantissa = half & 0x3ff;
  const double magnitude =
      exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  return (half & 0x8000) != 0 ? -magnitude : magnitude;
}

TEST(Half, EveryFiniteHalfHasItsDefinedValue) {
  for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    if ((half & kInfinity) == kInfinity) continue;
    const float value = FloatFromHalf(half);
    ASSERT_EQ(static_cast<double>(value), ValueOf(half)) << bits;
    ASSERT_EQ(std::signbit(value), (half & 0x8000) != 0) << bits;
  }
}

TEST(Half, EveryE8M0ExponentGivesHalfItsPowerOfTwo) {
  for (int e = 0; e < 255; ++e) {
    EXPECT_EQ(HalfOfPowerOfTwo(static_cast<uint8_t>(e)), std::ldexp(1.0, e - 128)) << e;
  }
  EXPECT_EQ(HalfOfPowerOfTwo(255), std::numeric_limits<float>::infinity());
}

TEST(Half, EveryHalfSurvivesTheWayThroughFloat) {
  for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const uint16_t expected = IsNan(half) ? static_cast<uint16_t>(half | kQuietBit) : half;
    ASSERT_EQ(HalfFromFloat(FloatFromHalf(half)), expected) << bits;
  }
}

// Rounding is monotonic, so the floats around each midpoint of two neighbours decide all others.
TEST(Half, RoundsToNearestEvenAtTheMidpointOfEveryTwoNeighbours) {
  for (uint32_t bits = 0; bits < kInfinity; ++bits) {
    const auto lower = static_cast<uint16_t>(bits);
    const auto upper = static_cast<uint16_t>(bits + 1);
    // After the largest finite half, 65536 takes the place of the next one.
    const double above = upper == kInfinity ? 65536.0 : ValueOf(upper);
    const auto midpoint = static_cast<float>((ValueOf(lower) + above) / 2);  // exact
    const float below = std::nextafter(midpoint, 0.0f);
    const float beyond = std::nextafter(midpoint, std::numeric_limits<float>::infinity());
    ASSERT_EQ(HalfFromFloat(below), lower) << bits;
    ASSERT_EQ(HalfFromFloat(midpoint), (bits & 1) == 0 ? lower : upper) << bits;
    ASSERT_EQ(HalfFromFloat(beyond), upper) << bits;
    ASSERT_EQ(HalfFromFloat(-below), lower | 0x8000) << bits;
    ASSERT_EQ(HalfFromFloat(-beyond), upper | 0x8000) << bits;
  }
}

TEST(Half, FloatsOutOfRangeBecomeInfinityOrZero) {
  EXPECT_EQ(HalfFromFloat(65504.0f), 0x7bff);
  EXPECT_EQ(HalfFromFloat(65520.0f), kInfinity);
  EXPECT_EQ(HalfFromFloat(std::numeric_limits<float>::max()), kInfinity);
  EXPECT_EQ(HalfFromFloat(-std::numeric_limits<float>::infinity()), kInfinity | 0x8000);
  EXPECT_EQ(HalfFromFloat(std::numeric_limits<float>::denorm_min()), 0);
  EXPECT_EQ(HalfFromFloat(-0.0f), 0x8000);
}

TEST(Half, NanStaysNanEvenWithASmallPayload) {
  EXPECT_EQ(HalfFromFloat(std::bit_cast<float>(0x7f800001u)), 0x7e00);
  EXPECT_EQ(HalfFromFloat(std::bit_cast<float>(0xffffffffu)), 0xffff);
  EXPECT_EQ(std::bit_cast<uint32_t>(FloatFromHalf(0x7c01)), 0x7fc02000u);
}

TEST(Bf16, IsTheUpperHalfOfAFloat) {
  EXPECT_EQ(FloatFromBf16(0x3f80), 1.0f);
  EXPECT_EQ(FloatFromBf16(0xc000), -2.0f);
  EXPECT_EQ(FloatFromBf16(0x0001), std::bit_cast<float>(0x00010000u));
  EXPECT_TRUE(std::isinf(FloatFromBf16(0x7f80)));
  EXPECT_TRUE(std::isnan(FloatFromBf16(0x7fc0)));
}

TEST(HalfOfE4M3, IsExactForEveryNumber) {
  for (int bits = 0; bits < 127; ++bits) {
    const int exponent = bits >> 3;
    const int mantissa = bits & 7;
    const double value =
        exponent == 0 ? std::ldexp(mantissa, -9) : std::ldexp(8 + mantissa, exponent - 10);
    EXPECT_EQ(HalfOfE4M3(static_cast<uint8_t>(bits)), value / 2) << bits;
    EXPECT_EQ(HalfOfE4M3(static_cast<uint8_t>(bits | 128)), value / 2) << bits;
  }
}

}  // namespace
}  // namespace skald::tensor
