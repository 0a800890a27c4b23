#include "engine/request_check.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace skald::engine {
namespace {

constexpr RequestLimits kLimits = {
    .context = 320, .vocab = 100, .page_count = 11, .max_running = 8};

// Checks a good request after a change, expects the error to contain `part`; "" = none.
void Check(const std::function<void(Request&)>& change, std::string_view part,
           ErrorCode code = ErrorCode::kInvalidArgument) {
  Request request{.prompt = {1, 2, 3}};
  request.stop.max_tokens = 10;
  change(request);
  const Status status = CheckRequest(request, kLimits);
  EXPECT_EQ(ErrorCodeName(status.code()), ErrorCodeName(part.empty() ? ErrorCode::kOk : code));
  EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
}

TEST(RequestCheck, TakesWhatMakesSense) {
  Check([](Request&) {}, "");
  Check([](Request& r) { r.stop.max_tokens = -1; }, "");
  Check([](Request& r) { r.n = 8; }, "");
  Check([](Request& r) { r.best_of = 8; }, "");
  Check([](Request& r) { r.stop.min_tokens = 10; }, "");
  Check([](Request& r) { r.deadline_seconds = 0; }, "");
}

TEST(RequestCheck, SequencesAreAtLeastOneAndFitTheEngine) {
  Check([](Request& r) { r.n = 0; }, "n is 0");
  Check([](Request& r) { r.n = -1; }, "n is -1");
  Check([](Request& r) { r.n = 9; }, "expected at most 8");
  Check([](Request& r) { r.n = 3, r.best_of = 2; }, "best_of is 2");
  Check([](Request& r) { r.best_of = 9; }, "expected at most 8");
}

TEST(RequestCheck, PlacesAscendWithinThePrompt) {
  Check([](Request& r) { r.places = {1, 2}; }, "");
  Check([](Request& r) { r.places = {0}; }, "a place is 0");
  Check([](Request& r) { r.places = {2, 2}; }, "a place is 2");
  Check([](Request& r) { r.places = {3}; }, "less than the 3 tokens");
  Check([](Request& r) { r.places.assign(17, 1); }, "expected at most 16");
}

TEST(RequestCheck, AModelThatEmbedsDoesNotGenerate) {
  RequestLimits limits = kLimits;
  limits.generates = false;
  Request request{.prompt = {1, 2, 3}, .pooling = Pooling::kMean};
  EXPECT_TRUE(CheckRequest(request, limits).ok());
  request.pooling = Pooling::kNone;
  for (const int32_t beams : {0, 2}) {
    request.beam_search.beams = beams;
    const Status status = CheckRequest(request, limits);
    EXPECT_EQ(ErrorCodeName(status.code()), ErrorCodeName(ErrorCode::kUnsupported));
    EXPECT_EQ(status.message(), "this model embeds texts; it does not generate");
  }
}

TEST(RequestCheck, BeamsNeedANetworkWithoutStates) {
  RequestLimits limits = kLimits;
  limits.has_states = true;
  Request request{.prompt = {1, 2, 3}};
  request.stop.max_tokens = 10;
  request.n = 3;
  EXPECT_TRUE(CheckRequest(request, limits).ok());
  request.beam_search.beams = 3;
  const Status status = CheckRequest(request, limits);
  EXPECT_EQ(ErrorCodeName(status.code()), ErrorCodeName(ErrorCode::kUnsupported));
  EXPECT_NE(status.message().find("carry a state"), std::string::npos) << status.message();
}

TEST(RequestCheck, BeamsAreAtLeastTheTextsWantedAndFitTogether) {
  Check([](Request& r) { r.beam_search.beams = 4, r.n = 4; }, "");
  Check([](Request& r) { r.beam_search.beams = 3, r.n = 4; }, "beams is 3");
  Check([](Request& r) { r.beam_search.beams = -1; }, "beams is -1");
  Check([](Request& r) { r.beam_search.beams = 9; }, "number of sequences is 9");
  Check([](Request& r) { r.beam_search = {.beams = 2, .length_penalty = 10.5}; }, "length_penalty");
  Check([](Request& r) { r.beam_search.beams = 2, r.sampling.top_logprobs = 0; }, "log prob");
  Check([](Request& r) { r.beam_search.beams = 2, r.best_of = 2; }, "goes without best_of");
  Check([](Request& r) { r.beam_search.beams = 2, r.pooling = Pooling::kMean; }, "embeddings");
  // Of each beam the page where the prompt ends and one more; one to copy into: 11 in all.
  Check([](Request& r) { r.beam_search.beams = 5; }, "");
  Check([](Request& r) { r.beam_search.beams = 6; }, "can need 13 pages",
        ErrorCode::kResourceExhausted);
  // What is full of the prompt is shared: 3 pages, 3 x (1 + 1), 1.
  const auto long_prompt = [](Request& r) {
    r.prompt.assign(100, 1);
    r.beam_search.beams = 3;
  };
  Check(long_prompt, "");
}

TEST(RequestCheck, AnEmbeddingIsOneAndNeedsNoRoomForTokens) {
  Check([](Request& r) { r.pooling = Pooling::kMean; }, "");
  Check([](Request& r) { r.pooling = Pooling::kMean, r.n = 2; }, "number of sequences is 2");
  Check([](Request& r) { r.pooling = Pooling::kLast, r.best_of = 2; }, "number of sequences is 2");
  const auto longest = [](Request& r) {
    r.prompt.assign(static_cast<size_t>(kLimits.context), 1);
    r.pooling = Pooling::kLast;
    r.stop.max_tokens = -1;
  };
  Check(longest, "");
}

TEST(RequestCheck, LogProbabilitiesOfThePromptAreOfTextsThatGoOn) {
  Check([](Request& r) { r.prompt_logprobs = 0; }, "");
  Check([](Request& r) { r.prompt_logprobs = kMaxTopLogprobs; }, "");
  Check([](Request& r) { r.prompt_logprobs = -1; }, "prompt_logprobs is -1");
  Check([](Request& r) { r.prompt_logprobs = kMaxTopLogprobs + 1; }, "prompt_logprobs is 21");
  Check([](Request& r) { r.prompt_logprobs = 0, r.pooling = Pooling::kMean; }, "go without emb");
  Check([](Request& r) { r.prompt_logprobs = 0, r.beam_search.beams = 2; }, "and beam search");
}

TEST(RequestCheck, StopRulesAreConsistent) {
  Check([](Request& r) { r.stop.min_tokens = -1; }, "min_tokens is -1");
  Check([](Request& r) { r.stop.min_tokens = 11; }, "min_tokens is 11");
  Check([](Request& r) { r.stop.stop_tokens = {100}; }, "stop token 100");
  Check([](Request& r) { r.stop.stop_tokens = {-1}; }, "stop token -1");
}

TEST(RequestCheck, TenantsHaveAShareAndRoomForTheirRequests) {
  Check([](Request& r) { r.tenant = -7, r.tenant_share = kMaxTenantShare; }, "");
  Check([](Request& r) { r.tenant_share = 0; }, "tenant_share is 0");
  Check([](Request& r) { r.tenant_share = kMaxTenantShare + 1; }, "tenant_share is 101");
  Check([](Request& r) { r.tenant_running = 3, r.n = 3; }, "");
  Check([](Request& r) { r.tenant_running = 3, r.n = 4; }, "expected at most 3, the bound of");
  Check([](Request& r) { r.tenant_running = -1; }, "expected at most -1");
}

// A model may have more rows than its tokenizer has tokens, not fewer.
TEST(RequestCheck, AConstraintIsForTheModelsVocabulary) {
  const auto over = [](size_t tokens) {
    const std::vector<std::string_view> bytes(tokens, "a");
    return *Constraint::Create(*Grammar::FromRegex("a*"), Vocabulary::FromBytes(bytes));
  };
  Check([&](Request& r) { r.constraint = over(100); }, "");
  Check([&](Request& r) { r.constraint = over(3); }, "");
  Check([&](Request& r) { r.constraint = over(101); },
        "a vocabulary of 101 tokens, expected at most the model's 100");
}

TEST(RequestCheck, DeadlinesAreTimes) {
  Check([](Request& r) { r.deadline_seconds = -1; }, "deadline");
  Check([](Request& r) { r.deadline_seconds = std::numeric_limits<double>::quiet_NaN(); },
        "deadline");
}

TEST(RequestCheck, WhatCannotEverFitIsRefusedWithTheNumbers) {
  const auto ask = [](int64_t max_tokens) {
    Request request{.prompt = std::vector<TokenId>(100, 1)};
    request.stop.max_tokens = max_tokens;
    RequestLimits limits = kLimits;
    limits.page_count = 6;  // 5 pages of positions and one to copy a shared page into
    return CheckRequest(request, limits);
  };
  EXPECT_TRUE(ask(60).ok());
  const Status refused = ask(61);
  EXPECT_EQ(ErrorCodeName(refused.code()), ErrorCodeName(ErrorCode::kResourceExhausted));
  EXPECT_NE(refused.message().find("7 pages of KV (161 positions), there are 6"), std::string::npos)
      << refused.message();
  EXPECT_FALSE(ask(-1).ok());
  EXPECT_FALSE(ask(std::numeric_limits<int64_t>::max()).ok());
}

}  // namespace
}  // namespace skald::engine
