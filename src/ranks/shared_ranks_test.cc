#include "ranks/shared_ranks.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

#include "base/stopwatch.h"

namespace skald::ranks {
namespace {

constexpr int kRanks = 3;
constexpr int64_t kWidth = 11;
constexpr int64_t kStride = 13;
constexpr int64_t kFirst[kRanks + 1] = {0, 8, 8, kWidth};

float Value(int round, int64_t row, int64_t column) {
  return static_cast<float>(round * 10'000 + row * 100 + column);
}

// Wrong floats of a rank after some rounds; up to 20 rows, which no block holds at once.
int WrongOf(SharedRanks& ranks, int rank) {
  auto end = ranks.end(rank);
  int wrong = 0;
  for (int round = 0; round < 50; ++round) {
    std::vector<float> rows(20 * kStride, -1);
    const int64_t count = 1 + (round * 7) % 20;
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t c = kFirst[rank]; c < kFirst[rank + 1]; ++c) {
        rows[static_cast<size_t>(i * kStride + c)] = Value(round, i, c);
      }
    }
    const bool to_first = round % 5 == 4;
    const Columns own = {rows.data(), kStride, count, kFirst[rank],
                         kFirst[rank + 1] - kFirst[rank]};
    if (to_first) end.GatherToFirst(own);
    if (!to_first) end.Gather(own);
    // To the first alone: the others keep what they have, and no more.
    const bool whole = rank == 0 || !to_first;
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t c = 0; c < kStride; ++c) {
        const bool known = whole ? c < kWidth : c >= kFirst[rank] && c < kFirst[rank + 1];
        wrong += rows[static_cast<size_t>(i * kStride + c)] != (known ? Value(round, i, c) : -1);
      }
    }
  }
  return wrong;
}

SharedRanks Make(double patience) {
  Result<SharedRanks> ranks =
      SharedRanks::Create({.count = kRanks, .row_floats = kWidth, .patience_seconds = patience});
  EXPECT_TRUE(ranks.ok());
  return *std::move(ranks);
}

TEST(SharedRanks, GatherAllColumnsOfAllRows) {
  SharedRanks ranks = Make(60);
  std::vector<pid_t> children;
  for (int rank = 1; rank < kRanks; ++rank) {
    const pid_t child = fork();
    if (child == 0) _exit(WrongOf(ranks, rank) == 0 && !ranks.lost() ? 0 : 1);
    children.push_back(child);
  }
  EXPECT_EQ(WrongOf(ranks, 0), 0);
  EXPECT_FALSE(ranks.lost());
  for (const pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
}

// Ranks that never come: the wait has an end, and every call after it returns at once.
TEST(SharedRanks, AreLostWhenOneDoesNotCome) {
  SharedRanks ranks = Make(0.2);
  std::vector<float> row(kStride);
  auto end = ranks.end(0);
  const Stopwatch watch;
  for (int i = 0; i < 100; ++i) end.Gather({row.data(), kStride, 1, 0, 8});
  EXPECT_TRUE(ranks.lost());
  EXPECT_GE(watch.Seconds(), 0.2);
  EXPECT_LT(watch.Seconds(), 5);
}

// Who sees that a process is gone wakes those that wait for it.
TEST(SharedRanks, AreLostAtOnceWhenSomebodySaysSo) {
  SharedRanks ranks = Make(60);
  const pid_t child = fork();
  if (child == 0) {
    std::vector<float> row(kStride);
    ranks.end(1).Gather({row.data(), kStride, 1, 8, 0});
    _exit(ranks.lost() ? 0 : 1);
  }
  usleep(50'000);
  const Stopwatch watch;
  ranks.Break();
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_LT(watch.Seconds(), 10);
}

}  // namespace
}  // namespace skald::ranks
