#include "base/short_turns.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "base/cpu_clock.h"

namespace skald {
namespace {

// How often this thread slept.
long Sleeps() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nvcsw;
}

TEST(ShortTurns, LongWorkRestsNowAndThenAndShortWorkNever) {
  const CpuClock clock;
  const long before = Sleeps();
  ShortTurns turns;
  for (int i = 0; i < 50; ++i) turns.MayRest();  // some 15 us
  EXPECT_EQ(Sleeps(), before);
  // Four turns of 0.25 ms and then of 2, or all of 0.25 where others want the processor.
  for (const double end = clock.Now() + 0.02; clock.Now() < end;) turns.MayRest();
  EXPECT_GE(Sleeps(), before + 6);
  EXPECT_LE(Sleeps(), before + 90);
}

}  // namespace
}  // namespace skald
