#include "server/work_pool.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <latch>
#include <thread>

#include "support/soon.h"

namespace skald::server {
namespace {

constexpr int64_t kLong = WorkQueue::kShortBytes + 1;

WorkPiece Piece(TenantId tenant, int64_t cost, std::function<void(const WorkLimit&)> run) {
  return {.tenant = tenant, .cost_bytes = cost, .run = std::move(run)};
}

TEST(WorkPool, RunsAShortPieceWhileLongOnesHoldTheirThreads) {
  std::latch running(2);
  std::latch let_go(1);
  std::latch done(1);
  WorkPool pool({.short_threads = 1, .long_threads = 2});  // ends first: its pieces use the latches
  std::vector<QueuedWork> works;
  for (int i = 0; i < 6; ++i) {
    works.push_back(*pool.TryAdd(Piece(0, kLong, [&](const WorkLimit&) {
      if (!running.try_wait()) running.count_down();
      let_go.wait();
    })));
  }
  running.wait();
  works.push_back(*pool.TryAdd(Piece(0, 100, [&](const WorkLimit&) { done.count_down(); })));
  done.wait();
  EXPECT_EQ(pool.waiting(), 4);
  let_go.count_down();
}

// The threads of the engine and that of the connections have the processors first.
TEST(WorkPool, GivesWayWithLongPiecesOnly) {
  struct Seen {
    int niceness = 0;
    int policy = 0;
  };
  const auto look = [] {
    return Seen{.niceness = getpriority(PRIO_PROCESS, 0), .policy = sched_getscheduler(0)};
  };
  const Seen here = look();
  std::array<Seen, 2> seen{};
  std::latch done(2);
  WorkPool pool({.short_threads = 1, .long_threads = 1});  // ends first: its pieces use both
  std::vector<QueuedWork> works;
  for (const size_t i : {0U, 1U}) {
    works.push_back(*pool.TryAdd(Piece(0, i == 0 ? 100 : kLong, [&, i](const WorkLimit&) {
      seen[i] = look();
      done.count_down();
    })));
  }
  done.wait();
  EXPECT_EQ(seen[0].niceness, here.niceness);
  EXPECT_EQ(seen[0].policy, here.policy);
  EXPECT_EQ(seen[1].niceness, std::min(here.niceness + 10, 19));
  EXPECT_EQ(seen[1].policy, here.policy == SCHED_OTHER ? SCHED_BATCH : here.policy);
}

TEST(WorkPool, TakesBackWhatNobodyWaitsFor) {
  std::atomic<int> ran = 0;
  std::latch let_go(1);
  {
    std::latch running(1);
    WorkPool pool({.short_threads = 1, .long_threads = 1});
    const QueuedWork first = *pool.TryAdd(Piece(0, kLong, [&](const WorkLimit&) {
      running.count_down();
      let_go.wait();
    }));
    running.wait();
    QueuedWork gone = *pool.TryAdd(Piece(0, kLong, [&](const WorkLimit&) { ++ran; }));
    QueuedWork kept = *pool.TryAdd(Piece(0, kLong, [&](const WorkLimit&) { ++ran; }));
    gone = {};
    EXPECT_EQ(pool.waiting(), 1);
    let_go.count_down();
    EXPECT_TRUE(Soon([&] { return ran == 1; }));
  }
  EXPECT_EQ(ran, 1);
}

TEST(WorkPool, RefusesWhatIsTooMany) {
  std::latch let_go(1);
  std::latch running(1);
  WorkPool pool({.short_threads = 1,
                 .long_threads = 1,
                 .most_waiting = 4});  // ends first: its pieces use the latches
  std::vector<QueuedWork> works;
  works.push_back(*pool.TryAdd(Piece(0, kLong, [&](const WorkLimit&) {
    running.count_down();
    let_go.wait();
  })));
  running.wait();
  const auto nothing = [](const WorkLimit&) {};
  for (int i = 0; i < 2; ++i) works.push_back(*pool.TryAdd(Piece(0, kLong, nothing)));
  EXPECT_FALSE(pool.TryAdd(Piece(0, kLong, nothing)));
  EXPECT_TRUE(pool.TryAdd(Piece(1, kLong, nothing)));
  works.push_back(pool.Add(Piece(0, kLong, nothing)));  // the end of what was let in
  let_go.count_down();
}

TEST(WorkPool, TellsAPieceThatItsTimeIsUpAndSeesOneThatGoesOn) {
  std::atomic<bool> told = false;
  std::atomic<bool> let_go = false;
  WorkPool pool({.short_threads = 1,
                 .long_threads = 1,
                 .cpu_seconds = 0.02});  // ends first: its piece uses both
  const QueuedWork work = *pool.TryAdd(Piece(0, kLong, [&](const WorkLimit& limit) {
    while (!let_go) told = limit.IsOver();
  }));
  EXPECT_TRUE(Soon([&] { return pool.OverdueSeconds() > 0.05; }));
  EXPECT_TRUE(told);
  let_go = true;
  EXPECT_TRUE(Soon([&] { return pool.OverdueSeconds() == 0; }));
}

TEST(WorkPool, TellsWhatRunsThatItEnds) {
  std::latch running(1);
  WorkPool pool({.short_threads = 1, .long_threads = 1});
  const QueuedWork work = *pool.TryAdd(Piece(0, kLong, [&](const WorkLimit& limit) {
    running.count_down();
    while (!limit.IsOver()) std::this_thread::yield();
  }));
  running.wait();
}

TEST(WorkPool, TellsWhatRunsThatNobodyWaitsForIt) {
  std::atomic<bool> let_go = false;
  std::atomic<int> told = 0;
  std::latch running(1);
  std::latch both(2);
  std::latch beside_ran(1);
  std::atomic<bool> beside_told = false;
  WorkPool pool({.short_threads = 1, .long_threads = 1});
  const QueuedWork beside = *pool.TryAdd(Piece(0, 100, [&](const WorkLimit& limit) {
    while (told == 0 && !let_go) std::this_thread::yield();
    beside_told = limit.IsOver();
    beside_ran.count_down();
  }));
  {
    const QueuedWork gone = *pool.TryAdd(Piece(0, kLong, [&](const WorkLimit& limit) {
      running.count_down();
      while (!limit.IsOver() && !let_go) std::this_thread::yield();
      told += limit.IsOver() ? 1 : 0;
      both.count_down();
    }));
    running.wait();
  }
  // The same thread takes the next, which is wanted.
  const QueuedWork kept = *pool.TryAdd(Piece(0, kLong, [&](const WorkLimit& limit) {
    told += limit.IsOver() ? 1 : 0;
    both.count_down();
  }));
  EXPECT_TRUE(Soon([&] { return both.try_wait(); }));
  let_go = true;
  both.wait();
  beside_ran.wait();
  EXPECT_EQ(told, 1);
  EXPECT_FALSE(beside_told) << "somebody waits for this one";
}

// Handles stand in events that nobody takes any more.
TEST(WorkPool, MayEndBeforeItsHandles) {
  QueuedWork work;
  {
    WorkPool pool({.short_threads = 1, .long_threads = 1});
    work = *pool.TryAdd(Piece(0, 1, [](const WorkLimit&) {}));
  }
  work = {};
}

}  // namespace
}  // namespace skald::server
