#include "chat/budget.h"

#include <gtest/gtest.h>

namespace skald::chat {
namespace {

TEST(BudgetTest, GivesExactlyItsSteps) {
  for (const int64_t steps : {0, 1, 2047, 2048, 2049, 4096, 4097}) {
    Budget one_by_one(steps, 0);
    for (int64_t i = 0; i < steps; ++i) ASSERT_TRUE(one_by_one.Spend(1)) << i << " of " << steps;
    EXPECT_EQ(one_by_one.steps_used(), steps);
    EXPECT_TRUE(one_by_one.status().ok());
    EXPECT_FALSE(one_by_one.Spend(1)) << steps;
    EXPECT_EQ(one_by_one.status().code(), ErrorCode::kResourceExhausted);
    Budget at_once(steps, 0);
    EXPECT_TRUE(at_once.Spend(steps)) << steps;
    Budget too_many(steps, 0);
    EXPECT_FALSE(too_many.Spend(steps + 1)) << steps;
    EXPECT_FALSE(too_many.Spend(0)) << "it stays passed";
    EXPECT_EQ(too_many.steps_used(), steps);
  }
}

TEST(BudgetTest, TellsWhatWasPassedFirst) {
  bool stop = false;
  const auto should_stop = [&] { return stop; };
  Budget stopped(10'000, 10, StopCheck(should_stop));
  EXPECT_TRUE(stopped.Spend(4000));
  stop = true;
  EXPECT_FALSE(stopped.Spend(4000));
  EXPECT_FALSE(stopped.Hold(11));
  EXPECT_FALSE(stopped.Spend(1));
  EXPECT_EQ(stopped.status().code(), ErrorCode::kCancelled);
  Budget full(10'000, 10);
  EXPECT_TRUE(full.Hold(10));
  EXPECT_FALSE(full.Hold(1));
  EXPECT_FALSE(full.Spend(20'000));
  EXPECT_NE(full.status().message().find("10 bytes of memory"), std::string::npos);
}

}  // namespace
}  // namespace skald::chat
