#include "kv/prefix_tree.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "kv/token_runs_for_test.h"

namespace skald::kv {
namespace {

constexpr Namespace kSpace{7};
constexpr Namespace kOther{8};

// A sequence as the engine runs it: pages, and how far it stands in the tree.
struct Sequence {
  PageTable table;
  PrefixTree::Pin pin;
  std::vector<PageCopy> copies;
};

class PrefixTreeTest : public ::testing::Test {
 protected:
  ~PrefixTreeTest() override { EXPECT_EQ(tree_.CheckIntegrity(), ""); }

  Sequence Acquire(const std::vector<TokenId>& tokens, Namespace space = kSpace) {
    Sequence sequence{PageTable(&pool_, 320), {}, {}};
    sequence.pin = tree_.Acquire(space, tokens, &sequence.table);
    return sequence;
  }
  // The sequence computes `tokens` behind what it has, and shows them to everybody.
  void Extend(Sequence* sequence, const std::vector<TokenId>& tokens) {
    const int64_t from = sequence->pin.tokens();
    ASSERT_TRUE(sequence->table.PrepareWrite(from, from + std::ssize(tokens), &sequence->copies));
    tree_.Insert(&sequence->pin, tokens, &sequence->table);
    ASSERT_EQ(tree_.CheckIntegrity(), "");
  }
  // A sequence that matches what it can and computes the rest.
  Sequence Run(const std::vector<TokenId>& tokens, Namespace space = kSpace) {
    Sequence sequence = Acquire(tokens, space);
    Extend(&sequence, {tokens.begin() + sequence.pin.tokens(), tokens.end()});
    return sequence;
  }
  int64_t Match(const std::vector<TokenId>& tokens, Namespace space = kSpace) {
    return tree_.Match(space, tokens);
  }

  PagePool pool_{16};
  PrefixTree tree_{&pool_};
};

TEST_F(PrefixTreeTest, EmptyTreeMatchesNothingAndKeepsNoRoot) {
  EXPECT_EQ(Match(Count(5)), 0);
  { EXPECT_EQ(Acquire(Count(5)).pin.tokens(), 0); }
  EXPECT_EQ(tree_.node_count(), 0);
}

TEST_F(PrefixTreeTest, MatchesToTheTokenWhateverTheLengths) {
  const std::vector<int64_t> lengths = {0, 1, 2, 31, 32, 33, 63, 64, 65, 96};
  for (const int64_t cached : lengths) {
    { Run(Count(cached)); }
    for (const int64_t asked : lengths) {
      EXPECT_EQ(Match(Count(asked)), std::min(cached, asked));
      const Sequence sequence = Acquire(Count(asked));
      EXPECT_EQ(sequence.pin.tokens(), std::min(cached, asked));
      EXPECT_EQ(std::ssize(sequence.table.pages()), (std::min(cached, asked) + 31) / 32);
      EXPECT_EQ(tree_.CheckIntegrity(), "");
    }
    tree_.Evict(16);
    EXPECT_EQ(pool_.free_count(), 16);
  }
}

TEST_F(PrefixTreeTest, StopsAtTheFirstTokenThatDiffers) {
  const Sequence whole = Run(Count(70));
  for (const int64_t same : {0, 1, 30, 31, 32, 33, 63, 64, 65, 69}) {
    const std::vector<TokenId> tokens = Count(same) + Count(90, 1000);
    EXPECT_EQ(Match(tokens), same);
    EXPECT_EQ(Acquire(tokens).pin.tokens(), same);
  }
}

// docs/worked-examples.md, section 5: A B C D E is there, A B C F G comes, then D E goes on.
TEST_F(PrefixTreeTest, WorkedExampleOfASplitEdge) {
  enum : TokenId { A, B, C, D, E, F, G };
  const Sequence first = Run({A, B, C, D, E});
  Sequence second = Acquire({A, B, C, F, G});
  EXPECT_EQ(second.pin.tokens(), 3);
  Extend(&second, {F, G});
  EXPECT_EQ(Match({A, B, C, D, E}), 5);
  EXPECT_EQ(Match({A, B, C, F, G}), 5);
  EXPECT_EQ(Match({A, B, C, G}), 3);
}

// The same section: 1 2 3 is there, 1 2 3 4 5 comes. Nothing is computed twice; where the three do
// not fill a page they are copied, and the page that held them alone goes.
TEST_F(PrefixTreeTest, WorkedExampleOfALongerText) {
  { const Sequence first = Run({1, 2, 3}); }
  Sequence second = Acquire({1, 2, 3, 4, 5});
  EXPECT_EQ(second.pin.tokens(), 3);
  Extend(&second, {4, 5});
  ASSERT_EQ(second.copies.size(), 1u);
  EXPECT_EQ(second.copies[0].positions, 3);
  EXPECT_EQ(pool_.held_count(), 1);
  EXPECT_EQ(pool_.cached_count(), 0);
}

TEST_F(PrefixTreeTest, NegativeAndLargestTokensAreTokensLikeAnyOther) {
  const Sequence sequence = Run({-1, 0x7fffffff, 0});
  EXPECT_EQ(Match({-1, 0x7fffffff, 0}), 3);
  EXPECT_EQ(Match({-1, -1}), 1);
}

TEST_F(PrefixTreeTest, MatchedPagesAreTheOnesComputed) {
  const Sequence first = Run(Count(70));
  const Sequence second = Acquire(Count(40));
  ASSERT_EQ(second.table.pages().size(), 2u);
  EXPECT_EQ(second.table.shared_positions(), 40);
  EXPECT_EQ(second.table.pages()[0], first.table.pages()[0]);
  EXPECT_EQ(second.table.pages()[1], first.table.pages()[1]);
  EXPECT_EQ(pool_.held_count(), 3);
}

TEST_F(PrefixTreeTest, EveryTokenIsVisibleAsSoonAsItIsInserted) {
  Sequence sequence = Acquire({});
  for (int64_t length = 1; length <= 100; ++length) {
    Extend(&sequence, {static_cast<TokenId>(length - 1)});
    EXPECT_EQ(Match(Count(100)), length);
    EXPECT_EQ(sequence.table.shared_positions(), length);
    EXPECT_EQ(tree_.node_count(), 1 + (length + 31) / 32);  // the root, and one node a page
  }
  EXPECT_TRUE(sequence.copies.empty());
}

// The picture of kv/page_table.h.
TEST_F(PrefixTreeTest, RunningSequenceWritesOnInPlaceAndTheJoinerCopies) {
  Sequence a = Run(Count(20));
  Sequence b = Acquire(Count(20) + Count(5, 500));
  ASSERT_EQ(b.pin.tokens(), 20);
  const PageId shared = a.table.pages()[0];
  EXPECT_EQ(b.table.pages()[0], shared);

  Extend(&a, Count(7, 20));
  EXPECT_TRUE(a.copies.empty());
  EXPECT_EQ(a.table.pages()[0], shared);

  Extend(&b, Count(5, 500));
  ASSERT_EQ(b.copies.size(), 1u);
  EXPECT_EQ(b.copies[0], (PageCopy{shared, b.table.pages()[0], 20}));
  EXPECT_NE(b.table.pages()[0], shared);

  EXPECT_EQ(Match(Count(27)), 27);
  EXPECT_EQ(Match(Count(20) + Count(5, 500)), 25);
}

TEST_F(PrefixTreeTest, JoinerAtAPageBorderCopiesNothing) {
  const Sequence a = Run(Count(32));
  Sequence b = Run(Count(32) + Count(8, 500));
  EXPECT_TRUE(b.copies.empty());
  EXPECT_EQ(b.table.pages()[0], a.table.pages()[0]);
}

TEST_F(PrefixTreeTest, JoinerInsideAnOldPageCopiesUpTo31Positions) {
  const Sequence a = Run(Count(64));
  for (const int same : {1, 31, 33, 63}) {
    Sequence b = Run(Count(same) + Count(2, 500));
    ASSERT_EQ(b.copies.size(), 1u);
    EXPECT_EQ(b.copies[0].positions, same % 32);
    EXPECT_EQ(b.copies[0].from, a.table.pages()[static_cast<size_t>(same / 32)]);
  }
}

TEST_F(PrefixTreeTest, PathReadsThePageOfItsDeepestNode) {
  const Sequence a = Run(Count(30));
  const Sequence b = Run(Count(20) + Count(20, 500));
  const Sequence again = Acquire(Count(20) + Count(20, 500));
  EXPECT_EQ(std::vector(again.table.pages().begin(), again.table.pages().end()),
            std::vector(b.table.pages().begin(), b.table.pages().end()));
  // Only the common part: a page of either, here the one that was there first.
  EXPECT_EQ(Acquire(Count(20)).table.pages()[0], a.table.pages()[0]);
}

TEST_F(PrefixTreeTest, SplitIsUndoneWhenNobodyNeedsItAnyMore) {
  const Sequence a = Run(Count(32));
  {
    const Sequence b = Acquire(Count(10));
    EXPECT_EQ(tree_.node_count(), 3);
  }
  EXPECT_EQ(tree_.node_count(), 2);
}

TEST_F(PrefixTreeTest, ConversationByTurnsLeavesNoHalfFilledPages) {
  std::vector<TokenId> text;
  for (int turn = 0; turn < 10; ++turn) {
    text = text + Count(10, 100 * turn);
    const Sequence sequence = Run(text);
    EXPECT_EQ(pool_.held_count(), (std::ssize(text) + 31) / 32);
    EXPECT_EQ(pool_.cached_count(), 0);
  }
  EXPECT_EQ(pool_.cached_count(), 4);
  EXPECT_EQ(tree_.node_count(), 5);
}

TEST_F(PrefixTreeTest, TwoThatComputeTheSameKeepTheirPagesAndTheTreeTheFirst) {
  Sequence a = Acquire(Count(40));
  Sequence b = Acquire(Count(40));  // nothing is computed yet
  Extend(&a, Count(40));
  Extend(&b, Count(40));
  EXPECT_TRUE(b.copies.empty());
  EXPECT_EQ(pool_.held_count(), 4);
  EXPECT_EQ(tree_.token_count(), 40);
  EXPECT_EQ(Acquire(Count(40)).table.pages()[0], a.table.pages()[0]);
  // b goes on in its own page, which from there on is the tree's.
  Extend(&b, Count(3, 500));
  EXPECT_TRUE(b.copies.empty());
  EXPECT_EQ(Acquire(Count(40) + Count(3, 500)).table.pages()[1], b.table.pages()[1]);
}

TEST_F(PrefixTreeTest, ForkedSequencesDivergeWithOneCopy) {
  Sequence parent = Run(Count(40));
  Sequence child{parent.table.Fork(40), parent.pin.Fork(), {}};
  Extend(&parent, Count(2, 100));
  Extend(&child, Count(2, 200));
  EXPECT_TRUE(parent.copies.empty());
  EXPECT_EQ(child.copies.size(), 1u);
  EXPECT_EQ(Match(Count(40) + Count(2, 100)), 42);
  EXPECT_EQ(Match(Count(40) + Count(2, 200)), 42);
  EXPECT_EQ(pool_.held_count(), 3);
}

TEST_F(PrefixTreeTest, NamespacesNeverShare) {
  { Run(Count(40)); }
  EXPECT_EQ(Match(Count(40), kOther), 0);
  { Run(Count(40), kOther); }
  EXPECT_EQ(pool_.cached_count(), 4);
  tree_.Evict(2);
  EXPECT_EQ(Match(Count(40)), 0);
  EXPECT_EQ(Match(Count(40), kOther), 40);
  // Also after a split, and for the extreme numbers.
  const Sequence split = Acquire(Count(10), kOther);
  EXPECT_EQ(Match(Count(40), Namespace{0}), 0);
  EXPECT_EQ(Match(Count(40), Namespace{~uint64_t{0}}), 0);
}

TEST_F(PrefixTreeTest, EvictsTheTailOfAPathPageByPage) {
  { Run(Count(70)); }
  EXPECT_EQ(pool_.evictable_count(), 3);
  EXPECT_EQ(tree_.Evict(0), 0);
  EXPECT_EQ(tree_.Evict(1), 1);
  EXPECT_EQ(Match(Count(70)), 64);
  EXPECT_EQ(tree_.Evict(1), 1);
  EXPECT_EQ(Match(Count(70)), 32);
  EXPECT_EQ(tree_.Evict(5), 1);
  EXPECT_EQ(tree_.node_count(), 0);
  EXPECT_EQ(tree_.Evict(1), 0);
}

TEST_F(PrefixTreeTest, EvictsTheLeastRecentlyUsedFirst) {
  { Run(Count(32, 100)); }
  { Run(Count(32, 200)); }
  { Run(Count(32, 300)); }
  { Acquire(Count(32, 100)); }           // used again
  EXPECT_EQ(Match(Count(32, 200)), 32);  // looking is not using
  EXPECT_EQ(tree_.Evict(1), 1);
  EXPECT_EQ(Match(Count(32, 200)), 0);
  EXPECT_EQ(tree_.Evict(1), 1);
  EXPECT_EQ(Match(Count(32, 300)), 0);
  EXPECT_EQ(Match(Count(32, 100)), 32);
}

TEST_F(PrefixTreeTest, TrunkOutlivesItsBranches) {
  { Run(Count(32)); }
  { Run(Count(32, 900)); }
  { Run(Count(32) + Count(32, 100)); }
  { Run(Count(32) + Count(32, 200)); }
  tree_.Evict(2);  // the one alone, and the older branch
  EXPECT_EQ(Match(Count(32, 900)), 0);
  EXPECT_EQ(Match(Count(32) + Count(32, 100)), 32);
  EXPECT_EQ(Match(Count(32) + Count(32, 200)), 64);
}

TEST_F(PrefixTreeTest, PinnedPathIsNeverEvicted) {
  { Run(Count(96)); }
  Sequence pinned = Acquire(Count(40));
  EXPECT_EQ(pool_.evictable_count(), 1);
  // Behind the pin, the rest of page 1 goes too, but the page stays.
  EXPECT_EQ(tree_.Evict(16), 1);
  EXPECT_EQ(Match(Count(96)), 40);
  pinned.table.Truncate(0);
  EXPECT_EQ(tree_.Evict(16), 0) << "the pin protects without pages too";
  pinned.pin.Release();
  EXPECT_EQ(tree_.Evict(16), 2);
  EXPECT_EQ(pool_.free_count(), 16);
}

TEST_F(PrefixTreeTest, PagesOfASequenceAreNotGainedByEviction) {
  Sequence sequence = Run(Count(64));
  { Run(Count(32, 500)); }
  sequence.pin.Release();  // the sequence keeps its pages
  EXPECT_EQ(pool_.evictable_count(), 1);
  EXPECT_EQ(tree_.Evict(16), 1);
  EXPECT_EQ(Match(Count(64)), 0);
  EXPECT_EQ(pool_.held_count(), 2);
  EXPECT_EQ(pool_.cached_count(), 0);
}

TEST_F(PrefixTreeTest, AccountsForEveryPage) {
  { Run(Count(64)); }
  const Sequence running = Run(Count(40, 500));
  const Sequence joined = Acquire(Count(33));
  EXPECT_EQ(pool_.free_count(), 12);
  EXPECT_EQ(pool_.held_count(), 4);
  EXPECT_EQ(pool_.cached_count(), 0);
  EXPECT_EQ(tree_.token_count(), 104);
}

TEST_F(PrefixTreeTest, RemovingABranchGivesBackThePageItsFrontHadForItself) {
  { Run(Count(30)); }
  { Run(Count(20) + Count(10, 500)); }
  EXPECT_EQ(pool_.cached_count(), 2);
  // [0, 20) and the older [20, 30) are in one page: nothing is left of it but what the copy has.
  EXPECT_EQ(tree_.Evict(1), 1);
  EXPECT_EQ(pool_.cached_count(), 1);
  EXPECT_EQ(Match(Count(20) + Count(10, 500)), 30);
  EXPECT_EQ(tree_.node_count(), 2);
}

// So n branches of the same 32 positions take n pages, whatever branched before them and is gone.
TEST_F(PrefixTreeTest, WhereBranchesAreLeftTheirFrontHasNoPageForItself) {
  { Run(Count(30)); }
  { Run(Count(20) + Count(10, 500)); }
  { Run(Count(20) + Count(10, 600)); }
  EXPECT_EQ(pool_.cached_count(), 3);
  EXPECT_EQ(tree_.Evict(1), 1);
  EXPECT_EQ(pool_.cached_count(), 2);
  EXPECT_EQ(Match(Count(20) + Count(10, 500)), 30);
  EXPECT_EQ(Match(Count(20) + Count(10, 600)), 30);
  EXPECT_EQ(Match(Count(30)), 20);
  EXPECT_EQ(tree_.CheckIntegrity(), "");
}

TEST_F(PrefixTreeTest, MovedPinsProtectOnce) {
  Sequence sequence = Run(Count(10));
  PrefixTree::Pin moved = std::move(sequence.pin);
  EXPECT_EQ(moved.tokens(), 10);
  EXPECT_EQ(sequence.pin.tokens(), 0);
  moved = PrefixTree::Pin();
  sequence.table.Truncate(0);
  EXPECT_EQ(tree_.Evict(16), 1);
}

TEST(PrefixTreeDeathTest, OutlivesItsPins) {
  PagePool pool(1);
  PageTable table(&pool, 32);
  EXPECT_DEATH(
      {
        PrefixTree::Pin pin;
        {
          PrefixTree tree(&pool);
          pin = tree.Acquire(kSpace, Count(1), &table);
        }
      },
      "CHECK failed");
}

}  // namespace
}  // namespace skald::kv
