#include <gtest/gtest.h>

#include <map>
#include <random>
#include <utility>
#include <vector>

#include "kv/prefix_tree.h"
#include "kv/token_runs_for_test.h"

namespace skald::kv {
namespace {

constexpr Namespace kSpace{7};

class PrefixTreeStatesTest : public ::testing::Test {
 protected:
  ~PrefixTreeStatesTest() override {
    EXPECT_EQ(tree_.CheckIntegrity(), "");
    EXPECT_EQ(states_.held_count(), tree_.snapshot_count());
  }

  // Computes `tokens` from the start; the pin stands at their end.
  PrefixTree::Pin Run(const std::vector<TokenId>& tokens) {
    PageTable table(&pool_, 320);
    std::vector<PageCopy> copies;
    PrefixTree::Pin pin = tree_.Acquire(kSpace, tokens, &table);
    const int64_t from = pin.tokens();
    EXPECT_TRUE(table.PrepareWrite(from, std::ssize(tokens), &copies));
    tree_.Insert(&pin, std::span(tokens).subspan(static_cast<size_t>(from)), &table);
    return pin;
  }
  // The same, and leaves a state there. Returns its slot.
  StateId Leave(const std::vector<TokenId>& tokens) {
    StateSlot slot = states_.Take();
    const StateId id = slot.id();
    tree_.PutState(Run(tokens), std::move(slot));
    EXPECT_EQ(tree_.CheckIntegrity(), "");
    return id;
  }
  PrefixTree::Pin Acquire(const std::vector<TokenId>& tokens) {
    PageTable table(&pool_, 320);
    return tree_.AcquireState(kSpace, tokens, &table);
  }
  int64_t Match(const std::vector<TokenId>& tokens) { return tree_.MatchState(kSpace, tokens); }

  PagePool pool_{16};
  StatePool states_{4};
  PrefixTree tree_{&pool_, 4};
};

TEST_F(PrefixTreeStatesTest, AMatchEndsWhereASnapshotStands) {
  Run(Count(100));
  EXPECT_EQ(Match(Count(100)), 0) << "pages alone are no place to go on from";
  Leave(Count(40));
  EXPECT_EQ(Match(Count(100)), 40);
  EXPECT_EQ(Match(Count(40)), 40);
  EXPECT_EQ(Match(Count(39)), 0) << "a state cannot be cut back";
  Leave(Count(77));
  EXPECT_EQ(Match(Count(100)), 77);
  EXPECT_EQ(Match(Count(76)), 40);
  EXPECT_EQ(Match(Count(60) + Count(9, 500)), 40);
  EXPECT_EQ(tree_.Match(kSpace, Count(60) + Count(9, 500)), 60);
  EXPECT_EQ(tree_.MatchState(Namespace{8}, Count(100)), 0);
}

// A snapshot keeps its place from growing, and from being merged with what follows.
TEST_F(PrefixTreeStatesTest, APlaceStaysWhereItIs) {
  const StateId id = Leave(Count(5));
  Run(Count(9));
  Run(Count(31));
  EXPECT_EQ(Match(Count(31)), 5);
  const PrefixTree::Pin pin = Acquire(Count(31));
  EXPECT_EQ(pin.tokens(), 5);
  EXPECT_EQ(pin.state(), id);
}

// Without the snapshot the place is no place any more, and its run is one again.
TEST_F(PrefixTreeStatesTest, AnEvictedSnapshotLeavesItsPages) {
  Leave(Count(5));
  Run(Count(31));
  const int64_t nodes = tree_.node_count();
  StateSlot slot = tree_.EvictState();
  EXPECT_TRUE(slot.holds());
  EXPECT_EQ(tree_.node_count(), nodes - 1);
  EXPECT_EQ(Match(Count(31)), 0);
  EXPECT_EQ(tree_.Match(kSpace, Count(31)), 31);
  slot.Release();
  EXPECT_FALSE(tree_.EvictState().holds());
}

TEST_F(PrefixTreeStatesTest, ASnapshotGoesWithItsPages) {
  Leave(Count(40));
  Leave(Count(70));
  EXPECT_EQ(tree_.Evict(1), 1);  // the third page: positions 64 to 69
  EXPECT_EQ(Match(Count(70)), 40);
  EXPECT_EQ(states_.held_count(), 1);
  tree_.Evict(16);
  EXPECT_EQ(states_.free_count(), 4);
}

TEST_F(PrefixTreeStatesTest, OfTwoInOnePlaceOneStays) {
  const StateId id = Leave(Count(40));
  Leave(Count(40));
  EXPECT_EQ(states_.held_count(), 1);
  EXPECT_EQ(Acquire(Count(50)).state(), id);
}

TEST_F(PrefixTreeStatesTest, WhatAPinKeepsIsNotEvicted) {
  const StateId id = Leave(Count(40));
  PrefixTree::Pin first = Acquire(Count(50));
  PrefixTree::Pin second = Acquire(Count(50));
  EXPECT_FALSE(tree_.EvictState().holds());
  EXPECT_FALSE(tree_.TakeState(&first).holds()) << "the second has it, too";
  second.ReleaseState();
  EXPECT_EQ(second.tokens(), 40);
  EXPECT_EQ(second.state(), kNoState);
  PrefixTree::Pin moved = std::move(first);
  EXPECT_FALSE(tree_.EvictState().holds());
  EXPECT_EQ(tree_.TakeState(&moved).id(), id);
  EXPECT_EQ(Match(Count(50)), 0);
  EXPECT_EQ(moved.tokens(), 40);
}

TEST_F(PrefixTreeStatesTest, APinThatEndsKeepsNothing) {
  Leave(Count(40));
  { const PrefixTree::Pin pin = Acquire(Count(50)); }
  EXPECT_TRUE(tree_.EvictState().holds());
}

// 90 tokens would be computed again for the one, 2 for the other.
TEST_F(PrefixTreeStatesTest, TheLeastWorthGoesFirst) {
  const StateId root = Leave(Count(90));
  const StateId near = Leave(Count(92));
  const StateId far = Leave(Count(90, 300));
  EXPECT_EQ(tree_.EvictState().id(), near);
  EXPECT_EQ(tree_.EvictState().id(), root) << "as much worth, but older";
  EXPECT_EQ(tree_.EvictState().id(), far);
}

// Twice the tokens are worth as much at twice the age.
TEST_F(PrefixTreeStatesTest, AgeCountsAgainstTokens) {
  const StateId large = Leave(Count(60));
  const StateId small = Leave(Count(20, 300));
  EXPECT_FALSE(tree_.EvictStateFor(10).holds()) << "the small one is worth 20";
  EXPECT_EQ(tree_.EvictStateFor(20).id(), small);
  for (int i = 0; i < 9; ++i) Acquire(Count(1, 300)).Release();  // no snapshot: no time passes
  EXPECT_FALSE(tree_.EvictStateFor(29).holds());
  EXPECT_EQ(tree_.EvictStateFor(30).id(), large);
}

TEST_F(PrefixTreeStatesTest, WhatSomebodyWaitsForGoesLast) {
  StateSlot slot = states_.Take();
  const StateId parked = slot.id();
  const auto ticket = tree_.ParkState(Run(Count(3)), std::move(slot));
  EXPECT_NE(ticket, PrefixTree::kNoTicket);
  EXPECT_EQ(tree_.ParkState(Run(Count(3)), states_.Take()), PrefixTree::kNoTicket);
  const StateId other = Leave(Count(90, 300));
  EXPECT_EQ(tree_.EvictState().id(), other);
  EXPECT_FALSE(tree_.EvictStateFor(1000).holds());
  {
    const PrefixTree::Pin pin = Acquire(Count(9));
    EXPECT_TRUE(tree_.IsParked(pin, ticket));
    EXPECT_FALSE(tree_.IsParked(pin, ticket + 1));
    EXPECT_FALSE(tree_.IsParked(pin, PrefixTree::kNoTicket));
  }
  tree_.Unpark(ticket);
  EXPECT_EQ(tree_.EvictStateFor(1000).id(), parked);
}

// Beside a naive map from texts to slots: random runs, snapshots and evictions.
TEST_F(PrefixTreeStatesTest, IsAMapFromTextsToSlots) {
  std::mt19937 random(1);
  const auto draw = [&](int64_t bound) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(bound));
  };
  std::map<std::vector<TokenId>, StateId> model;
  const auto forget = [&](StateId id) {
    std::erase_if(model, [&](const auto& each) { return each.second == id; });
  };
  const auto evict = [&] {
    const StateSlot slot = tree_.EvictState();
    forget(slot.id());
  };
  for (int event = 0; event < 20000; ++event) {
    const auto trunk = Count(draw(80));
    const auto text = trunk + Count(1 + draw(40), static_cast<TokenId>(1000 * draw(3)));
    if (draw(3) == 0) {
      if (states_.free_count() == 0) evict();
      tree_.Evict(5 - pool_.free_count());
      std::erase_if(model, [&](const auto& each) {  // those whose pages are gone
        return Match(each.first) < std::ssize(each.first);
      });
      const bool is_new = !model.contains(text);
      const StateId id = Leave(text);
      if (is_new) model[text] = id;
    } else if (draw(4) == 0) {
      evict();
    }
    ASSERT_EQ(tree_.CheckIntegrity(), "");
    ASSERT_EQ(std::ssize(model), tree_.snapshot_count());
    ASSERT_LE(tree_.node_count(), 2 * 16 + 4 + 1);
    int64_t longest = 0;
    StateId there = kNoState;
    for (const auto& [prefix, id] : model) {
      const auto length = std::ssize(prefix);
      if (length > std::ssize(text) || !std::equal(prefix.begin(), prefix.end(), text.begin())) {
        continue;
      }
      if (length > longest) there = id;
      longest = std::max(longest, length);
    }
    const PrefixTree::Pin pin = Acquire(text);
    ASSERT_EQ(pin.tokens(), longest);
    ASSERT_EQ(pin.state(), there);
  }
}

}  // namespace
}  // namespace skald::kv
