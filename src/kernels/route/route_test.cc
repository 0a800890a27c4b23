#include "kernels/route/route.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

namespace skald::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

struct Choice {
  std::vector<int32_t> chosen;
  std::vector<float> weights;
};

Choice RouteOf(const std::vector<float>& scores, size_t used) {
  Choice choice{std::vector<int32_t>(used, -1), std::vector<float>(used, -1)};
  Route({.scores = scores.data(),
         .experts = static_cast<int64_t>(scores.size()),
         .used = static_cast<int64_t>(used),
         .chosen = choice.chosen.data(),
         .weights = choice.weights.data()});
  return choice;
}

using Indices = std::vector<int32_t>;

TEST(Route, ChoosesTheLargestAndListsThemAscending) {
  EXPECT_EQ(RouteOf({1, 5, 3, 4}, 2).chosen, (Indices{1, 3}));
  EXPECT_EQ(RouteOf({1, 5, 3, 4}, 3).chosen, (Indices{1, 2, 3}));
  EXPECT_EQ(RouteOf({7, 5, 3, 4}, 1).chosen, (Indices{0}));
  EXPECT_EQ(RouteOf({7, 5, 3, 4}, 4).chosen, (Indices{0, 1, 2, 3}));
}

TEST(Route, OfEqualScoresTheLowerIndexComesFirst) {
  EXPECT_EQ(RouteOf({2, 2, 2, 2}, 2).chosen, (Indices{0, 1}));
  EXPECT_EQ(RouteOf({1, 2, 3, 2, 2}, 2).chosen, (Indices{1, 2}));
  EXPECT_EQ(RouteOf({0.0f, -0.0f, 0.0f}, 2).chosen, (Indices{0, 1}));
  EXPECT_EQ(RouteOf({-kInfinity, -kInfinity}, 1).chosen, (Indices{0}));
}

// Two scores whose probabilities are the same float are no tie.
TEST(Route, ChoosesByScoresNotByProbabilities) {
  EXPECT_EQ(RouteOf({100, -100.5f, -100}, 2).chosen, (Indices{0, 2}));
}

TEST(Route, WeightsAreTheSharesOfTheChosen) {
  const Choice choice = RouteOf({1, -2, 0.5f, 0}, 2);
  EXPECT_NEAR(choice.weights[0], std::exp(1.0) / (std::exp(1.0) + std::exp(0.5)), 1e-6);
  EXPECT_NEAR(choice.weights[1], std::exp(0.5) / (std::exp(1.0) + std::exp(0.5)), 1e-6);
  EXPECT_EQ(RouteOf({3, 2}, 1).weights[0], 1.0f);
}

// With so many experts that the chosen ones have less than 2^-14 of all, they keep that share.
TEST(Route, TheShareOfAlmostNothingIsDividedByTheFloor) {
  const std::vector<float> scores(65536, 0.0f);
  EXPECT_EQ(RouteOf(scores, 2).weights, std::vector<float>(2, 0x1p-16f / 0x1p-14f));
}

TEST(Route, AScoreThatIsNoNumberMakesEveryWeightNone) {
  for (const float bad : {kNaN, kInfinity}) {
    for (size_t place = 0; place < 3; ++place) {
      std::vector<float> scores = {1, 2, 3};
      scores[place] = bad;
      const Choice choice = RouteOf(scores, 2);
      for (const float weight : choice.weights) EXPECT_TRUE(std::isnan(weight)) << place;
      for (const int32_t expert : choice.chosen) EXPECT_TRUE(expert >= 0 && expert < 3);
    }
  }
}

TEST(Route, AgreesWithSortingAtEveryCount) {
  std::mt19937 random(1);
  for (size_t experts = 1; experts <= 70; ++experts) {
    std::vector<float> scores(experts);
    for (float& score : scores) score = static_cast<float>(random() % 20) * 0.25f;
    Indices order(experts);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
      return scores[static_cast<size_t>(a)] > scores[static_cast<size_t>(b)];
    });
    for (size_t used = 1; used <= experts; used = used * 2 + 1) {
      Indices expected(order.begin(), order.begin() + static_cast<int64_t>(used));
      std::sort(expected.begin(), expected.end());
      const Choice choice = RouteOf(scores, used);
      ASSERT_EQ(choice.chosen, expected) << experts << " experts, " << used << " used";
      ASSERT_NEAR(std::accumulate(choice.weights.begin(), choice.weights.end(), 0.0), 1, 1e-5);
    }
  }
}

}  // namespace
}  // namespace skald::kernels
