#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "kv/prefix_tree.h"

namespace skald::kv {
namespace {

constexpr Namespace kSpace{7};

std::vector<TokenId> Count(int64_t count, TokenId first = 0) {
  std::vector<TokenId> tokens(static_cast<size_t>(count));
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

std::vector<TokenId> operator+(std::vector<TokenId> front, const std::vector<TokenId>& rear) {
  front.insert(front.end(), rear.begin(), rear.end());
  return front;
}

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
    int64_t begin;
  };
  struct State {
    disk::PageKey before;
    std::vector<TokenId> tokens;
    StateId state;
    PageId page;
    int64_t end;
  };

  PrefixTreeKeysTest() { tree_.WatchEvictions(this, disk::IdentityKey("test")); }
  ~PrefixTreeKeysTest() override {
    EXPECT_EQ(tree_.CheckIntegrity(), "");
    tree_.WatchEvictions(nullptr, {});
  }

  void Evicting(const EvictedPage& page) override {
    pages_told_.push_back({.key = page.key,
                           .before = page.before,
                           .tokens = {page.tokens.begin(), page.tokens.end()},
                           .begin = page.begin});
  }
  void Evicting(const EvictedState& state) override {
    states_told_.push_back({.before = state.before,
                            .tokens = {state.tokens.begin(), state.tokens.end()},
                            .state = state.state,
                            .page = state.page,
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

  PagePool pool_{16};
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
