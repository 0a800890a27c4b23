#include "kv/page_table.h"

#include <gtest/gtest.h>

#include <optional>
#include <utility>
#include <vector>

namespace skald::kv {
namespace {

TEST(PageTable, ReservesWholePagesAndGivesThemBack) {
  PagePool pool(4);
  {
    PageTable table(&pool, 128);
    EXPECT_TRUE(table.Reserve(0));
    EXPECT_EQ(table.pages().size(), 0u);
    EXPECT_TRUE(table.Reserve(1));
    EXPECT_EQ(table.pages().size(), 1u);
    EXPECT_TRUE(table.Reserve(32));
    EXPECT_EQ(table.pages().size(), 1u);
    EXPECT_TRUE(table.Reserve(33));
    EXPECT_EQ(table.pages().size(), 2u);
    table.Truncate(32);
    EXPECT_EQ(table.pages().size(), 1u);
    EXPECT_EQ(pool.free_count(), 3);
  }
  EXPECT_EQ(pool.free_count(), 4);
}

TEST(PageTable, RefusesWithoutTakingAnythingWhenThePoolIsTooSmall) {
  PagePool pool(2);
  PageTable table(&pool, 320);
  ASSERT_TRUE(table.Reserve(10));
  EXPECT_FALSE(table.Reserve(97));
  EXPECT_EQ(table.pages().size(), 1u);
  EXPECT_EQ(pool.free_count(), 1);
  EXPECT_TRUE(table.Reserve(64));
}

TEST(PageTable, MovedFromTableHoldsNothing) {
  PagePool pool(2);
  PageTable first(&pool, 64);
  ASSERT_TRUE(first.Reserve(64));
  PageTable second = std::move(first);
  EXPECT_EQ(pool.free_count(), 0);
  second.Truncate(0);
  EXPECT_EQ(pool.free_count(), 2);
}

TEST(PageTable, MovesKeepOwnershipAndWhatOthersSee) {
  PagePool pool(4);
  std::vector<PageCopy> copies;
  PageTable parent(&pool, 64);
  ASSERT_TRUE(parent.PrepareWrite(0, 40, &copies));
  PageTable child = parent.Fork(40);
  EXPECT_EQ(parent.shared_positions(), 40);
  EXPECT_EQ(child.shared_positions(), 40);
  PageTable moved = std::move(child);
  EXPECT_EQ(moved.shared_positions(), 40);
  EXPECT_FALSE(moved.OwnsPage(1));
  EXPECT_EQ(child.shared_positions(), 0);
  std::swap(moved, parent);
  EXPECT_TRUE(moved.OwnsPage(1));
  EXPECT_FALSE(parent.OwnsPage(1));
  PageTable empty(&pool, 64);
  empty = std::move(moved);
  EXPECT_EQ(empty.shared_positions(), 40);
}

// A table of `positions` positions of its own.
PageTable Filled(PagePool* pool, int64_t positions) {
  PageTable table(pool, 128);
  std::vector<PageCopy> copies;
  EXPECT_TRUE(table.PrepareWrite(0, positions, &copies));
  EXPECT_TRUE(copies.empty());
  return table;
}

TEST(PageTable, ForkCopiesTheSharedPartOfThePageItWritesAndNothingElse) {
  for (const int64_t shared : {0, 1, 31, 32, 33, 63, 64}) {
    PagePool pool(8);
    PageTable parent = Filled(&pool, shared);
    PageTable child = parent.Fork(shared);
    const std::vector<PageId> before(parent.pages().begin(), parent.pages().end());
    std::vector<PageCopy> copies;
    ASSERT_TRUE(parent.PrepareWrite(shared, shared + 1, &copies));
    EXPECT_TRUE(copies.empty()) << "the owner writes on in place";
    ASSERT_TRUE(child.PrepareWrite(shared, shared + 1, &copies));
    if (shared % 32 == 0) {
      EXPECT_TRUE(copies.empty());
    } else {
      ASSERT_EQ(copies.size(), 1u);
      EXPECT_EQ(copies[0],
                (PageCopy{before.back(), child.pages().back(), static_cast<int>(shared % 32)}));
    }
    EXPECT_NE(child.pages().back(), parent.pages().back());
    EXPECT_EQ(pool.held_count(), shared / 32 + 2);
  }
}

TEST(PageTable, CopiesOnceAndOwnsTheCopy) {
  PagePool pool(4);
  PageTable parent = Filled(&pool, 10);
  PageTable child = parent.Fork(10);
  std::vector<PageCopy> copies;
  EXPECT_FALSE(child.OwnsPage(0));
  ASSERT_TRUE(child.PrepareWrite(10, 12, &copies));
  EXPECT_TRUE(child.OwnsPage(0));
  ASSERT_TRUE(child.PrepareWrite(12, 14, &copies));
  EXPECT_EQ(copies.size(), 1u);
}

TEST(PageTable, LastHolderOwnsThePageWithoutACopy) {
  PagePool pool(1);
  auto parent = std::make_optional<PageTable>(Filled(&pool, 10));
  PageTable child = parent->Fork(10);
  parent.reset();
  std::vector<PageCopy> copies;
  EXPECT_EQ(child.PagesToWrite(10, 12), 0);
  ASSERT_TRUE(child.PrepareWrite(10, 12, &copies));
  EXPECT_TRUE(copies.empty());
}

TEST(PageTable, RejectedPositionsAreWrittenAgainInPlace) {
  PagePool pool(4);
  PageTable table = Filled(&pool, 30);
  table.MarkShared(20);
  std::vector<PageCopy> copies;
  ASSERT_TRUE(table.PrepareWrite(30, 40, &copies));
  ASSERT_TRUE(table.PrepareWrite(22, 24, &copies));  // 22 to 39 were not what the model says
  EXPECT_TRUE(copies.empty());
  EXPECT_EQ(table.pages().size(), 1u);
}

TEST(PageTable, GoingBackBehindWhatOthersSeeGivesThePageUp) {
  PagePool pool(4);
  PageTable table = Filled(&pool, 20);
  const PageTable reader = table.Fork(20);
  std::vector<PageCopy> copies;
  EXPECT_EQ(table.PagesToWrite(12, 14), 1);
  ASSERT_TRUE(table.PrepareWrite(12, 14, &copies));
  ASSERT_EQ(copies.size(), 1u);
  EXPECT_EQ(copies[0], (PageCopy{reader.pages()[0], table.pages()[0], 12}));
  EXPECT_EQ(table.shared_positions(), 12);
  table.MarkShared(14);
  const PageTable second_reader = table.Fork(14);
  ASSERT_TRUE(table.PrepareWrite(14, 15, &copies));
  EXPECT_EQ(copies.size(), 1u) << "it owns the copy, and nothing of it is seen behind 14";
}

TEST(PageTable, OwnerThatGoesBackToAPageBorderOwnsNothingOfTheOldPage) {
  PagePool pool(4);
  PageTable table = Filled(&pool, 40);
  const PageTable reader = table.Fork(40);
  std::vector<PageCopy> copies;
  ASSERT_TRUE(table.PrepareWrite(32, 33, &copies));
  EXPECT_TRUE(copies.empty());
  EXPECT_EQ(table.pages()[0], reader.pages()[0]);
  EXPECT_NE(table.pages()[1], reader.pages()[1]);
}

TEST(PageTable, PrepareWriteChangesNothingWhenPagesAreMissing) {
  PagePool pool(2);
  PageTable parent = Filled(&pool, 10);
  PageTable child = parent.Fork(10);
  std::vector<PageCopy> copies;
  EXPECT_EQ(child.PagesToWrite(10, 33), 2);
  EXPECT_FALSE(child.PrepareWrite(10, 33, &copies));
  EXPECT_TRUE(copies.empty());
  EXPECT_EQ(child.pages()[0], parent.pages()[0]);
  EXPECT_EQ(pool.free_count(), 1);
  EXPECT_TRUE(child.PrepareWrite(10, 32, &copies));
}

TEST(PageTable, PagesItGivesBackCountForWhatItTakes) {
  PagePool pool(3);
  PageTable table = Filled(&pool, 96);
  std::vector<PageCopy> copies;
  EXPECT_EQ(table.PagesToWrite(1, 96), 0);
  EXPECT_TRUE(table.PrepareWrite(1, 96, &copies));
}

TEST(PageTable, WritingNothingCopiesNothing) {
  PagePool pool(2);
  PageTable parent = Filled(&pool, 10);
  PageTable child = parent.Fork(10);
  std::vector<PageCopy> copies;
  ASSERT_TRUE(child.PrepareWrite(10, 10, &copies));
  EXPECT_TRUE(copies.empty());
  EXPECT_FALSE(child.OwnsPage(0));
}

}  // namespace
}  // namespace skald::kv
