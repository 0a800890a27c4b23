#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <thread>
#include <vector>

namespace skald {
namespace {

TEST(ThreadPool, RunsEveryUnitExactlyOnceOnEveryPoolSize) {
  for (const int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.thread_count(), threads);
    pool.Note(threads % 2 == 0 ? Others::kWait : Others::kNone);
    for (const int64_t units : {0, 1, 2, 3, 7, 64, 1000}) {
      std::vector<int> runs(static_cast<size_t>(units));  // disjoint: no atomics needed
      pool.Run(units, [&](int64_t unit, int) { ++runs[static_cast<size_t>(unit)]; });
      EXPECT_EQ(runs, std::vector<int>(static_cast<size_t>(units), 1)) << threads << " " << units;
    }
  }
}

TEST(ThreadPool, WorkerNumbersAreInRangeAndNeverUsedByTwoAtOnce) {
  ThreadPool pool(4);
  std::vector<std::atomic<int>> inside(4);
  std::atomic<int> faults = 0;
  pool.Run(2000, [&](int64_t, int worker) {
    if (worker < 0 || worker >= 4) {
      ++faults;
      return;
    }
    if (inside[static_cast<size_t>(worker)].fetch_add(1) != 0) ++faults;
    inside[static_cast<size_t>(worker)].fetch_sub(1);
  });
  EXPECT_EQ(faults, 0);
}

TEST(ThreadPool, OneLoopSeesWhatTheLoopBeforeWrote) {
  ThreadPool pool(3);
  std::vector<int64_t> values(100, 0);
  constexpr int kLoops = 2000;
  for (int loop = 0; loop < kLoops; ++loop) {
    // Each unit reads what another unit, maybe on another worker, wrote one loop earlier.
    std::vector<int64_t> next(values.size());
    pool.Run(100, [&](int64_t unit, int) {
      next[static_cast<size_t>(unit)] = values[static_cast<size_t>((unit + 1) % 100)] + 1;
    });
    values = next;
  }
  EXPECT_EQ(values, std::vector<int64_t>(100, kLoops));
}

TEST(ThreadPool, SaysThatItGetsOn) {
  for (const int threads : {1, 2}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.progress(), 0u);
    // A unit of the other thread waits for one of the caller's, so that there is one.
    std::atomic<bool> called = false;
    pool.Run(2, [&](int64_t, int worker) {
      if (worker == 0) called = true;
      while (!called) std::this_thread::yield();
    });
    EXPECT_GE(pool.progress(), 1u);
  }
}

TEST(ThreadPool, WakesUpAfterItsWorkersWentToSleep) {
  ThreadPool pool(2);
  for (int round = 0; round < 3; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // far longer than they spin
    std::atomic<int> count = 0;
    pool.Run(10, [&](int64_t, int) { ++count; });
    EXPECT_EQ(count, 10);
  }
}

TEST(ThreadPool, IdlePoolUsesNoCpu) {
  ThreadPool pool(4);
  pool.Run(100, [](int64_t, int) {});
  // On a busy machine it may take a while until the workers could end their spinning; three that
  // never do use 300 ms and more in each round, or what the machine gives them.
  double least_cpu_ms = 1e9;
  for (int round = 0; round < 20 && least_cpu_ms >= 5; ++round) {
    const std::clock_t before = std::clock();  // CPU time of all threads
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    const auto used = static_cast<double>(std::clock() - before);
    least_cpu_ms = std::min(least_cpu_ms, 1000 * used / CLOCKS_PER_SEC);
  }
  EXPECT_LT(least_cpu_ms, 5);
}

TEST(AvailableCores, IsAtLeastOneAndWithinTheLimit) {
  EXPECT_GE(AvailableCores(), 1);
  EXPECT_LE(AvailableCores(), ThreadPool::kMaxThreads);
}

}  // namespace
}  // namespace skald
