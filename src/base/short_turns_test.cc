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

TEST(ShortTurns, ShortWorkNeverRests) {
  const CpuClock clock;
  // A host that takes the processor away may count that as time of this thread: only an attempt
  // that was as short as it should be shows something.
  bool was_short = false;
  for (int attempt = 0; attempt < 100 && !was_short; ++attempt) {
    const double start = clock.Now();
    ShortTurns turns;
    const long before = Sleeps();
    for (int i = 0; i < 50; ++i) turns.MayRest();  // some 15 us
    const long slept = Sleeps() - before;
    was_short = clock.Now() - start < 0.2e-3;
    if (was_short) {
      EXPECT_EQ(slept, 0);
    }
  }
  EXPECT_TRUE(was_short);
}

TEST(ShortTurns, LongWorkRestsNowAndThen) {
  const CpuClock clock;
  ShortTurns turns;
  const long before = Sleeps();
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

TEST(ShortTurns, AreShortAndRestsLongUntilAProcessorIsSurelyFree) {
  constexpr double kRest = 3e-3;
  const double all = AvailableCores() * kRest;
  const ShortTurns::Rest full = {.asked = kRest, .took = kRest, .used = all};
  const ShortTurns::Rest free = {.asked = kRest, .took = kRest, .used = all - 0.9 * kRest};
  ShortTurns turns(kRest);
  const auto are_short = [&] {
    return turns.TurnSeconds() == 0.2e-3 && turns.RestSeconds() == kRest;
  };
  EXPECT_TRUE(are_short());
  for (int i = 0; i < 3; ++i) turns.LearnFrom(free);
  EXPECT_TRUE(are_short());
  turns.LearnFrom(free);
  EXPECT_EQ(turns.TurnSeconds(), 2e-3);
  EXPECT_EQ(turns.RestSeconds(), ShortTurns::kShortRest);
  turns.LearnFrom(full);
  EXPECT_TRUE(are_short());
  turns.LearnFrom(free);
  EXPECT_TRUE(are_short());
}

// As many threads as there are processors. Other programs may want these, too, so that a rest may
// show nothing: it is enough if one does.
class BesideBusyThreads : public testing::Test {
 protected:
  BesideBusyThreads() {
    for (int i = 0; i < AvailableCores(); ++i) {
      threads_.emplace_back([this] {
        while (!stop_) continue;
      });
    }
  }
  ~BesideBusyThreads() override {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  bool HasTime() const { return time_.Seconds() < 10; }

 private:
  std::atomic<bool> stop_ = false;
  std::vector<std::thread> threads_;
  const Stopwatch time_;
};

TEST_F(BesideBusyThreads, ARestSaysWhatTheOtherThreadsOfTheProcessUsed) {
  ShortTurns::Rest rest;
  do {
    rest = ShortTurns::Sleep(5e-3);
  } while (rest.used < 0.1 * rest.took && HasTime());
  EXPECT_GE(rest.used, 0.1 * rest.took);
  EXPECT_EQ(rest.asked, 5e-3);
  EXPECT_GE(rest.took, rest.asked);
}

TEST_F(BesideBusyThreads, LongTurnsBecomeShort) {
  ShortTurns turns;
  const double wanted = turns.TurnSeconds();
  for (int i = 0; i < 4; ++i) turns.LearnFrom({.asked = 1e-3, .took = 1e-3, .used = 0});
  EXPECT_GT(turns.TurnSeconds(), wanted);
  while (turns.TurnSeconds() > wanted && HasTime()) turns.MayRest();
  EXPECT_EQ(turns.TurnSeconds(), wanted);
}

}  // namespace
}  // namespace skald
