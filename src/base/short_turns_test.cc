#include "base/short_turns.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <thread>
#include <vector>

#include "base/cpu_clock.h"
#include "base/stopwatch.h"
#include "base/thread_pool.h"

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
  // Four turns of 0.2 ms and then of 2, or all of 0.2 where others want the processor.
  for (const double end = clock.Now() + 0.02; clock.Now() < end;) turns.MayRest();
  EXPECT_GE(Sleeps(), before + 6);
  EXPECT_LE(Sleeps(), before + 120);
}

// Beside as many threads as there are processors. Where other programs take most of them, these get
// too little to show it, so it is tried for a while.
TEST(ShortTurns, AreShortWhileAllProcessorsAreWanted) {
  std::atomic<bool> stop = false;
  std::vector<std::thread> busy;
  for (int i = 0; i < AvailableCores(); ++i) {
    busy.emplace_back([&] {
      while (!stop) continue;
    });
  }
  constexpr double kRest = 2e-3;
  constexpr long kWanted = 20;  // of some 25; six if the turns were long
  const CpuClock clock;
  const Stopwatch all;
  long rests = 0;
  while (rests < kWanted && all.Seconds() < 20) {
    const Stopwatch time;
    const long before = Sleeps();
    ShortTurns turns(kRest);
    for (const double end = clock.Now() + 5e-3; clock.Now() < end;) turns.MayRest();
    rests = Sleeps() - before;
    EXPECT_GE(time.Seconds(), rests < kWanted ? 0 : kRest * static_cast<double>(kWanted - 1));
  }
  stop = true;
  for (std::thread& thread : busy) thread.join();
  EXPECT_GE(rests, kWanted);
}

}  // namespace
}  // namespace skald
