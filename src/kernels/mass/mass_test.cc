#include "kernels/mass/mass.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "kernels/isa/tested_isas.h"
#include "kernels/kernels.h"

namespace skald::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<uint64_t> Masses(Isa isa, const std::vector<float>& logits, float max,
                             double inverse_temperature) {
  std::vector<uint64_t> masses(logits.size() + 1, 77);  // one behind: must stay
  TableFor(isa).mass({logits.data(), static_cast<int64_t>(logits.size()), max, inverse_temperature,
                      masses.data()});
  EXPECT_EQ(masses.back(), 77u);
  masses.pop_back();
  return masses;
}

class MassTest : public testing::TestWithParam<Isa> {};
INSTANTIATE_TEST_SUITE_P(Isas, MassTest, testing::ValuesIn(TestedIsas()), IsaTestName);

TEST_P(MassTest, GivesTheBitsOfTheSpecificationAtEveryLengthAndTemperature) {
  std::mt19937 random(1);
  for (const double inverse : {1.0, 1 / 0.7, 0.01, 1e-300, 100.0, 1e300}) {
    for (int n = 0; n < 70; ++n) {
      std::vector<float> logits(static_cast<size_t>(n));
      for (float& x : logits) x = -static_cast<float>(random() % 100'000) * 5e-4f;
      EXPECT_EQ(Masses(GetParam(), logits, 0, inverse), Masses(ScalarIsa(), logits, 0, inverse));
    }
  }
}

TEST_P(MassTest, GivesTheBitsOfTheSpecificationWhereTheMassEnds) {
  std::vector<float> logits;
  for (float x = -29.0f; x > -30.5f; x = std::nextafter(x - 1e-4f, -100.0f)) logits.push_back(x);
  for (const float x : {-63.9f, -64.0f, -64.1f, -708.0f, -709.0f, -1e38f, -kInfinity, 0.0f}) {
    logits.push_back(x);
  }
  EXPECT_EQ(Masses(GetParam(), logits, 0, 1), Masses(ScalarIsa(), logits, 0, 1));
}

TEST_P(MassTest, OfTheLargestIsFullAndOfInfinitelyLessIsNothing) {
  const auto masses = Masses(GetParam(), {3, kInfinity, -kInfinity, kInfinity}, kInfinity, 0.5);
  EXPECT_EQ(masses, (std::vector<uint64_t>{0, kFullMass, 0, kFullMass}));
  EXPECT_EQ(Masses(GetParam(), {3, -kInfinity}, 3, 0.5), (std::vector<uint64_t>{kFullMass, 0}));
}

// Shares of 12.5 and 42.5: found by looking at the numbers around their logarithms.
TEST_P(MassTest, RoundsTiesToEven) {
  EXPECT_EQ(Masses(GetParam(), {0, -1}, 0, 0x1.a9621c7a28c33p+4),
            (std::vector<uint64_t>{kFullMass, 12}));
  EXPECT_EQ(Masses(GetParam(), {0, -1}, 0, 0x1.95cd86ee21517p+4),
            (std::vector<uint64_t>{kFullMass, 42}));
}

TEST_P(MassTest, HalvesWithEachLn2) {
  EXPECT_EQ(Masses(GetParam(), {0, -1, -2}, 0, 0.6931471805599453),
            (std::vector<uint64_t>{kFullMass, kFullMass / 2, kFullMass / 4}));
}

}  // namespace
}  // namespace skald::kernels
