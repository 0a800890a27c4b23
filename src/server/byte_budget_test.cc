#include "server/byte_budget.h"

#include <gtest/gtest.h>

#include <optional>

#include "server/least_rate.h"

namespace skald::server {
namespace {

TEST(ByteBudget, GivesOnePayerHalfAndTwoAThirdEach) {
  ByteBudget budget(1200);
  ByteLease first(budget, "a");
  EXPECT_TRUE(first.Resize(600));
  EXPECT_FALSE(first.Resize(601));
  EXPECT_EQ(first.bytes(), 600);
  ByteLease second(budget, "b");
  EXPECT_TRUE(second.Resize(300));
  EXPECT_FALSE(second.Resize(301));
  EXPECT_TRUE(first.Resize(400));
  EXPECT_TRUE(second.Resize(400));
  EXPECT_FALSE(second.Resize(401));
  EXPECT_EQ(budget.used(), 800);
}

TEST(ByteBudget, CountsAllLeasesOfAPayer) {
  ByteBudget budget(100);
  ByteLease first(budget, "a");
  std::optional<ByteLease> second;
  second.emplace(budget, "a");
  EXPECT_TRUE(first.Resize(30));
  EXPECT_TRUE(second->Resize(20));
  EXPECT_FALSE(first.Resize(31));
  second.reset();
  EXPECT_EQ(budget.used(), 30);
  EXPECT_TRUE(first.Resize(50));
}

TEST(ByteBudget, HoldsWhatIsThereAlready) {
  ByteBudget budget(100);
  ByteLease lease(budget, "address");
  lease.Force(80);
  EXPECT_EQ(budget.used_by("address"), 80);
  lease.ChargeTo("key");
  EXPECT_EQ(budget.used_by("address"), 0);
  EXPECT_EQ(budget.used_by("key"), 80);
  EXPECT_TRUE(lease.Resize(70)) << "less is always possible";
  lease.Force(0);
  EXPECT_EQ(budget.used(), 0);
}

TEST(LeastRate, JudgesEachWindow) {
  LeastRate rate(100, 10);
  EXPECT_FALSE(rate.TooSlow(1000)) << "nothing to move";
  rate.Start(0);
  rate.Moved(5000);
  rate.Start(5);  // goes on
  EXPECT_FALSE(rate.TooSlow(10));
  EXPECT_FALSE(rate.TooSlow(10.5));
  // The second window lives on its own bytes.
  rate.Moved(900);
  EXPECT_FALSE(rate.TooSlow(20.5));
  EXPECT_TRUE(rate.TooSlow(21));
  rate.Stop();
  EXPECT_FALSE(rate.TooSlow(100));
}

// A byte every 29 seconds.
TEST(LeastRate, EndsWhoTakesAByteNowAndThen) {
  LeastRate rate(1024, 30);
  rate.Start(0);
  double ended = 0;
  for (double now = 0; ended == 0 && now < 1000; now += 1) {
    if (static_cast<int>(now) % 29 == 0) rate.Moved(1);
    if (rate.TooSlow(now)) ended = now;
  }
  EXPECT_EQ(ended, 31);
}

}  // namespace
}  // namespace skald::server
