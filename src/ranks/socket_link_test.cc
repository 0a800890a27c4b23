#include "ranks/socket_link.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <memory>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "base/stopwatch.h"
#include "ranks/exchange_for_test.h"
#include "ranks/socket_pair_for_test.h"

namespace skald::ranks {
namespace {

constexpr int kRanks = Shape::kRanks;
// More than a socket holds, from every rank at once.
constexpr Shape kWide = {{0, 400'000, 800'001, 1'200'000}, 2, 6};

using Links = std::vector<std::unique_ptr<SocketLink>>;

Links MakeLinks(int count) {
  std::vector<SocketLink::Sockets> sockets;
  for (int rank = 0; rank < count; ++rank) sockets.emplace_back(count);
  for (size_t i = 0; i < sockets.size(); ++i) {
    for (size_t j = i + 1; j < sockets.size(); ++j) {
      std::tie(sockets[i].floats[j], sockets[j].floats[i]) = SocketPair();
      if (i > 0) continue;
      std::tie(sockets[i].pulses[j], sockets[j].pulses[i]) = SocketPair();
    }
  }
  Links links;
  for (int rank = 0; rank < count; ++rank) {
    links.push_back(
        std::make_unique<SocketLink>(std::move(sockets[static_cast<size_t>(rank)]), rank));
  }
  return links;
}

class SocketLinkOfShape : public testing::TestWithParam<Shape> {};

TEST_P(SocketLinkOfShape, GathersAllColumnsOfAllRows) {
  const Links links = MakeLinks(kRanks);
  std::vector<std::thread> threads;
  std::array<int, kRanks> wrong = {-1, -1, -1};
  for (size_t rank = 0; rank < kRanks; ++rank) {
    threads.emplace_back([&, rank] {
      wrong[rank] = WrongFloats(GetParam(), static_cast<int>(rank), &links[rank]->exchange());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, (std::array<int, kRanks>{0, 0, 0}));
  for (const auto& link : links) EXPECT_FALSE(link->lost());
}

INSTANTIATE_TEST_SUITE_P(All, SocketLinkOfShape, testing::Values(kNarrow, kWide));

// Columns that do not stand together, as those of some heads of states.
TEST(SocketLink, GathersRunsOfColumns) {
  const Links links = MakeLinks(2);
  const auto gathered = [&](size_t rank) {
    std::vector<float> row(12, -1);
    const auto first = static_cast<int64_t>(2 * rank);
    for (int64_t column = 0; column < 12; ++column) {
      if (column % 4 / 2 == first / 2) {
        row[static_cast<size_t>(column)] = static_cast<float>(column);
      }
    }
    links[rank]->exchange().Gather({.rows = row.data(),
                                    .stride = 12,
                                    .row_count = 1,
                                    .first = first,
                                    .count = 2,
                                    .runs = 3,
                                    .run_stride = 4});
    return row;
  };
  const std::vector<float> expected = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  std::vector<float> other;
  std::thread thread([&] { other = gathered(1); });
  EXPECT_EQ(gathered(0), expected);
  thread.join();
  EXPECT_EQ(other, expected);
}

TEST(SocketLink, CountsTheBeatsOfOthers) {
  const Links links = MakeLinks(kRanks);
  EXPECT_EQ(links[0]->beats(1), 0u);
  links[1]->Beat();
  links[0]->Beat();
  EXPECT_EQ(links[0]->beats(1), 1u);
  EXPECT_EQ(links[0]->beats(2), 0u);
  EXPECT_EQ(links[1]->beats(0), 1u);
  EXPECT_EQ(links[2]->beats(0), 1u);
  // Nobody reads them: the sender goes on.
  for (int i = 0; i < 100'000; ++i) links[2]->Beat();
  EXPECT_GT(links[0]->beats(2), 100u);
}

// Who sees that a rank is gone ends the waits of all; every later call returns at once.
TEST(SocketLink, IsLostForAllWhenOneBreaksIt) {
  const Links links = MakeLinks(kRanks);
  const auto wait = [&](size_t rank) {
    std::vector<float> row(8);
    for (int i = 0; i < 100; ++i) links[rank]->exchange().Gather({row.data(), 8, 1, 0, 1});
  };
  std::thread waits(wait, 1);
  usleep(50'000);
  const Stopwatch watch;
  links[2]->Break();
  waits.join();
  EXPECT_LT(watch.Seconds(), 0.9);  // a wait that nobody ends looks up once a second
  EXPECT_TRUE(links[1]->lost());
  wait(0);
  EXPECT_TRUE(links[0]->lost());
}

// The bytes in front of what a rank gives, as socket_link.cc has them.
struct Head {
  char magic[4] = {'S', 'K', 'F', '1'};
  uint32_t round = 0;
  int64_t row_count = 1;
  int64_t first = 2;
  int64_t count = 2;
  int64_t runs = 1;
  int64_t run_stride = 0;
};

// Whether the group outlives a rank that gives so many floats behind such a head, and that nothing
// is written but within the row.
bool Outlives(const Head& head, size_t floats) {
  auto [here, there] = SocketPair();
  SocketLink::Sockets sockets(2);
  sockets.floats[1] = std::move(here);
  SocketLink link(std::move(sockets), 0);
  std::vector<std::byte> said(sizeof(head) + floats * sizeof(float));
  std::memcpy(said.data(), &head, sizeof(head));
  EXPECT_EQ(write(there.descriptor(), said.data(), said.size()), std::ssize(said));
  std::vector<float> rows(24, 7);
  link.exchange().Gather(
      {.rows = rows.data() + 8, .stride = 8, .row_count = 1, .first = 0, .count = 2});
  for (size_t i = 0; i < rows.size(); ++i) {
    const bool outside = i < 8 || i >= 16;
    EXPECT_TRUE(!outside || rows[i] == 7) << i;
  }
  return !link.lost();
}

TEST(SocketLink, BelievesNothing) {
  EXPECT_TRUE(Outlives({}, 2));
  EXPECT_TRUE(Outlives({.count = 0}, 0));
  EXPECT_TRUE(Outlives({.count = 2, .runs = 3, .run_stride = 2}, 6));
  EXPECT_FALSE(Outlives({.magic = {'S', 'K', 'F', '2'}}, 2));
  EXPECT_FALSE(Outlives({.round = 1}, 2));
  EXPECT_FALSE(Outlives({.row_count = 2}, 4));
  constexpr int64_t kLarge = int64_t{1} << 62;
  for (const int64_t wrong : {int64_t{-1}, int64_t{7}, int64_t{9}, kLarge, -kLarge}) {
    EXPECT_FALSE(Outlives({.first = wrong}, 2)) << wrong;
    EXPECT_FALSE(Outlives({.count = wrong}, 2)) << wrong;
    EXPECT_FALSE(Outlives({.runs = wrong}, 2)) << wrong;
    EXPECT_FALSE(Outlives({.runs = 2, .run_stride = wrong}, 4)) << wrong;
  }
  EXPECT_FALSE(Outlives({.runs = 0}, 0));
  // Overlapping runs would be more floats than a row has.
  EXPECT_FALSE(Outlives({.first = 0, .count = 8, .runs = 8, .run_stride = 0}, 64));
}

}  // namespace
}  // namespace skald::ranks
