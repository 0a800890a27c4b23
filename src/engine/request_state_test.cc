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
