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

void ExpectAngles(const Rope& rope, const std::vector<std::pair<size_t, double>>& expected) {
  const RopeFrequencies frequencies = ComputeRopeFrequencies(rope);
  for (const auto& [pair, angle] : expected) {
    EXPECT_NEAR(frequencies.angle[pair], angle, 1e-9 * angle) << pair;
  }
}

// gpt-oss as published (gpt_oss/torch/model.py): the ramp goes from 8.0928 to 17.3980.
TEST(RopeTable, YarnsRampNeedNotBeOfWholePairs) {
  Rope rope = {.rotated = 64,
               .base = 150000,
               .scaling = RopeScaling::kYarn,
               .factor = 32,
               .original_context = 4096};
  rope.ramp = YarnRamp::kExact;
  ExpectAngles(rope, {{9, 3.170569618e-2},
                      {12, 6.794959490e-3},
                      {13, 3.860359317e-3},
                      {15, 1.052602101e-3},
                      {17, 1.293187012e-4}});
}

// Kimi K2 was trained with betas of 1: nearly a step.
TEST(RopeTable, YarnsBetasMoveTheRamp) {
  Rope rope = {.rotated = 64,
               .base = 50000,
               .scaling = RopeScaling::kYarn,
               .factor = 32,
               .original_context = 4096};
  ExpectAngles(rope, {{13, 7.354407563e-3}});
  rope.beta_fast = 1;
  ExpectAngles(rope, {{8, 6.687403050e-2},
                      {9, 4.768861244e-2},
                      {13, 1.233228168e-2},
                      {19, 1.621759908e-3},
                      {20, 3.614046774e-5}});
}

// YaRN's own magnitude, one that stands in its place, and a factor of either.
TEST(RopeTable, TheMagnitudeMultipliesCosineAndSine) {
  Rope rope = {.rotated = 4, .factor = 8, .original_context = 16};
  EXPECT_EQ(ComputeRopeFrequencies(rope).magnitude, 1);
  rope.attention_factor = 1.25;
  EXPECT_EQ(ComputeRopeFrequencies(rope).magnitude, 1.25);
  rope.scaling = RopeScaling::kYarn;
  EXPECT_NEAR(ComputeRopeFrequencies(rope).magnitude, 1.25 * (1 + 0.1 * std::log(8)), 1e-12);
  rope.magnitude = 1.5;
  EXPECT_EQ(ComputeRopeFrequencies(rope).magnitude, 1.25 * 1.5);
  EXPECT_EQ(RopeTable(rope, 1).Cosine(0)[0], 1.875f);
  EXPECT_NEAR(YarnMagnitude(8, 0.5), 1 + 0.05 * std::log(8), 1e-12);
}

TEST(RopeTable, ItsRowsInAnotherOrderAreATable) {
  const RopeTable table(Rope{.rotated = 4}, 5);
  const RopeTable turned = table.WithRows(std::vector<int64_t>{3, 0, 3});
  EXPECT_EQ(turned.positions(), 3);
  EXPECT_EQ(turned.rotated(), 4);
  for (const auto& [position, as] : {std::pair{0, 3}, std::pair{1, 0}, std::pair{2, 3}}) {
    for (int pair = 0; pair < 2; ++pair) {
      EXPECT_EQ(turned.Cosine(position)[pair], table.Cosine(as)[pair]);
      EXPECT_EQ(turned.Sine(position)[pair], table.Sine(as)[pair]);
    }
  }
}

TEST(RopeTable, LongFactorsAreForTablesBeyondTheTrainedContext) {
  const Rope rope = {
      .rotated = 4, .original_context = 8, .factors = {2.0f, 4.0f}, .long_factors = {8.0f, 16.0f}};
  const RopeTable within(rope, 8);
  const RopeTable beyond(rope, 9);
  EXPECT_NEAR(within.Cosine(1)[0], std::cos(1 / 2.0), 1e-7);
  EXPECT_NEAR(beyond.Cosine(1)[0], std::cos(1 / 8.0), 1e-7);
  EXPECT_NEAR(within.Sine(7)[1], std::sin(7 * 0.01 / 4), 1e-7);
  EXPECT_NEAR(beyond.Sine(7)[1], std::sin(7 * 0.01 / 16), 1e-7);
}

}  // namespace
}  // namespace skald::model
