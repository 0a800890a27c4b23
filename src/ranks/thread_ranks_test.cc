#include "ranks/thread_ranks.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace skald::ranks {
namespace {

constexpr int64_t kWidth = 11;
constexpr int64_t kStride = 13;

// What rank r computes of a row: no two are equal.
float Value(int round, int64_t row, int64_t column) {
  return static_cast<float>(round * 10'000 + row * 100 + column);
}

// Ranks of 0, 1 and several columns each, some rounds one behind the other: what comes out is whole
// rows, also where a rank is far ahead.
TEST(ThreadRanks, GatherAllColumnsOfAllRows) {
  constexpr int kRanks = 4;
  constexpr int64_t kFirst[kRanks + 1] = {0, 5, 5, 10, kWidth};
  ThreadRanks ranks(kRanks);
  std::vector<int> wrong(kRanks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank) {
    threads.emplace_back([&, rank] {
      std::vector<float> rows(3 * kStride, -1);
      for (int round = 0; round < 50; ++round) {
        const int64_t count = 1 + round % 3;
        for (int64_t i = 0; i < count; ++i) {
          for (int64_t c = kFirst[rank]; c < kFirst[rank + 1]; ++c) {
            rows[static_cast<size_t>(i * kStride + c)] = Value(round, i, c);
          }
        }
        const bool to_first = round % 5 == 4;
        const Columns own = {rows.data(), kStride, count, kFirst[rank],
                             kFirst[rank + 1] - kFirst[rank]};
        if (to_first) {
          ranks.end(rank).GatherToFirst(own);
        } else {
          ranks.end(rank).Gather(own);
        }
        for (int64_t i = 0; i < count && (rank == 0 || !to_first); ++i) {
          for (int64_t c = 0; c < kStride; ++c) {
            const float expected = c < kWidth ? Value(round, i, c) : -1;
            wrong[static_cast<size_t>(rank)] +=
                rows[static_cast<size_t>(i * kStride + c)] != expected;
          }
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(kRanks));
}

}  // namespace
}  // namespace skald::ranks
