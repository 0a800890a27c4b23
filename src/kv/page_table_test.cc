#include "kv/page_table.h"

#include <gtest/gtest.h>

#include <utility>

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

}  // namespace
}  // namespace skald::kv
