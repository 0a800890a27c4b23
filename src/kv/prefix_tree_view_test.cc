#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "kv/prefix_tree.h"
#include "kv/token_runs_for_test.h"
#include "support/cost.h"

namespace skald::kv {
namespace {

constexpr Namespace kSpace{7};

class PrefixTreeViewTest : public ::testing::Test {
 protected:
  // Computes `tokens` as a sequence does that ends when its pin goes.
  PrefixTree::Pin Run(const std::vector<TokenId>& tokens, Namespace space = kSpace) {
    PageTable table(&pool_, 4096);
    std::vector<PageCopy> copies;
    PrefixTree::Pin pin = tree_.Acquire(space, tokens, &table);
    const int64_t from = pin.tokens();
    EXPECT_TRUE(table.PrepareWrite(from, std::ssize(tokens), &copies));
    tree_.Insert(&pin, std::span(tokens).subspan(static_cast<size_t>(from)), &table);
    return pin;
  }

  PagePool pool_{2000};
  PrefixTree tree_{&pool_};
};

TEST_F(PrefixTreeViewTest, OfNothingIsNothing) {
  const PrefixView view = tree_.View();
  EXPECT_EQ(view.token_count + view.root_count, 0);
  EXPECT_TRUE(view.edges.empty());
}

// Two texts part behind 40 tokens. That pages end at 32 and 64 is not to be seen.
TEST_F(PrefixTreeViewTest, EdgesReachFromOnePartingOfTextsToTheNext) {
  Run(Count(70));
  Run(Count(40) + Count(50, 1000));
  const PrefixView view = tree_.View();
  EXPECT_EQ(view.token_count, 120);
  EXPECT_EQ(view.root_count, 1);
  ASSERT_EQ(view.edges.size(), 4u);
  const auto expect = [&](size_t index, int32_t parent, int64_t begin, int64_t end, int64_t below) {
    const ViewedEdge& edge = view.edges[index];
    EXPECT_EQ(edge.parent, parent) << index;
    EXPECT_EQ(edge.begin, begin) << index;
    EXPECT_EQ(edge.end, end) << index;
    EXPECT_EQ(edge.below, below) << index;
    EXPECT_FALSE(edge.in_use || edge.has_state) << index;
  };
  expect(0, -1, 0, 0, 120);
  expect(1, 0, 0, 40, 120);
  expect(2, 1, 40, 90, 50);
  expect(3, 1, 40, 70, 30);
  EXPECT_EQ(view.edges[0].space, static_cast<uint64_t>(kSpace));
  EXPECT_EQ(view.edges[1].tokens, Count(40));
  EXPECT_EQ(view.edges[2].tokens, Count(kMostViewedTokens, 1000)) << "no more than the bound";
  EXPECT_EQ(view.edges[3].tokens, Count(30, 40));
}

TEST_F(PrefixTreeViewTest, SaysWhoIsThereAndWhatGoesNext) {
  Run(Count(20, 100));
  Run(Count(30, 200));
  const PrefixTree::Pin pin = Run(Count(40, 300));
  const PrefixView view = tree_.View();
  ASSERT_EQ(view.edges.size(), 4u);
  EXPECT_TRUE(view.edges[0].in_use);
  EXPECT_TRUE(view.edges[1].in_use) << "40 tokens wide: first";
  EXPECT_FALSE(view.edges[2].in_use);
  EXPECT_EQ(view.edges[2].age, 0) << "used last";
  EXPECT_EQ(view.edges[3].age, 1) << "the next to be evicted";
}

TEST_F(PrefixTreeViewTest, KeepsTheWidestAndSomeOfEachNamespace) {
  // A thousand texts of one namespace, of 1 to 32 tokens, and twenty of another.
  for (TokenId text = 0; text < 1000; ++text)
    Run(Count(1 + text % 32, 10'000 * (text + 1)), Namespace{1});
  for (TokenId text = 0; text < 20; ++text) Run(Count(2, 10 * text), Namespace{2});
  const PrefixView view = tree_.View();
  ASSERT_EQ(view.root_count, 2);
  EXPECT_LE(std::ssize(view.edges), kMostViewedEdges + 2 * (kLeastViewedEdges + 1));
  int64_t narrowest = 32;
  int64_t of_second = 0;
  for (const ViewedEdge& edge : view.edges) {
    if (edge.parent == 0) narrowest = std::min(narrowest, edge.end - edge.begin);
    of_second += int64_t{edge.parent > 0};
  }
  EXPECT_EQ(of_second, kLeastViewedEdges);
  // 1,000 texts are 16,500 tokens: of the 512 edges it has 511, so all of 17 tokens and more.
  EXPECT_GE(narrowest, 16);
}

// The widest namespaces, where there are more than a view has.
TEST_F(PrefixTreeViewTest, LeavesOutTheNarrowestNamespaces) {
  for (TokenId space = 1; space <= 40; ++space) Run(Count(space), Namespace{uint64_t(space)});
  const PrefixView view = tree_.View();
  EXPECT_EQ(view.root_count, 40);
  std::vector<int64_t> widths;
  for (const ViewedEdge& edge : view.edges)
    if (edge.parent < 0) widths.push_back(edge.below);
  ASSERT_EQ(std::ssize(widths), kMostViewedRoots);
  EXPECT_EQ(widths.front(), 40);
  EXPECT_EQ(widths.back(), 9);
}

// What a view of so many texts costs, each in a page of its own.
struct ViewCost {
  test::Cost cost;
  PrefixView view;
};
ViewCost CostOfView(TokenId texts) {
  PagePool pool(texts);
  PrefixTree tree(&pool);
  PageTable table(&pool, 32);
  std::vector<PageCopy> copies;
  for (TokenId text = 0; text < texts; ++text) {
    const std::vector<TokenId> tokens(static_cast<size_t>(1 + text % 3), text);
    PrefixTree::Pin pin = tree.Acquire(kSpace, tokens, &table);
    EXPECT_TRUE(table.PrepareWrite(0, std::ssize(tokens), &copies));
    tree.Insert(&pin, tokens, &table);
    table.Truncate(0);
  }
  ViewCost result;
  result.cost = test::CostOf([&] { result.view = tree.View(); });
  return result;
}

// The engine's thread takes it between two steps. It looks at each node and keeps no more than is
// shown: at 100,000 pages it takes as many pieces of memory as at 10,000, and beside what is shown
// twelve bytes a node for as long as it takes.
TEST(PrefixTreeView, OfAHundredThousandPagesIsAsLargeAsOfTenThousand) {
  const ViewCost some = CostOfView(10'000);
  const ViewCost many = CostOfView(100'000);
  EXPECT_EQ(many.view.token_count, 199'999);
  EXPECT_EQ(std::ssize(many.view.edges), kMostViewedEdges + 1);
  EXPECT_EQ(many.view.edges.size(), some.view.edges.size());
  const auto is_widest = [](const ViewedEdge& edge) { return edge.parent < 0 || edge.end == 3; };
  EXPECT_TRUE(std::ranges::all_of(many.view.edges, is_widest));
  EXPECT_EQ(many.cost.allocations, some.cost.allocations);
  EXPECT_LE(many.cost.allocations, 2 * kMostViewedEdges);
  EXPECT_LE(many.cost.peak_bytes, 12 * 100'100 + 300'000);
}

}  // namespace
}  // namespace skald::kv
