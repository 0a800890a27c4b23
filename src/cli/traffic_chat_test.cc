#include "cli/traffic_chat.h"

#include <gtest/gtest.h>

#include <string>

#include "skald/model.h"

namespace skald::cli {
namespace {

class TrafficChat : public testing::Test {
 protected:
  TrafficChat()
      : model_(*LoadModel(
            {.path = std::string(SKALD_SOURCE_DIR) + "/models/tales/tales.gguf", .threads = 1})) {}

  Result<ChatTrace> Parse(const std::string& text, const TrafficShape& shape = {}) const {
    return ParseChatTrace(text, shape, model_);
  }
  void ExpectRefused(const std::string& text, const std::string& part) const {
    const Result<ChatTrace> trace = Parse(text);
    ASSERT_FALSE(trace.ok()) << text;
    EXPECT_EQ(trace.status().code(), ErrorCode::kInvalidArgument);
    EXPECT_NE(trace.status().message().find(part), std::string::npos) << trace.status().message();
  }

  const Model model_;
};

const std::string kHello = R"({"messages": [{"role": "user", "content": "Hello"}])";

TEST_F(TrafficChat, KnowsItsFilesByTheirFirstLine) {
  EXPECT_TRUE(IsChatTrace(kHello + "}\nwhatever"));
  EXPECT_FALSE(IsChatTrace(R"({"timestamp": 1, "input_length": 2, "output_length": 3})"));
  EXPECT_FALSE(IsChatTrace("TIMESTAMP,ContextTokens,GeneratedTokens\n"));
  EXPECT_FALSE(IsChatTrace(""));
}

TEST_F(TrafficChat, LengthsAndTimesAreThoseOfTheLine) {
  const ChatTrace trace =
      *Parse(kHello + R"(, "timestamp": 4000, "max_tokens": 7})" + "\r\n\n" + kHello +
                 R"(, "timestamp": 2000, "max_completion_tokens": 5})" + "\n" + kHello +
                 R"(, "timestamp": 3000, "max_tokens": null})",
             {.output_len = 9, .trace_scale = 2});
  ASSERT_EQ(trace.requests.size(), 3u);
  EXPECT_TRUE(trace.has_times);
  EXPECT_EQ(trace.requests[0].output_tokens, 5);
  EXPECT_EQ(trace.requests[1].output_tokens, 9);
  EXPECT_EQ(trace.requests[1].arrival_seconds, 0.5);
  EXPECT_EQ(trace.requests[2].arrival_seconds, 1);
  EXPECT_EQ(Parse(kHello + "}\n" + kHello + "}", {.num_prompts = 1})->requests.size(), 1u);
  EXPECT_FALSE(Parse(kHello + "}")->has_times);
}

// What clients send in another form is the same text.
TEST_F(TrafficChat, PartsAreJoined) {
  const ChatTrace whole = *Parse(R"({"messages": [{"role": "user", "content": "a b"}]})");
  const ChatTrace parts =
      *Parse(R"({"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}, )"
             R"({"type": "image_url"}, {"type": "text", "text": " b"}]}]})");
  EXPECT_EQ(parts.requests[0].prompt, whole.requests[0].prompt);
  EXPECT_GT(whole.requests[0].prompt.size(), 2u);
}

TEST_F(TrafficChat, RefusesWithTheLine) {
  ExpectRefused(kHello + "}\n{", "trace, line 2: expected a JSON object with a list 'messages'");
  ExpectRefused(kHello + R"(, "max_tokens": -1})", "trace, line 1: expected a whole number 'max_");
  ExpectRefused(kHello + R"(, "timestamp": 1})" + "\n" + kHello + "}", "in every line or in none");
  ExpectRefused(kHello + R"(, "max_tokens": 1000000})", "more than the model's context");
}

}  // namespace
}  // namespace skald::cli
