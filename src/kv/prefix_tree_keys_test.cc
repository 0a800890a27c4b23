#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "kv/prefix_tree.h"
#include "kv/token_runs_for_test.h"

namespace skald::kv {
namespace {

constexpr Namespace kSpace{7};

// The key behind whole pages of tokens: what the tree is to say, from the formula.
disk::PageKey KeyBehind(std::span<const TokenId> tokens) {
  disk::PageKey key = disk::FirstKey(disk::IdentityKey("test"), static_cast<uint64_t>(kSpace));
  for (; !tokens.empty(); tokens = tokens.subspan(32)) key = disk::NextKey(key, tokens.first(32));
  return key;
}

class PrefixTreeKeysTest : public ::testing::Test, public EvictionWatcher {
 protected:
  struct Page {
    disk::PageKey key;
    disk::PageKey before;
    std::vector<TokenId> tokens;
    PageParts parts;
    int64_t begin;
  };
  struct State {
    disk::PageKey before;
    std::vector<TokenId> tokens;
    StateId state;
    PageId page;
    int64_t end;
  };

  PrefixTreeKeysTest() : PrefixTreeKeysTest(WindowLimits{}) {}
  ~PrefixTreeKeysTest() override {
    EXPECT_EQ(tree_.CheckIntegrity(), "");
    tree_.WatchEvictions(nullptr, {});
  }

  void Evicting(const EvictedPage& page) override {
    pages_told_.push_back({.key = page.key,
                           .before = page.before,
                           .tokens = {page.tokens.begin(), page.tokens.end()},
                           .parts = page.parts,
                           .begin = page.begin});
  }
  void Evicting(const EvictedState& state) override {
    states_told_.push_back({.before = state.before,
                            .tokens = {state.tokens.begin(), state.tokens.end()},
                            .state = state.state,
                            .page = state.parts.full,
                            .end = state.end});
  }

  // Computes `tokens`, and leaves a state behind them. Returns the page of the last of them.
  PageId Leave(const std::vector<TokenId>& tokens) {
    PageTable table(&pool_, 320);
    std::vector<PageCopy> copies;
    PrefixTree::Pin pin = tree_.Acquire(kSpace, tokens, &table);
    const int64_t from = pin.tokens();
    EXPECT_TRUE(table.PrepareWrite(from, std::ssize(tokens), &copies));
    tree_.Insert(&pin, std::span(tokens).subspan(static_cast<size_t>(from)), &table);
    const PageId page = table.pages().back();
    tree_.PutState(pin, states_.Take());
    return page;
  }

  explicit PrefixTreeKeysTest(const WindowLimits& windows) : pool_(16, windows) {
    tree_.WatchEvictions(this, disk::IdentityKey("test"));
  }

  PagePool pool_;
  StatePool states_{4};
  PrefixTree tree_{&pool_, 4};
  std::vector<Page> pages_told_;
  std::vector<State> states_told_;
};

TEST_F(PrefixTreeKeysTest, WholePagesGoWithTheKeysOfTheirTokens) {
  const std::vector<TokenId> tokens = Count(70);
  Leave(tokens);
  tree_.Evict(16);
  ASSERT_EQ(pages_told_.size(), 2u) << "the third is not whole";
  EXPECT_EQ(pages_told_[0].begin, 32);
  EXPECT_EQ(pages_told_[0].key, KeyBehind(Count(64)));
  EXPECT_EQ(pages_told_[0].before, KeyBehind(Count(32)));
  EXPECT_EQ(pages_told_[0].tokens, Count(32, 32));
  EXPECT_EQ(pages_told_[1].key, KeyBehind(Count(32)));
}

// With the tokens up to its place that no whole page has, wherever else the page goes on.
TEST_F(PrefixTreeKeysTest, AStateGoesWithTheTokensBehindTheLastWholePage) {
  Leave(Count(40));
  const PageId page = Leave(Count(64));
  Leave(Count(40) + Count(3, 500));
  for (const int64_t end : {40, 64, 43}) {
    (void)end;
    EXPECT_TRUE(tree_.EvictState().holds());
  }
  ASSERT_EQ(states_told_.size(), 3u);
  for (const State& told : states_told_) {
    const bool is_whole = told.end == 64;
    EXPECT_EQ(told.before, KeyBehind(Count(is_whole ? 64 : 32))) << told.end;
    const std::vector<TokenId> of_43 = Count(8, 32) + Count(3, 500);
    EXPECT_EQ(told.tokens, is_whole         ? std::vector<TokenId>()
                           : told.end == 40 ? Count(8, 32)
                                            : of_43);
    EXPECT_EQ(told.page == page, is_whole || told.end == 40) << told.end;
  }
  EXPECT_TRUE(pages_told_.empty());
}

// Rows see 40 positions, and there are four window pages.
class PrefixTreeWindowKeysTest : public PrefixTreeKeysTest {
 protected:
  PrefixTreeWindowKeysTest() : PrefixTreeKeysTest({.pages = 4, .positions = 40}) {}

  // Computes a text page by page, as steps do, and ends.
  void Compute(const std::vector<TokenId>& tokens) {
    PageTable table(&pool_, 320);
    std::vector<PageCopy> copies;
    PrefixTree::Pin pin = tree_.Acquire(kSpace, {}, &table);
    while (pin.tokens() < std::ssize(tokens)) {
      const int64_t from = pin.tokens();
      const int64_t to = std::min<int64_t>(from + 32, std::ssize(tokens));
      ASSERT_TRUE(table.PrepareWrite(from, to, &copies));
      const auto part = std::span(tokens).subspan(static_cast<size_t>(from));
      tree_.Insert(&pin, part.first(static_cast<size_t>(to - from)), &table);
      table.ForgetBehind(to);
    }
  }
};

// Those that a text has passed go without a word; those of its end when another text needs them,
// and of these the one whose page is whole is told: the pages stay.
TEST_F(PrefixTreeWindowKeysTest, WindowPagesOfPlacesAreToldBeforeTheirPagesGo) {
  Compute(Count(200));
  EXPECT_TRUE(pages_told_.empty());
  Compute(Count(100, 1000));
  EXPECT_TRUE(pages_told_.empty()) << "the end is no whole page";
  Compute(Count(100, 2000));
  ASSERT_FALSE(pages_told_.empty());
  const Page told = pages_told_.front();
  EXPECT_EQ(told.parts.full, kNoPage);
  EXPECT_NE(told.parts.window, kNoPage);
  EXPECT_EQ(told.begin, 160);
  EXPECT_EQ(told.key, KeyBehind(Count(192)));
  EXPECT_EQ(told.tokens, Count(32, 160));
  EXPECT_EQ(tree_.Look(kSpace, Count(200)).tokens, 200);
  EXPECT_EQ(tree_.Match(kSpace, Count(200)), 0);
  const auto before = pages_told_.size();
  tree_.Evict(1);
  ASSERT_EQ(pages_told_.size(), before) << "the end of the first is not whole";
  tree_.Evict(1);
  ASSERT_EQ(pages_told_.size(), before + 1);
  EXPECT_EQ(pages_told_.back().parts.window, kNoPage) << "lost before";
  EXPECT_NE(pages_told_.back().parts.full, kNoPage);
}

TEST_F(PrefixTreeWindowKeysTest, LooksBehindLostWindowPages) {
  Compute(Count(200));
  const PrefixTree::Known known = tree_.Look(kSpace, Count(200) + Count(9, 900));
  EXPECT_EQ(known.tokens, 200);
  ASSERT_EQ(known.windows.size(), 7u);
  EXPECT_FALSE(known.windows[0]);
  EXPECT_TRUE(known.windows[6]);
  EXPECT_NE(tree_.PageOf(kSpace, Count(64)), kNoPage);
  EXPECT_EQ(tree_.PageOf(kSpace, Count(64) + Count(1, 900)), kNoPage);
  PageTable table(&pool_, 320);
  const PrefixTree::Pin pin = tree_.AcquirePages(kSpace, Count(96), &table);
  EXPECT_EQ(pin.tokens(), 96);
  EXPECT_EQ(table.pages().size(), 3u);
  EXPECT_EQ(pool_.CheckIntegrity(), "");
}

TEST_F(PrefixTreeKeysTest, AStateGoesWithItsPage) {
  Leave(Count(33));
  tree_.Evict(16);
  ASSERT_EQ(states_told_.size(), 1u);
  EXPECT_EQ(states_told_[0].end, 33);
  EXPECT_EQ(states_told_[0].tokens, Count(1, 32));
  EXPECT_EQ(states_.free_count(), 4);
}

}  // namespace
}  // namespace skald::kv
