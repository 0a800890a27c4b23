#include "explain/choices.h"

#include <gtest/gtest.h>

#include <cmath>

namespace skald::explain {
namespace {

// Probabilities 1/2, 1/4, 1/8, 1/16, 1/16 at temperature 1.
std::vector<float> Halves() {
  const auto ln2 = static_cast<float>(std::log(2.0));
  return {-ln2, -2 * ln2, -3 * ln2, -4 * ln2, -4 * ln2};
}

ExplainedChoice Explain(const SamplingParams& params, TokenId drawn) {
  Choices choices(*sampling::Sampler::Create(5, kernels::ScalarIsa()), params);
  const std::vector<float> logits = Halves();
  const std::vector<TokenId> prompt = {0, 1};
  return *choices.Explain({.logits = logits, .prompt = prompt, .output = {}, .drawn = drawn});
}

std::vector<std::string> NamesOf(const ExplainedChoice& choice) {
  std::vector<std::string> names;
  for (const ExplainedFilter& filter : choice.filters) names.push_back(filter.name);
  return names;
}

void ExpectNear(const std::vector<double>& found, const std::vector<double>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-6) << i;
}

TEST(Choices, ShowEachFilterInItsTurn) {
  const ExplainedChoice choice = Explain(
      {.temperature = 0.5, .truncation = {.top_k = 3, .top_p = 1, .min_p = 0.1}, .seed = 3}, 1);
  EXPECT_EQ(NamesOf(choice), (std::vector<std::string>{"model", "temperature", "top-k", "min-p"}));
  EXPECT_EQ(choice.filters[0].left, 5);
  EXPECT_EQ(choice.filters[2].left, 3);
  EXPECT_EQ(choice.filters[3].left, 2);
  ASSERT_EQ(choice.chances.size(), 5u);
  EXPECT_EQ(choice.chances[0].token, 0);
  // Squares at temperature 1/2: 64, 16, 4, 1, 1 of 86.
  ExpectNear(choice.chances[0].probabilities, {1.0 / 2, 64.0 / 86, 64.0 / 84, 64.0 / 80});
  ExpectNear(choice.chances[1].probabilities, {1.0 / 4, 16.0 / 86, 16.0 / 84, 16.0 / 80});
  ExpectNear(choice.chances[2].probabilities, {1.0 / 8, 4.0 / 86, 4.0 / 84, 0});
  ExpectNear(choice.chances[3].probabilities, {1.0 / 16, 1.0 / 86, 0, 0});
  EXPECT_TRUE(choice.chances[0].race && choice.chances[1].race);
  EXPECT_FALSE(choice.chances[2].race);
}

TEST(Choices, GreedyHasNoRace) {
  const ExplainedChoice choice = Explain({.temperature = 0}, 0);
  EXPECT_EQ(NamesOf(choice), (std::vector<std::string>{"model", "greedy"}));
  ExpectNear(choice.chances[0].probabilities, {0.5, 1});
  ExpectNear(choice.chances[1].probabilities, {0.25, 0});
  EXPECT_FALSE(choice.chances[0].race);
}

TEST(Choices, TemperatureComesLastInTheOtherOrder) {
  const ExplainedChoice choice = Explain({.temperature = 0.5,
                                          .truncation = {.top_k = 2, .top_p = 1, .min_p = 0},
                                          .order = SamplingOrder::kLlamaCpp},
                                         0);
  EXPECT_EQ(NamesOf(choice), (std::vector<std::string>{"model", "top-k", "temperature"}));
  ExpectNear(choice.chances[0].probabilities, {0.5, 2.0 / 3, 0.8});
}

TEST(Choices, PenaltiesAndBiasStandBeforeTheFilters) {
  const ExplainedChoice choice = Explain({.temperature = 1,
                                          .truncation = {.top_k = 0, .top_p = 1, .min_p = 0},
                                          .logit_bias = {{.token = 0, .bias = -INFINITY}}},
                                         1);
  EXPECT_EQ(NamesOf(choice), (std::vector<std::string>{"model", "penalties, bias"}));
  EXPECT_EQ(choice.filters[1].left, 4);
  ExpectNear(choice.chances[0].probabilities, {0.5, 0});
  ExpectNear(choice.chances[1].probabilities, {0.25, 0.5});
}

}  // namespace
}  // namespace skald::explain
