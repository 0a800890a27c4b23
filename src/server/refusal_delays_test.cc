#include "server/refusal_delays.h"

#include <gtest/gtest.h>

#include <string>

namespace skald::server {
namespace {

TEST(RefusalDelays, LetsAFewBeAndSlowsWhoGoesOn) {
  RefusalDelays delays;
  for (int i = 0; i < 5; ++i) EXPECT_EQ(delays.Next("a", 100), 0) << i;
  EXPECT_EQ(delays.Next("a", 100), 1);
  EXPECT_EQ(delays.Next("a", 100), 2);
  for (int i = 0; i < 50; ++i) EXPECT_LE(delays.Next("a", 100), RefusalDelays::kMostSeconds);
  EXPECT_EQ(delays.Next("b", 100), 0) << "another address";
  EXPECT_GT(delays.Next("a", 101), 0);
  EXPECT_EQ(delays.Next("a", 161), 0) << "forgotten";
}

TEST(RefusalDelays, KeepsABoundedNumberOfAddressesAndForgetsTheOldest) {
  RefusalDelays delays;
  for (int i = 0; i < 6; ++i) delays.Next("first", 0);
  for (int i = 0; i < 6; ++i) delays.Next("second", 0.5);
  for (size_t i = 0; i + 1 < RefusalDelays::kMostAddresses; ++i)
    delays.Next("x" + std::to_string(i), 1);
  EXPECT_EQ(delays.addresses(), RefusalDelays::kMostAddresses);
  EXPECT_GT(delays.Next("second", 1), 0);
  EXPECT_EQ(delays.Next("first", 1), 0);
  EXPECT_EQ(delays.addresses(), RefusalDelays::kMostAddresses);
}

TEST(RefusalDelays, LetsABoundedNumberWait) {
  RefusalDelays delays;
  int64_t waiting = 0;
  for (int i = 0; i < 1000; ++i) waiting += delays.Next("a", 1) > 0 ? 1 : 0;
  EXPECT_EQ(waiting, RefusalDelays::kMostWaiting);
  delays.WaitIsOver();
  EXPECT_GT(delays.Next("a", 1), 0);
  EXPECT_EQ(delays.Next("a", 1), 0);
}

}  // namespace
}  // namespace skald::server
