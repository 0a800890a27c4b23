#include "ranks/shared_ranks.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

#include "base/stopwatch.h"
#include "ranks/exchange_for_test.h"

namespace skald::ranks {
namespace {

constexpr int kRanks = Shape::kRanks;
constexpr Shape kWide = {
    {0, 1, SharedRanks::kBlockFloats + 7, 3 * SharedRanks::kBlockFloats}, 3, 6};

int WrongOf(const Shape& shape, int rank, SharedRanks& ranks) {
  auto end = ranks.end(rank);
  return WrongFloats(shape, rank, &end);
}

SharedRanks Make() {
  Result<SharedRanks> ranks = SharedRanks::Create(kRanks);
  EXPECT_TRUE(ranks.ok());
  return *std::move(ranks);
}

void ExpectEnd(pid_t child) {
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

class SharedRanksOfShape : public testing::TestWithParam<Shape> {};

TEST_P(SharedRanksOfShape, GatherAllColumnsOfAllRows) {
  SharedRanks ranks = Make();
  std::vector<pid_t> children;
  for (int rank = 1; rank < kRanks; ++rank) {
    const pid_t child = fork();
    if (child == 0) _exit(WrongOf(GetParam(), rank, ranks) == 0 && !ranks.lost() ? 0 : 1);
    children.push_back(child);
  }
  EXPECT_EQ(WrongOf(GetParam(), 0, ranks), 0);
  EXPECT_FALSE(ranks.lost());
  for (const pid_t child : children) ExpectEnd(child);
}

INSTANTIATE_TEST_SUITE_P(All, SharedRanksOfShape, testing::Values(kNarrow, kWide));

// Columns that do not stand together, as those of some heads of states.
TEST(SharedRanks, GatherRunsOfColumns) {
  Result<SharedRanks> ranks = SharedRanks::Create(2);
  ASSERT_TRUE(ranks.ok());
  const auto gathered = [&](int rank) {
    std::vector<float> row(12, -1);
    for (int64_t run = 0; run < 3; ++run) {
      for (int64_t i = 0; i < 2; ++i) {
        const int64_t column = run * 4 + rank * 2 + i;
        row[static_cast<size_t>(column)] = static_cast<float>(column);
      }
    }
    ranks->end(rank).Gather({.rows = row.data(),
                             .stride = 12,
                             .row_count = 1,
                             .first = rank * 2,
                             .count = 2,
                             .runs = 3,
                             .run_stride = 4});
    return row;
  };
  const std::vector<float> expected = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  const pid_t child = fork();
  if (child == 0) _exit(gathered(1) == expected ? 0 : 1);
  EXPECT_EQ(gathered(0), expected);
  ExpectEnd(child);
}

// A process that was started anew has the descriptor alone.
TEST(SharedRanks, AreTheSameBehindTheDescriptor) {
  const SharedRanks ranks = Make();
  Result<SharedRanks> again = SharedRanks::Open(dup(ranks.descriptor()));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->count(), kRanks);
  EXPECT_EQ(ranks.beats(1), 0u);
  again->Beat(1);
  EXPECT_EQ(ranks.beats(1), 1u);
  EXPECT_EQ(ranks.beats(2), 0u);
  again->Break();
  EXPECT_TRUE(ranks.lost());
  for (const char* other : {"/dev/null", "/proc/self/exe"}) {
    const Result<SharedRanks> none = SharedRanks::Open(::open(other, O_RDONLY | O_CLOEXEC));
    EXPECT_EQ(none.status().code(), ErrorCode::kInvalidArgument) << other;
  }
  // Nobody can take the memory from under the others.
  EXPECT_NE(ftruncate(ranks.descriptor(), 0), 0);
}

// Who sees that a process is gone wakes those that wait for it; every later call returns at once.
TEST(SharedRanks, AreLostAtOnceWhenSomebodySaysSo) {
  SharedRanks ranks = Make();
  const pid_t child = fork();
  if (child == 0) {
    std::vector<float> row(kNarrow.stride());
    auto end = ranks.end(1);
    for (int i = 0; i < 100; ++i) end.Gather({row.data(), kNarrow.stride(), 1, 8, 0});
    _exit(ranks.lost() ? 0 : 1);
  }
  usleep(50'000);
  const Stopwatch watch;
  ranks.Break();
  ExpectEnd(child);
  EXPECT_LT(watch.Seconds(), 0.9);  // a sleep without a wake-up takes a second
}

}  // namespace
}  // namespace skald::ranks
