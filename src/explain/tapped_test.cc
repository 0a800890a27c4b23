#include "explain/tapped.h"

#include <gtest/gtest.h>

namespace skald::explain {
namespace {

using model::HeadWeights;
using model::PartKind;

TEST(Tapped, SumsUpAHead) {
  Explanation explanation;
  AddAttention(
      {{.part = {PartKind::kMixer, 2},
        .head = 1,
        .position = 3,
        .weights = {.25f, .25f, .25f, .25f}},
       {.part = {PartKind::kMixer, 2}, .head = 1, .position = 4, .first_key = 4, .weights = {1}}},
      &explanation);
  AddHeads(&explanation);
  ASSERT_EQ(explanation.heads.size(), 1u);
  EXPECT_EQ(explanation.heads[0].layer, 2);
  EXPECT_EQ(explanation.heads[0].head, 1);
  EXPECT_DOUBLE_EQ(explanation.heads[0].entropy_bits, 1) << "2 bits and none";
  EXPECT_DOUBLE_EQ(explanation.heads[0].distance, .75) << "1.5 tokens back and none";
}

// A sink is one thing more to look at, and nowhere in the text.
TEST(Tapped, GivesASinkItsShare) {
  Explanation explanation;
  AddAttention(
      {{.part = {PartKind::kBeside, 0}, .position = 1, .has_sink = true, .weights = {.5f, 0}}},
      &explanation);
  ASSERT_TRUE(explanation.attention[0].sink.has_value());
  EXPECT_TRUE(explanation.attention[0].beside);
  EXPECT_DOUBLE_EQ(*explanation.attention[0].sink, .5);
  AddHeads(&explanation);
  EXPECT_DOUBLE_EQ(explanation.heads[0].entropy_bits, 1);
  EXPECT_DOUBLE_EQ(explanation.heads[0].distance, 1);
}

}  // namespace
}  // namespace skald::explain
