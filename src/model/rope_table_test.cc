#include "model/rope_table.h"

#include <gtest/gtest.h>

#include <cmath>

namespace skald::model {
namespace {

TEST(RopeTable, PositionZeroRotatesNothing) {
  const RopeTable table({.rotated = 8}, 1);
  for (int pair = 0; pair < 4; ++pair) {
    EXPECT_EQ(table.Cosine(0)[pair], 1.0f);
    EXPECT_EQ(table.Sine(0)[pair], 0.0f);
  }
}

TEST(RopeTable, FrequenciesFallGeometrically) {
  const RopeTable table({.rotated = 8, .base = 10000}, 1001);
  for (const int64_t position : {1, 17, 1000}) {
    for (int pair = 0; pair < 4; ++pair) {
      const double angle = static_cast<double>(position) * std::pow(10000.0, -pair / 4.0);
      EXPECT_NEAR(table.Cosine(position)[pair], std::cos(angle), 1e-7);
      EXPECT_NEAR(table.Sine(position)[pair], std::sin(angle), 1e-7);
    }
  }
}

TEST(RopeTable, LinearScalingDividesThePosition) {
  const RopeTable plain({.rotated = 8}, 100);
  const RopeTable stretched({.rotated = 8, .scaling = RopeScaling::kLinear, .factor = 4}, 400);
  for (int pair = 0; pair < 4; ++pair) {
    EXPECT_FLOAT_EQ(stretched.Cosine(396)[pair], plain.Cosine(99)[pair]);
  }
}

TEST(RopeTable, FactorsDivideEachFrequency) {
  const RopeFrequencies plain = ComputeRopeFrequencies({.rotated = 4});
  const RopeFrequencies divided = ComputeRopeFrequencies({.rotated = 4, .factors = {2.0f, 8.0f}});
  EXPECT_DOUBLE_EQ(divided.angle[0], plain.angle[0] / 2);
  EXPECT_DOUBLE_EQ(divided.angle[1], plain.angle[1] / 8);
}

// YaRN keeps fast frequencies, interpolates slow ones, and raises the magnitude (Peng et al.
// 2023, 3.4).
TEST(RopeTable, YarnKeepsFastAndStretchesSlowFrequencies) {
  const Rope plain{.rotated = 128, .base = 10000};
  Rope yarn = plain;
  yarn.scaling = RopeScaling::kYarn;
  yarn.factor = 16;
  yarn.original_context = 4096;
  const RopeFrequencies before = ComputeRopeFrequencies(plain);
  const RopeFrequencies after = ComputeRopeFrequencies(yarn);
  EXPECT_DOUBLE_EQ(after.angle.front(), before.angle.front());
  EXPECT_DOUBLE_EQ(after.angle.back(), before.angle.back() / 16);
  EXPECT_NEAR(after.magnitude, 1 + 0.1 * std::log(16.0), 1e-12);
  for (size_t pair = 1; pair < after.angle.size(); ++pair) {
    EXPECT_LT(after.angle[pair], after.angle[pair - 1]);
  }
}

}  // namespace
}  // namespace skald::model
