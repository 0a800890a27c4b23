#include "cli/traffic_report.h"

#include <gtest/gtest.h>

#include <string>

namespace skald::cli {
namespace {

TEST(Quantile, IsTheNearestRank) {
  EXPECT_EQ(Quantile({3}, 0.5), 3);
  EXPECT_EQ(Quantile({3, 1, 2, 4}, 0.5), 2);
  EXPECT_EQ(Quantile({3, 1, 2, 4}, 0.51), 3);
  EXPECT_EQ(Quantile({3, 1, 2, 4}, 0), 1);
  EXPECT_EQ(Quantile({3, 1, 2, 4}, 1), 4);
}

TrafficReport TwoRequests() {
  TrafficReport report;
  report.header.ceilings = {Ceilings{}};
  report.outcome.seconds = 2;
  report.outcome.records = {{.prompt_tokens = 100,
                             .cached_tokens = 0,
                             .token_seconds = {0.5, 0.6, 0.8},
                             .finished_seconds = 0.8},
                            {.prompt_tokens = 100,
                             .cached_tokens = 60,
                             .cached_from = {.memory = 28, .disk = 32},
                             .token_seconds = {0.1},
                             .finished_seconds = 0.1}};
  report.bound_seconds = 1;
  return report;
}

TEST(TrafficReport, CountsTokensAndCacheHits) {
  const std::string text = TrafficText(TwoRequests());
  EXPECT_NE(text.find("2.0 output tokens/s, 100.0 prompt tokens/s"), std::string::npos) << text;
  EXPECT_NE(text.find("prompt tokens: 200, of these 30.0 % from the cache"), std::string::npos);
  EXPECT_NE(text.find("ceiling 1.00 s: 50 %"), std::string::npos) << text;
}

TEST(TrafficReport, SaysHowManyGuessesWereRight) {
  TrafficReport report = TwoRequests();
  EXPECT_EQ(TrafficText(report).find("speculation"), std::string::npos);
  report.outcome.stats.draft_tokens = 4;
  report.outcome.stats.draft_tokens_accepted = 3;
  report.outcome.stats.output_tokens = 8;
  report.outcome.stats.passes = 5;
  const std::string text = TrafficText(report);
  EXPECT_NE(text.find("speculation: 3 of 4 guessed tokens were right (75 %); 1.60 tokens a pass\n"),
            std::string::npos)
      << text;
  EXPECT_NE(TrafficJson(report).find("\"draft_tokens\":4,\"draft_tokens_accepted\":3"),
            std::string::npos);
}

TEST(TrafficReport, TellsOfStatesWhereThereAreSome) {
  TrafficReport report = TwoRequests();
  EXPECT_EQ(TrafficText(report).find("states:"), std::string::npos);
  report.outcome.stats.states_total = 9;
  report.outcome.stats.states_cached = 5;
  report.outcome.stats.states_copied = 7;
  report.outcome.stats.states_evicted = 3;
  EXPECT_NE(TrafficText(report).find("states: 9, snapshots at the end 5, copied 7, evicted 3\n"),
            std::string::npos);
  EXPECT_NE(TrafficJson(report).find("\"states_total\":9,\"states_cached\":5,"
                                     "\"states_copied\":7,\"states_evicted\":3"),
            std::string::npos);
}

TEST(TrafficReport, JsonHasTheQuantiles) {
  const std::string json = TrafficJson(TwoRequests());
  EXPECT_NE(json.find("\"output_tokens_per_second\":2"), std::string::npos) << json;
  EXPECT_NE(json.find("\"ttft_seconds\":{\"count\":2,\"p50\":0.1,\"p90\":0.5"), std::string::npos);
  EXPECT_NE(json.find("\"tbt_seconds\":{\"count\":2"), std::string::npos);
}

TEST(TrafficReport, SaysOfEachRequestOfAnAgentWhatWasNewAndWhatWasComputed) {
  TrafficReport report = TwoRequests();
  EXPECT_EQ(TrafficJson(report).find("\"turns\""), std::string::npos);
  report.shape.kind = TrafficKind::kAgent;
  report.agent_rows = {{.turn = 1, .step = AgentStep::kMessage, .new_tokens = 100},
                       {.turn = 1, .step = AgentStep::kSideQuestion, .new_tokens = 30}};
  const std::string text = TrafficText(report);
  EXPECT_NE(
      text.find("|    1 | side question |    100 |  30 |       40 |     28 |        0 |   32 | "
                "100 ms |"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("of the prompts 130 tokens were new, 140 were computed; from memory"),
            std::string::npos);
  EXPECT_NE(
      TrafficJson(report).find(
          R"({"turn":1,"request":"side question","prompt_tokens":100,"new_tokens":30,)"
          R"("cached_tokens":60,"cached_tokens_details":{"memory":28,"snapshot":0,"disk":32},)"
          R"("ttft_seconds":0.1})"),
      std::string::npos);
}

TEST(TrafficReport, TheIntrudedStreamIsComparedWithItself) {
  TrafficReport report = TwoRequests();
  report.shape.kind = TrafficKind::kIntruder;
  report.gaps_alone = {0.1, 0.1};
  report.gaps_during = {0.1, 0.25};
  EXPECT_NE(TrafficText(report).find("2.50 x its time alone"), std::string::npos);
}

}  // namespace
}  // namespace skald::cli
