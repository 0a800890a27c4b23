#include "kv/window_pool.h"

#include <gtest/gtest.h>

#include <vector>

#include "kv/page_pool.h"
#include "kv/page_table.h"
#include "kv/prefix_tree.h"

namespace skald::kv {
namespace {

constexpr auto kSpace = Namespace{1};

std::vector<TokenId> Tokens(int64_t count, TokenId first = 0) {
  std::vector<TokenId> tokens;
  for (int64_t i = 0; i < count; ++i) tokens.push_back(first + static_cast<TokenId>(i));
  return tokens;
}

// A pool of pages of which few have window pages, and a tree over it.
struct World {
  explicit World(const WindowLimits& windows) : pool(64, windows) {}

  // Computes `tokens` behind what is there, `chunk` at a time, and lets go.
  int64_t Run(const std::vector<TokenId>& tokens, int64_t chunk = 16) {
    PageTable table(&pool, 1024);
    PrefixTree::Pin pin = tree.Acquire(kSpace, tokens, &table);
    const int64_t matched = pin.tokens();
    Compute(tokens, chunk, &pin, &table);
    return matched;
  }
  void Compute(const std::vector<TokenId>& tokens, int64_t chunk, PrefixTree::Pin* pin,
               PageTable* table) {
    while (pin->tokens() < std::ssize(tokens)) {
      const int64_t from = pin->tokens();
      const int64_t count = std::min(chunk, std::ssize(tokens) - from);
      ASSERT_TRUE(table->PrepareWrite(from, from + count, &copies));
      tree.Insert(pin,
                  std::span(tokens).subspan(static_cast<size_t>(from), static_cast<size_t>(count)),
                  table);
      table->ForgetBehind(from + count);
      ASSERT_EQ(tree.CheckIntegrity(), "");
    }
  }

  PagePool pool;
  PrefixTree tree{&pool};
  std::vector<PageCopy> copies;
};

TEST(WindowPool, ARowSeesItselfAndThoseBeforeIt) {
  const WindowPool pool(8, {.pages = 4, .positions = 33});
  EXPECT_EQ(pool.FirstSeen(0), 0);
  EXPECT_EQ(pool.FirstSeen(63), 0);  // sees 31 .. 63
  EXPECT_EQ(pool.FirstSeen(64), 1);  // sees 32 .. 64
  EXPECT_EQ(pool.FirstSeen(95), 1);
  EXPECT_EQ(pool.FirstSeen(96), 2);
}

TEST(WindowPool, GivesPassedOnesAwayBeforePlacesAndTheOldestFirst) {
  WindowPool pool(8, {.pages = 3, .positions = 1});
  for (const PageId page : {0, 1, 2}) pool.Attach(page);
  pool.MarkPlace(0);
  for (const PageId page : {0, 2, 1}) pool.Leave(page);
  EXPECT_EQ(pool.idle_count(), 3);
  EXPECT_EQ(pool.CheckIntegrity(), "");
  pool.Attach(3);
  EXPECT_FALSE(pool.Has(2));
  pool.Attach(4);
  EXPECT_FALSE(pool.Has(1));
  EXPECT_TRUE(pool.Has(0));
  pool.Attach(5);
  EXPECT_FALSE(pool.Has(0));
  EXPECT_EQ(pool.available_count(), 0);
  EXPECT_EQ(pool.evicted_count(), 3);
  EXPECT_EQ(pool.CheckIntegrity(), "");
}

TEST(WindowPool, OneInUseIsGivenToNobody) {
  WindowPool pool(4, {.pages = 2, .positions = 1});
  pool.Attach(0);
  pool.Use(0);
  pool.Leave(0);
  pool.DropIdle(0);
  EXPECT_TRUE(pool.Has(0));
  pool.Leave(0);
  pool.DropIdle(0);
  EXPECT_FALSE(pool.Has(0));
  EXPECT_EQ(pool.free_count(), 2);
}

// Of 320 positions, the window of the last one and what is idle.
TEST(WindowPool, ASequenceTakesNoMoreThanItsWindow) {
  World world({.pages = 4, .positions = 40});
  PageTable table(&world.pool, 1024);
  PrefixTree::Pin pin = world.tree.Acquire(kSpace, {}, &table);
  const std::vector<TokenId> tokens = Tokens(320);
  world.Compute(tokens, 16, &pin, &table);
  EXPECT_EQ(table.first_in_window(), (320 - 39) / 32);
  EXPECT_EQ(world.pool.windows().used_count(), 2);
  EXPECT_EQ(table.lists().window[7], kNoPage);
  EXPECT_NE(table.lists().window[8], kNoPage);
  EXPECT_EQ(world.pool.free_count(), 54);
}

// What no window page is left of is not matched, though its tokens are in the tree.
TEST(WindowPool, AMatchEndsWhereTheNextRowHasItsWindow) {
  World world({.pages = 4, .positions = 40});
  EXPECT_EQ(world.Run(Tokens(320)), 0);
  EXPECT_EQ(world.tree.Match(kSpace, Tokens(320)), 320);
  // Pages 6 to 9 have theirs: the row at 269 would see 230, in page 7; that at 230 sees 191.
  EXPECT_EQ(world.tree.Match(kSpace, Tokens(269)), 269);
  EXPECT_EQ(world.tree.Match(kSpace, Tokens(231)), 231);
  EXPECT_EQ(world.tree.Match(kSpace, Tokens(230)), 0);
  EXPECT_EQ(world.tree.Match(kSpace, Tokens(100)), 0);
}

// Whoever computes it again brings back what was lost, page by page, and the tree has one page for
// each position. Of a page that the tree knows more of than is computed again it keeps its own.
TEST(WindowPool, WhatIsComputedAgainCanBeGoneOnFrom) {
  World world({.pages = 4, .positions = 40});
  EXPECT_EQ(world.Run(Tokens(320)), 0);
  EXPECT_EQ(world.Run(Tokens(90)), 0);
  EXPECT_EQ(world.tree.Match(kSpace, Tokens(90)), 64);
  EXPECT_EQ(world.Run(Tokens(128), 5), 64);
  EXPECT_EQ(world.Run(Tokens(90)), 90);
  EXPECT_EQ(world.tree.Match(kSpace, Tokens(128)), 128);
  EXPECT_EQ(world.pool.free_count(), 54);
}

// Where texts part, both have passed; the place is kept before all that they have passed since.
TEST(WindowPool, APlaceIsKeptLongerThanTheWay) {
  World world({.pages = 8, .positions = 40});
  EXPECT_EQ(world.Run(Tokens(128)), 0);
  std::vector<TokenId> other = Tokens(128);
  for (const TokenId token : Tokens(384, 500)) other.push_back(token);
  EXPECT_EQ(world.Run(other), 128);
  EXPECT_EQ(world.tree.Match(kSpace, Tokens(128)), 128);
  EXPECT_EQ(world.tree.Match(kSpace, Tokens(96)), 0);
}

TEST(WindowPool, AForkHasTheWindowOfItsSibling) {
  World world({.pages = 6, .positions = 40});
  PageTable table(&world.pool, 1024);
  PrefixTree::Pin pin = world.tree.Acquire(kSpace, {}, &table);
  world.Compute(Tokens(100), 16, &pin, &table);
  PageTable fork = table.Fork(100);
  EXPECT_EQ(fork.first_in_window(), table.first_in_window());
  EXPECT_EQ(world.pool.windows().used_count(), 3);
  ASSERT_TRUE(fork.PrepareWrite(100, 101, &world.copies));
  ASSERT_EQ(world.copies.size(), 1u);
  EXPECT_EQ(world.copies[0].window_from, table.lists().window[3]);
  EXPECT_EQ(world.copies[0].window_to, fork.lists().window[3]);
  EXPECT_NE(fork.lists().window[3], table.lists().window[3]);
  EXPECT_EQ(world.pool.windows().used_count(), 4);
  table.Truncate(0);
  EXPECT_EQ(fork.lists().window[2], world.pool.windows().Of(fork.pages()[2]));
  EXPECT_EQ(world.tree.CheckIntegrity(), "");
}

TEST(WindowPool, TooFewWindowPagesAreAsTooFewPages) {
  World world({.pages = 3, .positions = 40});
  PageTable table(&world.pool, 1024);
  EXPECT_FALSE(table.PrepareWrite(0, 128, &world.copies));
  EXPECT_TRUE(table.pages().empty());
  EXPECT_TRUE(table.PrepareWrite(0, 64, &world.copies));
  EXPECT_FALSE(table.Reserve(128));
  EXPECT_EQ(world.pool.CheckIntegrity(), "");
}

// What the tree does not have goes at once: nobody could match it.
TEST(WindowPool, NothingIsKeptForNobody) {
  World world({.pages = 6, .positions = 40});
  PageTable table(&world.pool, 1024);
  ASSERT_TRUE(table.PrepareWrite(0, 100, &world.copies));
  table.ForgetBehind(100);
  EXPECT_EQ(world.pool.windows().free_count(), 3);
  EXPECT_EQ(world.pool.windows().idle_count(), 0);
}

// Of 320 positions, the window of the last one and the first page.
TEST(WindowPool, PinnedPagesStayInUse) {
  World world({.pages = 6, .positions = 40, .pinned = 5});
  PageTable table(&world.pool, 1024);
  PrefixTree::Pin pin = world.tree.Acquire(kSpace, {}, &table);
  world.Compute(Tokens(320), 16, &pin, &table);
  EXPECT_EQ(world.pool.windows().used_count(), 3);
  EXPECT_NE(table.lists().window[0], kNoPage);
  EXPECT_EQ(table.lists().window[1], kNoPage);
  PageTable fork = table.Fork(320);
  EXPECT_EQ(fork.lists().window[0], table.lists().window[0]);
  EXPECT_EQ(world.pool.windows().users(table.pages()[0]), 2);
  fork.ForgetAll();
  EXPECT_EQ(fork.lists().window[0], kNoPage);
  EXPECT_EQ(world.pool.windows().users(table.pages()[0]), 1);
  fork.Truncate(0);
  table.Truncate(0);
  EXPECT_EQ(world.pool.windows().used_count(), 0);
  EXPECT_EQ(world.tree.CheckIntegrity(), "");
}

// Nobody goes on from a window whose text has lost its first page.
TEST(WindowPool, AMatchEndsWithoutPinnedPages) {
  World world({.pages = 6, .positions = 40, .pinned = 5});
  EXPECT_EQ(world.Run(Tokens(320)), 0);
  EXPECT_EQ(world.tree.Match(kSpace, Tokens(320)), 320);
  EXPECT_EQ(world.Run(Tokens(320), 7), 320);
  for (PageId page = 0; page < world.pool.total_count(); ++page) {
    if (world.pool.cache_references(page) > 0) world.pool.windows().DropIdle(page);
    if (world.tree.Match(kSpace, Tokens(320)) == 0) break;  // the first to go was pinned
  }
  EXPECT_EQ(world.tree.Match(kSpace, Tokens(320)), 0);
  EXPECT_GT(world.pool.windows().idle_count(), 1);
  EXPECT_EQ(world.Run(Tokens(320)), 0);
  EXPECT_EQ(world.tree.Match(kSpace, Tokens(320)), 320);
}

// Who computes again what the tree has, and the tree, need a page each no longer: neither where the
// tree's have their window pages, nor where they have lost them meanwhile.
TEST(WindowPool, OneWhoComputesAgainSharesPagesWithTheTree) {
  for (const bool lost : {false, true}) {
    World world({.pages = 12, .positions = 40, .pinned = 5});
    EXPECT_EQ(world.Run(Tokens(150)), 0);
    PageTable table(&world.pool, 1024);
    PrefixTree::Pin pin = world.tree.Acquire(kSpace, {}, &table);
    world.Compute(Tokens(150), 7, &pin, &table);
    EXPECT_EQ(world.pool.free_count(), 64 - 10) << "five of the tree, five of the table";
    for (PageId page = 0; lost && page < 64; ++page) world.pool.windows().DropIdle(page);
    world.tree.Unite(pin, &table);
    EXPECT_EQ(world.tree.CheckIntegrity(), "");
    EXPECT_EQ(world.pool.free_count(), 64 - 6) << "the page that is not whole";
    for (int64_t index = 0; index < 4; ++index) {
      EXPECT_EQ(table.pages()[static_cast<size_t>(index)],
                world.tree.PageOf(kSpace, Tokens(32 * (index + 1))));
    }
    const auto windows = table.lists().window;
    for (const size_t index : {0, 3}) {
      EXPECT_EQ(windows[index], world.pool.windows().Of(table.pages()[index]));
      EXPECT_NE(windows[index], kNoPage);
    }
    for (const size_t index : {1, 2}) EXPECT_EQ(windows[index], kNoPage);
    table.Truncate(0);
    EXPECT_EQ(world.pool.windows().used_count(), 0);
    EXPECT_EQ(world.tree.Match(kSpace, Tokens(150)) == 150, !lost);
  }
}

TEST(WindowPool, FindsWhatARowSeesFromTheEnd) {
  const WindowPool pool(8, {.pages = 4, .positions = 40, .pinned = 33});
  EXPECT_EQ(pool.pinned_pages(), 2);
  std::vector<int64_t> seen;
  for (int64_t page = pool.SeenBefore(10, 320); page >= 0; page = pool.SeenBefore(page, 320)) {
    seen.push_back(page);
  }
  EXPECT_EQ(seen, (std::vector<int64_t>{9, 8, 1, 0}));
  EXPECT_EQ(pool.SeenBefore(2, 320), 1);
  EXPECT_EQ(pool.SeenBefore(1, 320), 0);
  EXPECT_EQ(pool.SeenBefore(0, 320), -1);
  EXPECT_EQ(WindowPool(8, {.pages = 4, .positions = 40}).SeenBefore(8, 320), -1);
}

}  // namespace
}  // namespace skald::kv
