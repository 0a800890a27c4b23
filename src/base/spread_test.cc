#include "base/spread.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <thread>

namespace skald {
namespace {

// Where this thread may be: on one processor.
void StayOn(int processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<size_t>(processor), &set);
  ASSERT_EQ(sched_setaffinity(0, sizeof(set), &set), 0);
}

TEST(Spread, AThreadThatComesOntoTheProcessorOfAnotherOneLeavesIt) {
  cpu_set_t all;
  CPU_ZERO(&all);
  ASSERT_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
  if (CPU_COUNT(&all) < 2) GTEST_SKIP() << "one processor";
  Spread spread(2);
  int first = -1;
  std::thread([&] {
    first = sched_getcpu();
    StayOn(first);
    spread.Check(0);
  }).join();
  std::thread([&] {
    // The system is free to take it back at once, where others are at work.
    int now_on = first;
    for (int attempt = 0; attempt < 20 && now_on == first; ++attempt) {
      StayOn(first);
      ASSERT_EQ(sched_setaffinity(0, sizeof(all), &all), 0);
      spread.Check(1);
      now_on = sched_getcpu();
    }
    EXPECT_NE(now_on, first);
    cpu_set_t now;
    ASSERT_EQ(sched_getaffinity(0, sizeof(now), &now), 0);
    EXPECT_TRUE(CPU_EQUAL(&now, &all)) << "it may go everywhere again";
  }).join();
}

TEST(Spread, WhereNoProcessorIsLeftNobodyMoves) {
  Spread spread(2);
  std::thread([&] {
    const int only = sched_getcpu();
    StayOn(only);
    spread.Check(0);
    spread.Check(1);
    EXPECT_EQ(sched_getcpu(), only);
  }).join();
}

}  // namespace
}  // namespace skald
