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

Choice RouteOf(const std::vector<float>& scores, size_t used, const RouteRule& rule = {},
               const std::vector<float>& bias = {}) {
  Choice choice{std::vector<int32_t>(used, -1), std::vector<float>(used, -1)};
  std::vector<float> scratch(scores.size());
  Route({.rule = rule,
         .scores = scores.data(),
         .bias = bias.empty() ? nullptr : bias.data(),
         .choice = scratch.data(),
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

constexpr RouteRule kSigmoid = {.weights = RouteWeights::kSigmoid, .sum = RouteSum::kAsItIs};

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

TEST(Route, WeightsMayStayAsTheyAre) {
  const Choice softmax = RouteOf({1, -2, 0.5f, 0}, 2, {.sum = RouteSum::kAsItIs});
  const double sum = std::exp(1.0) + std::exp(-2.0) + std::exp(0.5) + 1;
  EXPECT_NEAR(softmax.weights[0], std::exp(1.0) / sum, 1e-6);
  EXPECT_NEAR(softmax.weights[1], std::exp(0.5) / sum, 1e-6);
  const Choice sigmoid = RouteOf({1, -2, 0.5f, 0}, 2, kSigmoid);
  EXPECT_EQ(sigmoid.chosen, (Indices{0, 2}));
  EXPECT_NEAR(sigmoid.weights[0], Sigmoid(1), 1e-7);
  EXPECT_NEAR(sigmoid.weights[1], Sigmoid(0.5), 1e-7);
}

TEST(Route, SigmoidsAreDividedByTheirSumAndScaled) {
  const Choice choice =
      RouteOf({1, -2, 0.5f}, 2, {.weights = RouteWeights::kSigmoid, .scale = 2.5f});
  EXPECT_NEAR(choice.weights[0], 2.5 * Sigmoid(1) / (Sigmoid(1) + Sigmoid(0.5)), 1e-6);
  EXPECT_NEAR(choice.weights[0] + choice.weights[1], 2.5, 1e-6);
}

TEST(Route, SoftmaxOfTheChosenKnowsNoOthers) {
  const RouteRule rule = {.weights = RouteWeights::kSoftmaxOfChosen};
  const Choice choice = RouteOf({1, 200, 0.5f, 199}, 2, rule);
  EXPECT_EQ(choice.chosen, (Indices{1, 3}));
  EXPECT_NEAR(choice.weights[0], Sigmoid(1), 1e-6);
  EXPECT_NEAR(choice.weights[1], Sigmoid(-1), 1e-6);
  // Far below the others a softmax over all would give them nothing to divide.
  EXPECT_EQ(RouteOf({-500, -500}, 2, rule).weights, (std::vector<float>{0.5f, 0.5f}));
}

TEST(Route, ABiasChangesTheChoiceButNoWeight) {
  const Choice choice = RouteOf({0, 1, 2}, 1, kSigmoid, {0.5f, 0, 0});
  EXPECT_EQ(choice.chosen, (Indices{0}));
  EXPECT_EQ(choice.weights[0], 0.5f);
  EXPECT_EQ(RouteOf({0, 1, 2}, 1, kSigmoid, {0, 0, -0.5f}).chosen, (Indices{1}));
  const Choice softmax = RouteOf({0, 0, 0, 0}, 2, {}, {0, 0.1f, 0, 0.2f});
  EXPECT_EQ(softmax.chosen, (Indices{1, 3}));
  EXPECT_EQ(softmax.weights, (std::vector<float>{0.5f, 0.5f}));
}

// Of equal probability plus bias the lower index, though the scores differ: both sigmoids are 1.
TEST(Route, WithABiasProbabilitiesDecideTies) {
  EXPECT_EQ(RouteOf({30, 40}, 1, kSigmoid, {0, 0}).chosen, (Indices{0}));
  EXPECT_EQ(RouteOf({30, 40}, 1, kSigmoid).chosen, (Indices{1}));
}

// DeepSeek-V2 takes the largest of a group, V3, which has the bias, the sum of its two largest.
TEST(Route, AGroupIsAsGoodAsItsBestOrWithABiasItsBestTwo) {
  const std::vector<float> scores = {std::log(0.30f), std::log(0.01f), std::log(0.20f),
                                     std::log(0.19f)};
  const RouteRule rule = {.groups = 2, .used_groups = 1};
  EXPECT_EQ(RouteOf(scores, 1, rule).chosen, (Indices{0}));
  EXPECT_EQ(RouteOf(scores, 2, rule).chosen, (Indices{0, 1}));
  EXPECT_EQ(RouteOf(scores, 1, rule, {0, 0, 0, 0}).chosen, (Indices{2}));
  EXPECT_EQ(RouteOf(scores, 2, rule, {0, 0, 0, 0}).chosen, (Indices{2, 3}));
}

// Shares .30 .01 | .20 .19 of what these four have.
TEST(Route, LlamaCppAddsTheBestTwoOfAGroupWithoutABiasToo) {
  const std::vector<float> scores = {std::log(0.30f), std::log(0.01f), std::log(0.20f),
                                     std::log(0.19f)};
  RouteRule rule = {.groups = 2, .used_groups = 1};
  EXPECT_EQ(RouteOf(scores, 2, rule).chosen, (Indices{0, 1}));
  rule.group_score = GroupScore::kBestTwo;
  EXPECT_EQ(RouteOf(scores, 2, rule).chosen, (Indices{2, 3}));
  rule.used_groups = 2;
  EXPECT_EQ(RouteOf(scores, 2, rule).chosen, (Indices{0, 2}));
  // Without groups there is nothing to add.
  EXPECT_EQ(RouteOf({100, -100.5f, -100}, 2, {.group_score = GroupScore::kBestTwo}).chosen,
            (Indices{0, 2}));
}

TEST(Route, GroupsThatAreClosedGiveNoExpertHoweverLow) {
  const RouteRule rule = {.groups = 3, .used_groups = 2};
  EXPECT_EQ(RouteOf({5, -kInfinity, 4, 3.5f, 3, 2}, 4, rule).chosen, (Indices{0, 1, 2, 3}));
  EXPECT_EQ(RouteOf({1, 1, 1, 1, 1, 1}, 3, rule).chosen, (Indices{0, 1, 2}));
  // The two of a group may stand in either order.
  EXPECT_EQ(RouteOf({0, 0, 0.1f, 0.6f, 0.6f, 0.2f}, 1, {.groups = 3, .used_groups = 1},
                    std::vector<float>(6, 0.0f))
                .chosen,
            (Indices{4}));
}

TEST(Route, GroupsOfOneExpertAreExperts) {
  const RouteRule rule = {.weights = RouteWeights::kSigmoid, .groups = 4, .used_groups = 3};
  EXPECT_EQ(RouteOf({1, 4, 2, 3}, 2, rule, {0, 0, 0, 0}).chosen, (Indices{1, 3}));
}

TEST(Route, ChoosesAsManyAsAskedForWhateverIsNoNumber) {
  for (size_t place = 0; place < 6; ++place) {
    std::vector<float> scores = {1, 2, 3, 4, 5, 6};
    scores[place] = kNaN;
    for (const RouteWeights weights :
         {RouteWeights::kSoftmax, RouteWeights::kSigmoid, RouteWeights::kSoftmaxOfChosen}) {
      const RouteRule rule = {.weights = weights, .groups = 3, .used_groups = 2};
      const Choice choice = RouteOf(scores, 4, rule, std::vector<float>(6, 0.0f));
      for (size_t i = 0; i < 4; ++i) {
        ASSERT_TRUE(choice.chosen[i] >= 0 && choice.chosen[i] < 6);
        ASSERT_TRUE(i == 0 || choice.chosen[i] > choice.chosen[i - 1]);
      }
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
