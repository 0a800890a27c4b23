#include "engine/request_state.h"

#include <gtest/gtest.h>

#include "kv/page_pool.h"

namespace skald::engine {
namespace {

TEST(Phase, LegalTransitionsAreTheseAndNoOthers) {
  constexpr int kPhases = 5;
  //                            to: queued prefill decode preempted finished
  constexpr bool kLegal[kPhases][kPhases] = {{false, true, false, false, true},     // queued
                                             {false, false, true, true, true},      // prefill
                                             {false, false, false, true, true},     // decode
                                             {false, true, false, false, true},     // preempted
                                             {false, false, false, false, false}};  // finished
  for (int from = 0; from < kPhases; ++from) {
    for (int to = 0; to < kPhases; ++to) {
      EXPECT_EQ(IsLegal(static_cast<Phase>(from), static_cast<Phase>(to)), kLegal[from][to])
          << from << " to " << to;
    }
  }
}

class RequestStateTest : public testing::Test {
 protected:
  std::unique_ptr<RequestState> Make(uint64_t id, const Request& request) {
    return MakeState({.id = RequestId{id},
                      .request = request,
                      .sink = std::make_shared<EventQueue>(8),
                      .seconds = 5},
                     end_tokens_, &pool_, 64);
  }
  const std::vector<TokenId> end_tokens_ = {7, 8};
  kv::PagePool pool_{4};
};

TEST_F(RequestStateTest, PriorityThenArrivalThenSequence) {
  const auto first = Make(1, {.prompt = {1}});
  const auto second = Make(2, {.prompt = {1}});
  Request urgent{.prompt = {1}};
  urgent.priority = 1;
  const auto third = Make(3, urgent);
  const Sequence& a = *first->sequences[0];
  const Sequence& b = *second->sequences[0];
  const Sequence& c = *third->sequences[0];
  EXPECT_TRUE(GoesBefore(a, b));
  EXPECT_FALSE(GoesBefore(b, a));
  EXPECT_FALSE(GoesBefore(a, a));
  EXPECT_TRUE(GoesBefore(c, a));
}

TEST_F(RequestStateTest, TheAnswerIsMadeOfTheBestInTheMean) {
  Request request{.prompt = {1}};
  request.n = 3;
  EXPECT_EQ(AnswerOf(*Make(1, request)), (std::vector<int32_t>{0, 1, 2}));
  request.best_of = 3;
  EXPECT_EQ(AnswerOf(*Make(1, request)), (std::vector<int32_t>{0, 1, 2}));
  request.best_of = 5;
  const auto state = Make(2, request);
  // Nothing is computed.
  EXPECT_EQ(AnswerOf(*state), (std::vector<int32_t>{0, 1, 2}));
  const auto sequence = [&](int32_t index, size_t tokens, double sum) {
    if (index > 0) {
      state->sequences.push_back(
          std::make_unique<Sequence>(state.get(), index, kv::PageTable(&pool_, 64)));
    }
    Sequence& each = *state->sequences.back();
    each.tokens.assign(1 + tokens, 1);
    each.logprob_sum = sum;
  };
  sequence(0, 2, -8);
  sequence(1, 1, -3);
  sequence(2, 4, -8);
  sequence(3, 1, -1);
  sequence(4, 2, -4);
  // Means -4, -3, -2, -1, -2.
  EXPECT_EQ(AnswerOf(*state), (std::vector<int32_t>{3, 2, 4}));
}

TEST_F(RequestStateTest, DeadlinesCountFromSubmit) {
  Request request{.prompt = {1}};
  request.deadline_seconds = 2;
  EXPECT_EQ(Make(1, request)->deadline_seconds, 7);
}

TEST_F(RequestStateTest, MinTokensBanWhatEndsTheText) {
  Request request{.prompt = {1}};
  request.stop = {.stop_tokens = {3}, .min_tokens = 2};
  const auto biased = [](const RequestState& state) {
    std::vector<TokenId> tokens;
    for (const LogitBias& bias : state.early_sampling->logit_bias) tokens.push_back(bias.token);
    return tokens;
  };
  EXPECT_EQ(biased(*Make(1, request)), (std::vector<TokenId>{7, 8, 3}));
  request.stop.ignore_eos = true;
  EXPECT_EQ(biased(*Make(1, request)), (std::vector<TokenId>{3}));
  request.stop.min_tokens = 0;
  EXPECT_FALSE(Make(1, request)->early_sampling.has_value());
}

TEST_F(RequestStateTest, BestOfNeedsLogProbabilities) {
  Request request{.prompt = {1}};
  EXPECT_FALSE(Make(1, request)->request.sampling.top_logprobs.has_value());
  request.best_of = 2;
  EXPECT_EQ(Make(1, request)->request.sampling.top_logprobs, 0);
}

TEST_F(RequestStateTest, ASlowReaderPausesBeforeItsQueueOverflows) {
  Request request{.prompt = {1}};
  const auto state = Make(1, request);  // a queue of 8, three events a step
  for (int i = 0; i < 5; ++i) {
    EXPECT_FALSE(state->paused());
    state->sink->Push({});
  }
  EXPECT_FALSE(state->paused());
  state->sink->Push({});
  EXPECT_TRUE(state->paused());
}

}  // namespace
}  // namespace skald::engine
