#include "model/step_tap.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace skald::model {
namespace {

// A step of three rows from position 7 on, of which the first and the last have logits.
class StepTapTest : public testing::Test {
 protected:
  StepTapTest() {
    tap_.Begin({.tokens = tokens_, .sequences = sequences_, .logit_rows = logit_rows_});
  }

  const std::vector<TokenId> tokens_ = {1, 2, 3};
  const std::vector<SequenceRows> sequences_ = {{.row_count = 3, .first_position = 7, .pages = {}}};
  const std::vector<int32_t> logit_rows_ = {0, 2};
  StepTap tap_{{.experts = true}};
};

TEST_F(StepTapTest, KnowsWhereRowsStandOfTheWholeStepAndBehindTheLastMixer) {
  const std::array<int32_t, 6> chosen = {0, 3, 1, 2, 0, 2};
  const std::array<float, 6> weights = {.5f, .5f, .25f, .75f, 1, 0};
  tap_.SeeExperts({.layer = 4}, 3, chosen, weights);
  tap_.SeeExperts({.layer = 5}, 2, std::span(chosen).first(4), std::span(weights).first(4));
  const Tapped tapped = tap_.Take();
  ASSERT_EQ(tapped.experts.size(), 5u);
  EXPECT_EQ(tapped.experts[1].position, 8);
  EXPECT_EQ(tapped.experts[1].experts, (std::vector<int32_t>{1, 2}));
  EXPECT_EQ(tapped.experts[1].weights, (std::vector<float>{.25f, .75f}));
  EXPECT_EQ(tapped.experts[3].part.layer, 5);
  EXPECT_EQ(tapped.experts[3].position, 7);
  EXPECT_EQ(tapped.experts[4].position, 9);
}

TEST_F(StepTapTest, TakesWhatWasSeenOnce) {
  tap_.SeeDepth({.layer = 1, .position = 9, .stream = {1, 2}});
  EXPECT_EQ(tap_.Take().depth.size(), 1u);
  EXPECT_TRUE(tap_.Take().depth.empty());
}

TEST_F(StepTapTest, SumsUpTheRowsThatItIsShown) {
  std::array<float, 8> values = {1, 2, 99, 99, 3, 4, 99, 99};
  tap_.SeeValues({.part = {.layer = 2}, .rows = 2, .width = 2}, {values.data(), 4});
  const Tapped tapped = tap_.Take();
  ASSERT_EQ(tapped.values.size(), 1u);
  EXPECT_EQ(tapped.values[0].rows, 2);
  EXPECT_EQ(tapped.values[0].width, 2);
  EXPECT_EQ(tapped.values[0].summary.max, 4) << "what fills rows up is none of it";
}

}  // namespace
}  // namespace skald::model
