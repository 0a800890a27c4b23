#include "engine/beam_search.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace skald::engine {
namespace {

// "0:5=-1.5 ..." : beam, token, sum.
std::string Ranked(BeamSearch& search) {
  std::string text;
  for (const Extension& each : search.Rank()) {
    text += std::to_string(each.beam) + ":" + std::to_string(each.token) + " ";
  }
  return text;
}

std::string Finished(const BeamSearch& search) {
  std::string text;
  for (const FinishedText& each : search.finished()) {
    text += std::to_string(each.tokens.front()) + " ";
  }
  return text;
}

using Continuations = std::vector<TokenLogprob>;

TEST(BeamSearch, TheBestSumsGoFirst) {
  BeamSearch search({.beams = 2}, 10);
  search.Offer(0, -1.0, Continuations{{.token = 7, .logprob = -0.5}, {.token = 8, .logprob = -2}});
  search.Offer(1, -2.0, Continuations{{.token = 3, .logprob = -0.25}});
  EXPECT_EQ(Ranked(search), "0:7 1:3 0:8 ");
}

TEST(BeamSearch, OfEqualSumsTheBetterBeamAndThenTheLowerTokenGoesFirst) {
  BeamSearch search({.beams = 2}, 10);
  search.Offer(1, -1.0, Continuations{{.token = 2, .logprob = -1}});
  search.Offer(0, -0.5,
               Continuations{{.token = 9, .logprob = -1.5}, {.token = 4, .logprob = -1.5}});
  EXPECT_EQ(Ranked(search), "0:4 0:9 1:2 ");
}

TEST(BeamSearch, WhatWasOfferedBeforeTheLastRankIsForgotten) {
  BeamSearch search({.beams = 2}, 10);
  search.Offer(0, 0, Continuations{{.token = 1, .logprob = -1}});
  EXPECT_EQ(Ranked(search), "0:1 ");
  search.Offer(0, 0, Continuations{{.token = 2, .logprob = -1}});
  EXPECT_EQ(Ranked(search), "0:2 ");
}

TEST(BeamSearch, TheScoreIsTheSumOverThePoweredLength) {
  for (const auto& [penalty, score] :
       std::vector<std::pair<double, double>>{{0, -6}, {1, -2}, {2, -6.0 / 9}, {-1, -18}}) {
    BeamSearch search({.beams = 1, .length_penalty = penalty}, 10);
    search.Finish(std::vector<TokenId>{1, 2, 3}, -6, FinishReason::kStop);
    EXPECT_NEAR(search.finished().front().score, score, 1e-12) << penalty;
  }
}

TEST(BeamSearch, KeepsAsManyTextsAsThereAreBeamsAndTheEarlierOfEqualOnes) {
  BeamSearch search({.beams = 2, .length_penalty = 0}, 10);
  search.Finish(std::vector<TokenId>{1}, -3, FinishReason::kStop);
  search.Finish(std::vector<TokenId>{2}, -2, FinishReason::kStop);
  search.Finish(std::vector<TokenId>{3}, -2, FinishReason::kStop);
  EXPECT_EQ(Finished(search), "2 3 ");
  search.Finish(std::vector<TokenId>{4}, -2, FinishReason::kStop);
  EXPECT_EQ(Finished(search), "2 3 ");
}

// One beam; a text of score -1 is finished. The best beam has a sum of -3 at 2 tokens of at most
// 10: it is worse now (-1.5), and could be better in the end (-0.3).
TEST(BeamSearch, EndsAsTheStopRuleSays) {
  const auto is_over = [](BeamStop stop, double penalty) {
    BeamSearch search({.beams = 1, .length_penalty = penalty, .stop = stop}, 10);
    EXPECT_FALSE(search.IsOver(-100, 2)) << "nothing is finished yet";
    search.Finish(std::vector<TokenId>{1}, -1, FinishReason::kStop);
    return search.IsOver(-3, 2);
  };
  EXPECT_TRUE(is_over(BeamStop::kFirst, 1));
  EXPECT_TRUE(is_over(BeamStop::kEstimate, 1));
  EXPECT_FALSE(is_over(BeamStop::kNever, 1));
  EXPECT_TRUE(is_over(BeamStop::kNever, 0));
}

TEST(BeamSearch, GoesOnWhileABeamIsBetterThanTheWorstFinishedText) {
  BeamSearch search({.beams = 1, .length_penalty = 1}, 10);
  search.Finish(std::vector<TokenId>{1}, -1, FinishReason::kStop);
  EXPECT_FALSE(search.IsOver(-1.9, 2));
  EXPECT_TRUE(search.IsOver(-2, 2)) << "no better";
}

}  // namespace
}  // namespace skald::engine
