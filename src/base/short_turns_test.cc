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
  ShortTurns turns;
  const long before = Sleeps();
  for (int i = 0; i < 50; ++i) turns.MayRest();  // some 15 us
  EXPECT_EQ(Sleeps(), before);
  // Four turns of 0.2 ms and then of 2, or all of 0.2 where others want the processor.
  for (const double end = clock.Now() + 0.02; clock.Now() < end;) turns.MayRest();
  EXPECT_GE(Sleeps(), before + 6);
  EXPECT_LE(Sleeps(), before + 112);
}

TEST(ShortTurns, AFullMachineIsSeenByWhatWasUsedOrByAWait) {
  const auto is_full = [](double took, double used, int cores) {
    return ShortTurns::ShowsAFullMachine({.asked = 2e-3, .took = took, .used = used}, cores);
  };
  EXPECT_TRUE(is_full(2.1e-3, 4.1e-3, 2));
  EXPECT_FALSE(is_full(2.1e-3, 2.1e-3, 2));
  EXPECT_TRUE(is_full(2.1e-3, 2.1e-3, 1));
  EXPECT_FALSE(is_full(2.1e-3, 0, 1));
  EXPECT_TRUE(is_full(2.6e-3, 0, 2));
}

// Beside as many threads as there are processors: whoever wakes is run at once, and one of them
// waits. Where other programs want processors, too, that is tried again.
TEST(ShortTurns, AreShortWhileTheProcessHasAllProcessors) {
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
  const CpuClock process = CpuClock::OfProcess();
  const Stopwatch all;
  bool had_all = false;
  long rests = 0;
  double seconds = 0;
  while (!had_all && all.Seconds() < 3) {
    const Stopwatch time;
    const double used_before = process.Now();
    const long before = Sleeps();
    ShortTurns turns(kRest);
    for (const double end = clock.Now() + 5e-3; clock.Now() < end;) turns.MayRest();
    rests = Sleeps() - before;
    seconds = time.Seconds();
    had_all = process.Now() - used_before > (AvailableCores() - 0.2) * seconds;
  }
  stop = true;
  for (std::thread& thread : busy) thread.join();
  if (!had_all) GTEST_SKIP() << "other programs want the processors, too";
  EXPECT_GE(rests, kWanted);
  EXPECT_GE(seconds, kRest * static_cast<double>(kWanted));
}

}  // namespace
}  // namespace skald
