#include "lab/scores.h"

#include <gtest/gtest.h>

#include <cmath>

namespace skald::lab {
namespace {

TEST(LogProbabilities, AreTheSoftmax) {
  const std::vector<float> logits = {1, 2, 3};
  const std::vector<double> found = LogProbabilities(logits);
  const double norm = std::log(std::exp(1.0) + std::exp(2.0) + std::exp(3.0));
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(found[i], logits[i] - norm, 1e-14);
}

TEST(LogProbabilities, SizesDoNotOverflow) {
  const std::vector<double> found = LogProbabilities(std::vector<float>{1e4f, -1e4f, 1e4f});
  EXPECT_NEAR(found[0], -std::log(2.0), 1e-11);
  EXPECT_NEAR(found[1], -2e4 - std::log(2.0), 1e-9);
}

TEST(Divergence, IsThatOfKullbackAndLeibler) {
  const std::vector<double> half = {std::log(0.5), std::log(0.5)};
  const std::vector<double> quarter = {std::log(0.25), std::log(0.75)};
  EXPECT_NEAR(Divergence(half, quarter), 0.5 * std::log(2) + 0.5 * std::log(0.5 / 0.75), 1e-14);
  EXPECT_NEAR(Divergence(quarter, half), 0.25 * std::log(0.5) + 0.75 * std::log(1.5), 1e-14);
  EXPECT_EQ(Divergence(half, half), 0);
}

TEST(Likeliest, IsTheFirstOfSeveral) { EXPECT_EQ(Likeliest(std::vector<float>{1, 3, 3, 2}), 1); }

}  // namespace
}  // namespace skald::lab
