#include "server/work_queue.h"

#include <gtest/gtest.h>

#include <string>

namespace skald::server {
namespace {

constexpr int64_t kMega = int64_t{1} << 20;
using Lane = WorkQueue::Lane;

WorkQueue::Ticket Push(WorkQueue& queue, TenantId tenant, int64_t cost) {
  return queue.Push({.tenant = tenant, .cost_bytes = cost, .run = nullptr});
}

// "1:100 2:50": tenant and cost of the next `count` pieces.
std::string Next(WorkQueue& queue, int count, Lane lane = Lane::kShort) {
  std::string order;
  for (int i = 0; i < count; ++i) {
    const auto piece = queue.Pop(lane);
    if (!piece) return order + "-";
    order += std::to_string(piece->tenant) + ":" + std::to_string(piece->cost_bytes) + " ";
  }
  return order;
}

TEST(WorkQueue, GivesWhatCame) {
  WorkQueue queue(10);
  EXPECT_EQ(Next(queue, 1), "-");
  Push(queue, 3, 7);
  EXPECT_EQ(queue.size(), 1);
  EXPECT_EQ(queue.size_of(3), 1);
  EXPECT_EQ(queue.size_of(4), 0);
  EXPECT_EQ(Next(queue, 2), "3:7 -");
  EXPECT_EQ(queue.size(), 0);
}

TEST(WorkQueue, ServesPiecesOfOneCostInTheirOrder) {
  WorkQueue queue(10);
  std::vector<WorkQueue::Ticket> tickets;
  for (int i = 0; i < 5; ++i) tickets.push_back(Push(queue, 0, 100));
  queue.Remove(tickets[2]);
  EXPECT_FALSE(queue.Remove(tickets[2]));
  EXPECT_EQ(Next(queue, 5), "0:100 0:100 0:100 0:100 -");
}

TEST(WorkQueue, KeepsShortPiecesFromLongOnes) {
  WorkQueue queue(10);
  Push(queue, 0, 8 * kMega);
  EXPECT_EQ(Next(queue, 1, Lane::kShort), "-");
  Push(queue, 0, WorkQueue::kShortBytes);
  Push(queue, 0, WorkQueue::kShortBytes + 1);
  EXPECT_EQ(Next(queue, 2, Lane::kShort), "0:65536 -");
  EXPECT_EQ(Next(queue, 3, Lane::kLong), "0:65537 0:8388608 -");
}

TEST(WorkQueue, IsNotHeldUpByTheSixLongPiecesOfAnother) {
  WorkQueue queue(100);
  for (int i = 0; i < 6; ++i) Push(queue, 1, 8 * kMega);
  Push(queue, 2, kMega);
  const std::string order = Next(queue, 7, Lane::kLong);
  EXPECT_TRUE(order.starts_with("2:1048576 ")) << order;
}

// Shares of bytes, not of pieces: who cuts its work into small pieces gains nothing.
TEST(WorkQueue, GivesTenantsTheSameBytes) {
  WorkQueue queue(10'000);
  for (int i = 0; i < 8; ++i) Push(queue, 1, 4 * kMega);
  for (int i = 0; i < 300; ++i) Push(queue, 2, 128 << 10);
  for (int i = 0; i < 40; ++i) Push(queue, 3, kMega);
  std::array<int64_t, 4> given{};
  while (queue.size_of(1) > 0 && queue.size_of(2) > 0 && queue.size_of(3) > 0) {
    const auto piece = queue.Pop(Lane::kLong);
    given[static_cast<size_t>(piece->tenant)] += piece->cost_bytes;
    // Deficit round robin: apart by at most a piece and a quantum, each way.
    for (const size_t a : {1U, 2U, 3U}) {
      for (const size_t b : {1U, 2U, 3U})
        EXPECT_LE(given[a] - given[b], 2 * (4 * kMega + WorkQueue::kQuantum));
    }
  }
}

TEST(WorkQueue, GivesTenantsBytesByTheirShares) {
  WorkQueue queue(10'000);
  for (int i = 0; i < 400; ++i) {
    for (const TenantId tenant : {1, 2}) {
      queue.Push(
          {.tenant = tenant, .cost_bytes = kMega, .share = tenant == 2 ? 3 : 1, .run = nullptr});
    }
  }
  std::array<int, 3> given{};
  for (int i = 0; i < 400; ++i) ++given[static_cast<size_t>(queue.Pop(Lane::kLong)->tenant)];
  EXPECT_NEAR(given[1], 100, 2);
  EXPECT_NEAR(given[2], 300, 2);
}

// The bound of the header: later pieces of the same tenant overtake for the piece's own cost.
TEST(WorkQueue, OvertakesALongPieceForItsOwnCostAtMost) {
  WorkQueue queue(10'000);
  Push(queue, 1, 2 * kMega);
  int64_t overtaken = 0;
  for (int i = 0; i < 1000; ++i) {
    Push(queue, 1, 100 << 10);
    const int64_t cost = queue.Pop(Lane::kLong)->cost_bytes;
    if (cost == 2 * kMega) break;
    overtaken += cost;
  }
  EXPECT_GE(overtaken, kMega);
  EXPECT_LE(overtaken, 2 * kMega);
}

TEST(WorkQueue, IsFullForOneTenantWithPlacesLeftForOthers) {
  WorkQueue queue(8);
  int taken = 0;
  for (; queue.HasRoom(1); ++taken) Push(queue, 1, 1);
  EXPECT_EQ(taken, 4);
  EXPECT_TRUE(queue.HasRoom(2));
  for (taken = 0; queue.HasRoom(2); ++taken) Push(queue, 2, 100'000);
  EXPECT_EQ(taken, 2);
  EXPECT_TRUE(queue.HasRoom(3));
}

TEST(WorkQueue, ForgetsATenantWithoutWork) {
  WorkQueue queue(100);
  for (TenantId tenant = 0; tenant < 20; ++tenant) Push(queue, tenant, kMega);
  EXPECT_EQ(queue.size(), 20);
  Next(queue, 20, Lane::kLong);
  // A newcomer owes nothing for what its namesake had.
  Push(queue, 1, kMega);
  Push(queue, 1, 2 * kMega);
  EXPECT_EQ(Next(queue, 3, Lane::kLong), "1:1048576 1:2097152 -");
}

}  // namespace
}  // namespace skald::server
