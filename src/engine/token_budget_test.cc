#include "engine/token_budget.h"

#include <gtest/gtest.h>

namespace skald::engine {
namespace {

// Shows a budget steps of a machine where a step takes `base` and a prompt row `row` seconds.
void Show(TokenBudget* budget, double base, double row, int64_t steps = 100) {
  for (int64_t i = 0; i < steps; ++i) {
    const int64_t prefill = i % 3 == 0 ? 0 : budget->PrefillRows(1);
    budget->Observe(1, prefill, base + row * static_cast<double>(prefill));
  }
}

TEST(TokenBudget, WithoutStreamsAPromptMayHaveAllRows) {
  const TokenBudget budget(512, 0);
  EXPECT_EQ(budget.PrefillRows(0), 512);
}

TEST(TokenBudget, BeforeItKnowsAnythingItIsCareful) {
  const TokenBudget budget(512, 0);
  EXPECT_EQ(budget.PrefillRows(1), TokenBudget::kLeastRows);
  EXPECT_EQ(TokenBudget(5, 0).PrefillRows(1), 5);
}

TEST(TokenBudget, AStepTakesTwiceItsTimeWithoutPrompts) {
  TokenBudget budget(512, 0);
  Show(&budget, 0.1, 0.001);
  EXPECT_NEAR(static_cast<double>(budget.PrefillRows(1)), 100, 2);
}

TEST(TokenBudget, AStepTakesTheTimeAskedFor) {
  TokenBudget budget(512, 0.3);
  Show(&budget, 0.1, 0.001);
  EXPECT_NEAR(static_cast<double>(budget.PrefillRows(1)), 200, 4);
}

TEST(TokenBudget, ATargetThatCannotBeMetStillLetsPromptsGetOn) {
  TokenBudget budget(512, 0.01);
  Show(&budget, 0.1, 0.001);
  EXPECT_EQ(budget.PrefillRows(1), TokenBudget::kLeastRows);
}

TEST(TokenBudget, FollowsAMachineThatBecomesSlower) {
  TokenBudget budget(512, 0.3);
  Show(&budget, 0.1, 0.001);
  Show(&budget, 0.2, 0.002);
  EXPECT_NEAR(static_cast<double>(budget.PrefillRows(1)), 50, 3);
}

TEST(TokenBudget, LearnsWhenPromptsNeverPause) {
  TokenBudget budget(512, 0);
  budget.Observe(0, 512, 0.512);
  for (int i = 0; i < 100; ++i) {
    const int64_t prefill = budget.PrefillRows(4);
    budget.Observe(4, prefill, 0.1 + 0.001 * static_cast<double>(prefill));
  }
  EXPECT_NEAR(static_cast<double>(budget.PrefillRows(4)), 100, 20);
}

}  // namespace
}  // namespace skald::engine
