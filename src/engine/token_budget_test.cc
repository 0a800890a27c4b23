#include "engine/token_budget.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace skald::engine {
namespace {

// Shows a budget steps of a machine where a step takes `base` and a prompt row `row` seconds.
void Show(TokenBudget* budget, double base, double row, int64_t steps = 100) {
  for (int64_t i = 0; i < steps; ++i) {
    const int64_t prefill = i % 3 == 0 ? 0 : budget->PrefillRows(1);
    budget->Observe({1, prefill}, base + row * static_cast<double>(prefill));
  }
}

TEST(TokenBudget, WithoutStreamsAPromptMayHaveAllRows) {
  const TokenBudget budget(512, 0);
  EXPECT_EQ(budget.PrefillRows(0), 512);
}

TEST(TokenBudget, MeasuresDecodeAloneThenIsCareful) {
  TokenBudget budget(512, 0);
  EXPECT_EQ(budget.PrefillRows(1), 0);
  budget.Observe({1, 0}, 0.1);
  EXPECT_EQ(budget.PrefillRows(1), TokenBudget::kLeastRows);
  TokenBudget tiny(3, 0);
  tiny.Observe({1, 0}, 0.1);
  EXPECT_EQ(tiny.PrefillRows(1), 3);
}

TEST(TokenBudget, MeasuresWhenManyMoreOrFewerDecode) {
  TokenBudget budget(512, 0);
  budget.Observe({8, 0}, 0.1);
  budget.Observe({8, 4}, 0.1);
  EXPECT_NE(budget.PrefillRows(9), 0);
  EXPECT_EQ(budget.PrefillRows(10), 0);
  EXPECT_EQ(budget.PrefillRows(7), 0);
  // And knows what it has measured before.
  budget.Observe({16, 0}, 0.1);
  budget.Observe({16, 4}, 0.1);
  EXPECT_NE(budget.PrefillRows(8), 0);
}

// Of a number of streams never measured, what fewer take is believed; only where there are none
// fewer, what more take.
TEST(TokenBudget, BelievesWhatFewerStreamsTake) {
  TokenBudget budget(512, 0);
  budget.Observe({0, 512}, 0.512);
  budget.Observe({4, 0}, 0.1);
  budget.Observe({4, 1}, 0.101);
  budget.Observe({64, 0}, 0.4);
  EXPECT_NEAR(static_cast<double>(budget.PrefillRows(16)), 100, 1);
  EXPECT_NEAR(static_cast<double>(budget.PrefillRows(2)), 100, 1);
  EXPECT_NEAR(static_cast<double>(budget.PrefillRows(100)), 400, 1);
}

TEST(TokenBudget, KeepsTheLargestCounts) {
  TokenBudget budget(512, 0);
  budget.Observe({int64_t{1} << 62, 0}, 0.1);
  EXPECT_NE(budget.PrefillRows((int64_t{1} << 62) + 1), 0);
}

// A reader that takes an event in every other step: one stream decodes, two, one, two. A prompt
// beside them got nothing.
TEST(TokenBudget, PromptsGetOnWhereTheNumberOfStreamsFlickers) {
  for (const int64_t period : {2, 3, 7}) {
    TokenBudget budget(512, 0);
    int64_t computed = 0;
    for (int64_t step = 0; step < 100; ++step) {
      const int64_t streams = 1 + step % period;
      const int64_t rows = budget.PrefillRows(streams);
      computed += rows;
      budget.Observe({streams, rows}, 0.01 + 0.001 * static_cast<double>(streams + rows));
    }
    EXPECT_GE(computed, 500) << "period " << period;
  }
}

// However the streams come and go, every other step has rows for prompts.
TEST(TokenBudget, NeverMeasuresTwiceInARow) {
  TokenBudget budget(512, 0);
  bool has_measured = false;
  for (int64_t step = 0; step < 10000; ++step) {
    const int64_t streams = 1 + step * step % 97;
    const int64_t rows = budget.PrefillRows(streams);
    ASSERT_FALSE(rows == 0 && has_measured) << "step " << step;
    has_measured = rows == 0;
    budget.Observe({streams, rows}, 0.01);
  }
}

TEST(TokenBudget, MeasuresAgainNowAndThen) {
  TokenBudget budget(512, 0);
  budget.Observe({1, 0}, 0.1);
  for (int i = 0; i < TokenBudget::kStepsBetweenMeasures; ++i) {
    ASSERT_NE(budget.PrefillRows(1), 0);
    budget.Observe({1, 10}, 0.2);
  }
  EXPECT_EQ(budget.PrefillRows(1), 0);
  budget.Observe({1, 0}, 0.1);
  EXPECT_NE(budget.PrefillRows(1), 0);
}

// Found with a prompt of 4,096 tokens beside a stream: its time between tokens grew fifteenfold.
TEST(TokenBudget, RowsThatBecomeDearerDoNotPassForSlowerDecode) {
  TokenBudget budget(512, 0);
  budget.Observe({1, 0}, 0.03);
  double longest = 0;
  for (int64_t computed = 0; computed < 4096;) {
    const int64_t rows = budget.PrefillRows(1);
    // A row costs 2 ms, and 4 ms more behind each thousand tokens.
    const double row = 0.002 + 4e-6 * static_cast<double>(computed);
    const double seconds = 0.03 + row * static_cast<double>(rows);
    budget.Observe({1, rows}, seconds);
    longest = std::max(longest, seconds);
    computed += rows;
  }
  // Four rows at the end: 0.03 + 4 x 0.0184.
  EXPECT_LT(longest, 0.11);
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

// What a draft model computes of prompts beside a stream of 0.1 s, in rows of 0.0005 s.
TEST(TokenBudget, ADraftModelHasTheTimeOfAPrompt) {
  TokenBudget budget(512, 0);
  budget.Observe({1, 0}, 0.1);
  EXPECT_EQ(budget.DraftRows({1, 0}), TokenBudget::kLeastRows);
  Show(&budget, 0.1, 0.001);
  // Nothing is known of it: as many rows as of the model.
  EXPECT_NEAR(static_cast<double>(budget.DraftRows({1, 0})), 100, 2);
  const auto show = [&](int64_t prompt_rows) {
    for (int i = 0; i < 100; ++i) {
      if (i % 3 == 0) budget.Observe({1, 0}, 0.1);
      const int64_t rows = budget.DraftRows({1, prompt_rows});
      const double seconds = 0.001 * static_cast<double>(prompt_rows);
      budget.Observe({1, prompt_rows, rows}, 0.1 + seconds + 0.0005 * static_cast<double>(rows));
    }
  };
  show(0);
  EXPECT_NEAR(static_cast<double>(budget.DraftRows({1, 0})), 200, 4);
  // Beside a prompt half of that, and neither passes for the other, nor for slower decode.
  show(50);
  EXPECT_NEAR(static_cast<double>(budget.DraftRows({1, 50})), 100, 2);
  EXPECT_NEAR(static_cast<double>(budget.PrefillRows(1)), 100, 3);
}

TEST(TokenBudget, NoDraftPromptWhereDecodeIsMeasured) {
  TokenBudget budget(512, 0);
  EXPECT_EQ(budget.DraftRows({1, 0}), 0);
  budget.Observe({1, 0}, 0.1);
  EXPECT_EQ(budget.DraftRows({1, 0}), TokenBudget::kLeastRows);
  for (int i = 0; i < TokenBudget::kStepsBetweenMeasures; ++i) budget.Observe({1, 0, 4}, 0.1);
  EXPECT_EQ(budget.PrefillRows(1), 0);
  EXPECT_EQ(budget.DraftRows({1, 0}), 0);
}

TEST(TokenBudget, LearnsWhenPromptsNeverPause) {
  TokenBudget budget(512, 0);
  budget.Observe({0, 512}, 0.512);
  for (int i = 0; i < 100; ++i) {
    const int64_t prefill = budget.PrefillRows(4);
    budget.Observe({4, prefill}, 0.1 + 0.001 * static_cast<double>(prefill));
  }
  EXPECT_NEAR(static_cast<double>(budget.PrefillRows(4)), 100, 3);
}

}  // namespace
}  // namespace skald::engine
