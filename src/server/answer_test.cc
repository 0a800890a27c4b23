#include "server/answer.h"

#include <gtest/gtest.h>

namespace skald::server {
namespace {

AnswerFrame Frame(GenerationKind kind) {
  return {.kind = kind, .id = "id-1", .created = 7, .model = "m", .with_logprobs = false};
}

Choice Ended(std::string text) { return {.text = std::move(text), .reason = FinishReason::kStop}; }

TEST(Answer, IsACompletion) {
  EXPECT_EQ(Answer(Frame(GenerationKind::kCompletion))
                .Whole({Ended("a\n\"")},
                       {.prompt_tokens = 3, .cached_tokens = 2, .completion_tokens = 4}),
            R"({"id":"id-1","object":"text_completion","created":7,"model":"m",)"
            R"("choices":[{"index":0,"text":"a\n\"","logprobs":null,"finish_reason":"stop",)"
            R"("stop_reason":null}],"usage":{"prompt_tokens":3,"completion_tokens":4,)"
            R"("total_tokens":7,"prompt_tokens_details":{"cached_tokens":2}}})");
}

TEST(Answer, IsAChatCompletion) {
  Choice choice = Ended("hi");
  choice.stop_string = "END";
  EXPECT_EQ(Answer(Frame(GenerationKind::kChat)).Whole({choice}, {}),
            R"({"id":"id-1","object":"chat.completion","created":7,"model":"m",)"
            R"("choices":[{"index":0,"message":{"role":"assistant","content":"hi",)"
            R"("refusal":null},"logprobs":null,"finish_reason":"stop","stop_reason":"END"}],)"
            R"("usage":{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0,)"
            R"("prompt_tokens_details":{"cached_tokens":0}}})");
}

TEST(Answer, StreamsTheRoleWithTheFirstTextOnly) {
  const Answer answer(Frame(GenerationKind::kChat));
  const std::string head =
      R"(data: {"id":"id-1","object":"chat.completion.chunk","created":7,"model":"m","choices":[)";
  EXPECT_EQ(answer.Chunk(0, {.text = "a"}, Answer::Position::kFirst),
            head + R"({"index":0,"delta":{"role":"assistant","content":"a"},"logprobs":null,)"
                   R"("finish_reason":null}]})"
                   "\n\n");
  EXPECT_EQ(answer.Chunk(1, {.text = "b"}, Answer::Position::kLater),
            head + R"({"index":1,"delta":{"content":"b"},"logprobs":null,)"
                   R"("finish_reason":null}]})"
                   "\n\n");
  EXPECT_EQ(answer.End(1, Ended("")),
            head + R"({"index":1,"delta":{},"logprobs":null,"finish_reason":"stop",)"
                   R"("stop_reason":null}]})"
                   "\n\n");
}

TEST(Answer, EndsAStreamWithUsageWithoutChoices) {
  const std::string chunk =
      Answer(Frame(GenerationKind::kCompletion)).UsageChunk({.prompt_tokens = 1});
  EXPECT_NE(chunk.find("\"choices\":[],\"usage\":{\"prompt_tokens\":1,"), std::string::npos);
}

TEST(Answer, KeepsAnEventOnOneLineWhateverTheModelSays) {
  const std::string chunk =
      Answer(Frame(GenerationKind::kCompletion))
          .Chunk(0, {.text = "\n\ndata: x\r\xE2\x80\xA8\xFF"}, Answer::Position::kFirst);
  EXPECT_EQ(chunk.find('\n'), chunk.size() - 2);
  EXPECT_EQ(chunk.find('\r'), std::string::npos);
}

TEST(Answer, ShowsLogprobsInTheFormOfEachRoute) {
  const Choice choice = {.text = "ab",
                         .scored = {{{"a", -0.5}, {{"a", -0.5}, {"b", -1}}}, {{"\xFF", -2}, {}}},
                         .text_offset = 3};
  AnswerFrame frame = Frame(GenerationKind::kCompletion);
  frame.with_logprobs = true;
  const std::string completion = Answer(frame).Whole({choice}, {});
  EXPECT_NE(completion.find(R"("logprobs":{"tokens":["a",")"
                            "\xEF\xBF\xBD"
                            R"("],"token_logprobs":[-0.5,-2],"top_logprobs":[{"a":-0.5,"b":-1},)"
                            R"({}],"text_offset":[3,4]})"),
            std::string::npos)
      << completion;
  frame.kind = GenerationKind::kChat;
  const std::string chat = Answer(frame).Whole({choice}, {});
  EXPECT_NE(chat.find(R"("logprobs":{"content":[{"token":"a","logprob":-0.5,"bytes":[97],)"
                      R"("top_logprobs":[{"token":"a","logprob":-0.5,"bytes":[97]},)"
                      R"({"token":"b","logprob":-1,"bytes":[98]}]},)"),
            std::string::npos)
      << chat;
  EXPECT_NE(chat.find("\"bytes\":[255]"), std::string::npos);
}

TEST(Answer, KnowsOnlyReasonsOfOpenAisEnum) {
  EXPECT_EQ(OpenAiFinishReason(FinishReason::kStop), "stop");
  EXPECT_EQ(OpenAiFinishReason(FinishReason::kLength), "length");
  EXPECT_EQ(OpenAiFinishReason(FinishReason::kContext), "length");
}

TEST(ApiError, IsOpenAisErrorObject) {
  EXPECT_EQ(ToJson(BadRequest("n", "n is 0")),
            R"({"error":{"message":"n is 0","type":"invalid_request_error","param":"n",)"
            R"("code":null}})");
  const HttpResponse busy = ToResponse(Overloaded("full"));
  EXPECT_EQ(busy.status, 503);
  EXPECT_EQ(busy.fields.at(0).name, "retry-after");
  EXPECT_EQ(ToResponse(BadRequest("n", "x")).fields.at(0).name, "x-should-retry");
  EXPECT_NE(busy.body.find("\"type\":\"server_error\""), std::string::npos);
}

}  // namespace
}  // namespace skald::server
