#include "cli/traffic_run.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "skald/model.h"

namespace skald::cli {
namespace {

class TrafficRun : public ::testing::Test {
 protected:
  TrafficRun() {
    Result<Model> model =
        LoadModel({.path = std::string(SKALD_SOURCE_DIR) + "/models/tales/tales.gguf"});
    EXPECT_TRUE(model.ok());
    model_.emplace(std::move(*model));
  }

  Engine MakeEngine(const EngineOptions& options) const {
    Result<Engine> engine = Engine::Create(*model_, options);
    EXPECT_TRUE(engine.ok()) << engine.status().message();
    return std::move(*engine);
  }

  std::vector<TrafficRequest> Requests(const TrafficShape& shape) const {
    return MakeTraffic(shape, model_->tokenizer().vocab_size());
  }

  std::optional<Model> model_;
  const TrafficGoOn go_on_ = [] { return true; };
};

TEST_F(TrafficRun, EveryRequestGetsItsTokensAndTheSharedPrefixIsComputedOnce) {
  Engine engine = MakeEngine({.context = 128, .threads = 1, .kv_positions = 1024});
  const auto requests =
      Requests({.num_prompts = 6, .prefix_len = 64, .input_len = 8, .output_len = 5});
  const auto outcome = RunTraffic(engine, requests, 2, go_on_);
  ASSERT_TRUE(outcome.ok());
  ASSERT_EQ(outcome->records.size(), 6u);
  EXPECT_EQ(outcome->refused, 0);
  int64_t cached = 0;
  for (const TrafficRecord& record : outcome->records) {
    EXPECT_EQ(record.prompt_tokens, 72);
    EXPECT_EQ(record.token_seconds.size(), 5u);
    EXPECT_EQ(record.reason, FinishReason::kLength);
    EXPECT_GE(record.finished_seconds, record.token_seconds.back());
    EXPECT_EQ(GapsOf(record).size(), 4u);
    cached += record.cached_tokens;
  }
  EXPECT_GE(cached, 5 * 64);
  EXPECT_EQ(outcome->stats.output_tokens, 30);
}

// Of the first turn everything, later what the agent added: edits and side questions included.
TEST_F(TrafficRun, OfAnAgentsTurnsWhatIsNewIsComputed) {
  Engine engine = MakeEngine({.context = 512, .threads = 1, .kv_positions = 1024});
  const TrafficShape shape = {.kind = TrafficKind::kAgent,
                              .num_prompts = 10,
                              .prefix_len = 96,
                              .input_len = 20,
                              .output_len = 8};
  auto outcome =
      RunAgent(engine, AgentConversation(shape, model_->tokenizer().vocab_size()), go_on_);
  ASSERT_TRUE(outcome.ok()) << outcome.status().message();
  ASSERT_EQ(outcome->rows.size(), 14u);  // ten turns, two side questions in the 4th and the 8th
  ASSERT_EQ(outcome->traffic.records.size(), 14u);
  EXPECT_EQ(outcome->rows[0].new_tokens, 116);
  EXPECT_EQ(outcome->rows.back().step, AgentStep::kEdit);
  int64_t new_tokens = 0;
  int64_t computed = 0;
  for (size_t i = 0; i < outcome->rows.size(); ++i) {
    const TrafficRecord& record = outcome->traffic.records[i];
    EXPECT_EQ(record.tokens.size(), 8u);
    new_tokens += outcome->rows[i].new_tokens;
    computed += record.prompt_tokens - record.cached_tokens;
  }
  // Side questions do not wait for the few tokens that the turn beside them is about to compute.
  EXPECT_LE(computed, new_tokens + 14 * 8);
  EXPECT_GE(computed, new_tokens);
  // And says what it says with nothing cached; the last answer is said to be another one.
  auto differs = FirstThatDiffers(engine, *outcome, go_on_);
  ASSERT_TRUE(differs.ok()) << differs.status().message();
  EXPECT_FALSE(differs->has_value());
  ++outcome->traffic.records.back().tokens.back();
  EXPECT_EQ(*FirstThatDiffers(engine, *outcome, go_on_), 13u);
}

TEST_F(TrafficRun, AnAgentThatOutgrowsTheContextIsToldSo) {
  Engine engine = MakeEngine({.context = 128, .threads = 1});
  const TrafficShape shape = {.kind = TrafficKind::kAgent, .num_prompts = 10, .prefix_len = 96};
  const auto outcome =
      RunAgent(engine, AgentConversation(shape, model_->tokenizer().vocab_size()), go_on_);
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.status().code(), ErrorCode::kInvalidArgument);
}

TEST_F(TrafficRun, ARequestThatCannotFitIsCountedAsRefused) {
  Engine engine = MakeEngine({.context = 64, .threads = 1});
  const auto requests =
      Requests({.num_prompts = 2, .prefix_len = 0, .input_len = 65, .output_len = 1});
  const auto outcome = RunTraffic(engine, requests, 2, go_on_);
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->refused, 2);
  EXPECT_TRUE(outcome->records.empty());
}

TEST_F(TrafficRun, WhoGivesUpLeavesAnEmptyEngine) {
  Engine engine = MakeEngine({.context = 128, .threads = 1});
  const auto requests = Requests({.num_prompts = 4, .prefix_len = 0, .output_len = 60});
  const auto outcome = RunTraffic(engine, requests, 4, [] { return false; });
  EXPECT_EQ(outcome.status().code(), ErrorCode::kCancelled);
  EXPECT_EQ(engine.Stats().running, 0);
  EXPECT_EQ(engine.Stats().pages_held, 0);
}

// Whether it comes before the stream has ended is up to the machine: who waits for a quarter of the
// stream may sleep longer than the rest of it takes.
TEST_F(TrafficRun, TheIntruderArrivesBehindAQuarterOfTheStream) {
  Engine engine = MakeEngine({.context = 256, .threads = 1, .kv_positions = 1024});
  const auto requests =
      Requests({.kind = TrafficKind::kIntruder, .input_len = 200, .output_len = 100});
  const auto outcome = RunIntruder(engine, requests, go_on_);
  ASSERT_TRUE(outcome.ok()) << outcome.status().message();
  EXPECT_EQ(GapsOf(outcome->alone.records.at(0)).size(), 99u);
  ASSERT_EQ(outcome->disturbed.records.size(), 2u);
  EXPECT_EQ(outcome->disturbed.records[0].token_seconds.size(), 100u);
  EXPECT_FALSE(outcome->disturbed.records[1].token_seconds.empty());
  EXPECT_LE(outcome->gaps_during.size(), 75u);
}

TEST(GapsBetween, TakesThoseThatOverlap) {
  const TrafficRecord record = {.token_seconds = {0, 1, 3, 6, 10, 15}};
  EXPECT_EQ(GapsBetween(record, 2, 7), (std::vector<double>{2, 3, 4}));
  EXPECT_EQ(GapsBetween(record, 3, 6), (std::vector<double>{2, 3, 4}));
  EXPECT_EQ(GapsBetween(record, 0, 100), GapsOf(record));
  EXPECT_EQ(GapsBetween(record, 4, 5), (std::vector<double>{3}));
  EXPECT_TRUE(GapsBetween(record, 16, 20).empty());
}

}  // namespace
}  // namespace skald::cli
