#include "cli/traffic_workload.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace skald::cli {
namespace {

constexpr int64_t kVocab = 2000;

std::vector<TokenId> Front(const TrafficRequest& request, int64_t count) {
  return {request.prompt.begin(), request.prompt.begin() + count};
}

TEST(TrafficWorkload, SharedPromptsBeginAlikeAndEndApart) {
  const auto requests =
      MakeTraffic({.num_prompts = 3, .prefix_len = 40, .input_len = 5, .output_len = 7}, kVocab);
  ASSERT_EQ(requests.size(), 3u);
  for (const TrafficRequest& request : requests) {
    EXPECT_EQ(request.prompt.size(), 45u);
    EXPECT_EQ(request.output_tokens, 7);
    EXPECT_EQ(request.arrival_seconds, 0);
    EXPECT_EQ(Front(request, 40), Front(requests.front(), 40));
  }
  EXPECT_NE(requests[0].prompt, requests[1].prompt);
  EXPECT_NE(requests[1].prompt, requests[2].prompt);
}

TEST(TrafficWorkload, TokensAreOfTheVocabularyAndNotControlTokens) {
  const auto requests = MakeTraffic({.num_prompts = 2, .prefix_len = 3000}, kVocab);
  for (const TokenId token : requests.front().prompt) {
    EXPECT_GE(token, 512);
    EXPECT_LT(token, kVocab);
  }
  const auto tiny = MakeTraffic({.num_prompts = 1, .prefix_len = 3000}, 3);
  EXPECT_EQ(*std::max_element(tiny.front().prompt.begin(), tiny.front().prompt.end()), 2);
}

TEST(TrafficWorkload, RandomLengthsVaryAroundTheirMean) {
  const auto requests = MakeTraffic(
      {.kind = TrafficKind::kRandom, .num_prompts = 400, .input_len = 50, .output_len = 1}, kVocab);
  double sum = 0;
  for (const TrafficRequest& request : requests) {
    EXPECT_GE(request.prompt.size(), 1u);
    EXPECT_LE(request.prompt.size(), 99u);
    EXPECT_EQ(request.output_tokens, 1);
    sum += static_cast<double>(request.prompt.size());
  }
  EXPECT_NEAR(sum / 400, 50, 5);
}

TEST(TrafficWorkload, ArrivalsComeAtTheRateAsked) {
  const auto requests = MakeTraffic({.num_prompts = 1000, .request_rate = 20}, kVocab);
  EXPECT_EQ(requests.front().arrival_seconds, 0);
  EXPECT_NEAR(requests.back().arrival_seconds, 50, 7);
}

constexpr const char* kMooncake =
    R"({"timestamp": 1000, "input_length": 700, "output_length": 5, "hash_ids": [7, 8]}
{"timestamp": 2500, "input_length": 1024, "output_length": 6, "hash_ids": [7, 9]}
{"timestamp": 3000, "input_length": 10, "output_length": 0, "hash_ids": [7]}
)";

TEST(TrafficTrace, EqualBlocksAreEqualText) {
  const auto requests = ParseTrace(kMooncake, {.num_prompts = 9}, kVocab);
  ASSERT_TRUE(requests.ok());
  ASSERT_EQ(requests->size(), 3u);
  const TrafficRequest& first = (*requests)[0];
  const TrafficRequest& second = (*requests)[1];
  EXPECT_EQ(first.prompt.size(), 700u);
  EXPECT_EQ(second.prompt.size(), 1024u);
  EXPECT_EQ(Front(first, 512), Front(second, 512));
  EXPECT_NE(first.prompt[512], second.prompt[512]);
  EXPECT_EQ((*requests)[2].prompt, Front(first, 10));
  EXPECT_EQ(first.arrival_seconds, 0);
  EXPECT_DOUBLE_EQ(second.arrival_seconds, 1.5);
  EXPECT_EQ(second.output_tokens, 6);
  EXPECT_EQ((*requests)[2].output_tokens, 1);  // a request computes at least one token
}

TEST(TrafficTrace, ScaleDividesLengthsAndTimes) {
  const auto requests = ParseTrace(kMooncake, {.num_prompts = 2, .trace_scale = 16}, kVocab);
  ASSERT_TRUE(requests.ok());
  ASSERT_EQ(requests->size(), 2u);
  EXPECT_EQ((*requests)[0].prompt.size(), 43u);
  EXPECT_EQ(Front((*requests)[0], 32), Front((*requests)[1], 32));
  EXPECT_NE((*requests)[0].prompt[32], (*requests)[1].prompt[32]);
  EXPECT_DOUBLE_EQ((*requests)[1].arrival_seconds, 1.5 / 16);
}

TEST(TrafficTrace, AzureLinesHaveTimesAndLengths) {
  const auto requests = ParseTrace(
      "TIMESTAMP,ContextTokens,GeneratedTokens\r\n"
      "2023-11-16 18:59:59.5000000,374,44\r\n"
      "2023-11-16 19:00:01.0000000,396,109\r\n",
      {.num_prompts = 9}, kVocab);
  ASSERT_TRUE(requests.ok());
  ASSERT_EQ(requests->size(), 2u);
  EXPECT_EQ((*requests)[0].prompt.size(), 374u);
  EXPECT_EQ((*requests)[1].output_tokens, 109);
  EXPECT_DOUBLE_EQ((*requests)[1].arrival_seconds, 1.5);
}

TEST(TrafficTrace, WrongLinesAreNamed) {
  const auto error = [](const char* text) {
    return std::string(ParseTrace(text, {}, kVocab).status().message());
  };
  EXPECT_EQ(error("{\"timestamp\": 1, \"input_length\": -4, \"output_length\": 1}\n"),
            "trace, line 1: expected a whole number 'input_length'");
  EXPECT_EQ(error("heading\n\n2023-11-16 25:00:00,1,2\n"),
            "trace, line 3: expected 'date time,prompt tokens,answer tokens'");
  EXPECT_EQ(error("heading\n1,2\n"), "trace, line 2: expected three columns");
  EXPECT_EQ(error(""), "the trace has no request");
}

}  // namespace
}  // namespace skald::cli
