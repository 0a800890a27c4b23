#include "server/answer.h"

#include <gtest/gtest.h>

#include "server/anthropic/messages_answer.h"
#include "server/responses/response_answer.h"
#include "server/vector_writer.h"

namespace skald::server {
namespace {

AnswerFrame Frame(GenerationKind kind) {
  return {.kind = kind,
          .id = "id-1",
          .created = 7,
          .model = "m",
          .seed = ~uint64_t{0},
          .system_fingerprint = "fp"};
}

Choice Ended(std::string text) { return {.text = std::move(text), .reason = FinishReason::kStop}; }

TEST(Answer, IsACompletion) {
  EXPECT_EQ(
      Answer(Frame(GenerationKind::kCompletion))
          .Whole({Ended("a\n\"")},
                 {.prompt_tokens = 3, .cached = {.memory = 1, .disk = 1}, .completion_tokens = 4}),
      R"({"id":"id-1","object":"text_completion","created":7,"model":"m",)"
      R"("system_fingerprint":"fp","seed":-1,"choices":[)"
      R"({"index":0,"text":"a\n\"","logprobs":null,"finish_reason":"stop",)"
      R"("stop_reason":null}],"usage":{"prompt_tokens":3,"completion_tokens":4,)"
      R"("total_tokens":7,"prompt_tokens_details":{"cached_tokens":2,)"
      R"("cached_tokens_details":{"memory":1,"snapshot":0,"disk":1}}}})");
}

TEST(Answer, IsAChatCompletion) {
  Choice choice = Ended("hi");
  choice.stop_string = "END";
  EXPECT_EQ(Answer(Frame(GenerationKind::kChat)).Whole({choice}, {}),
            R"({"id":"id-1","object":"chat.completion","created":7,"model":"m",)"
            R"("system_fingerprint":"fp","seed":-1,"choices":[)"
            R"({"index":0,"message":{"role":"assistant","content":"hi",)"
            R"("refusal":null},"logprobs":null,"finish_reason":"stop","stop_reason":"END"}],)"
            R"("usage":{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0,)"
            R"("prompt_tokens_details":{"cached_tokens":0,)"
            R"("cached_tokens_details":{"memory":0,"snapshot":0,"disk":0}}}})");
}

// Each kind of answer has the count where its clients look for it, and the tiers beside it.
TEST(Usage, TellsWhereCachedTokensCameFrom) {
  constexpr Usage kUsage = {.prompt_tokens = 9,
                            .cached = {.memory = 1, .snapshot = 2, .disk = 4},
                            .completion_tokens = 3};
  const auto expect = [](const std::string& answer, const std::string& usage) {
    EXPECT_NE(answer.find(usage), std::string::npos) << answer;
  };
  const std::string tiers = R"({"memory":1,"snapshot":2,"disk":4})";
  const std::string details = R"({"cached_tokens":7,"cached_tokens_details":)" + tiers + "}";
  const AnswerFrame frame = Frame(GenerationKind::kChat);
  expect(Answer(frame).Whole({Ended("a")}, kUsage),
         R"("total_tokens":12,"prompt_tokens_details":)" + details);
  expect(ResponseAnswer(frame).WholeInPieces({Ended("a")}, kUsage).at(0),
         R"("input_tokens":9,"input_tokens_details":)" + details);
  const std::string messages = R"("usage":{"input_tokens":2,"cache_creation_input_tokens":0,)"
                               R"("cache_read_input_tokens":7,)"
                               R"("cache_read_input_tokens_details":)" +
                               tiers;
  expect(MessagesAnswer(frame).WholeInPieces({Ended("a")}, kUsage).at(0),
         messages + R"(,"output_tokens":3})");
  expect(MessagesAnswer(frame).Begin(kUsage), messages + R"(,"output_tokens":0})");
  JsonWriter json;
  json.BeginObject();
  AddUsage(
      {.id = "i", .model = "m", .fingerprint = "f", .prompt_tokens = 9, .cached = kUsage.cached},
      json);
  json.EndObject();
  EXPECT_EQ(json.Take(), R"({"usage":{"prompt_tokens":9,"total_tokens":9,)"
                         R"("prompt_tokens_details":)" +
                             details + "}}");
}

TEST(Answer, StreamsTheRoleWithTheFirstTextOnly) {
  Answer answer(Frame(GenerationKind::kChat));
  const std::string head =
      R"(data: {"id":"id-1","object":"chat.completion.chunk","created":7,"model":"m",)"
      R"("system_fingerprint":"fp","seed":-1,"choices":[)";
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
  AnswerFrame frame = Frame(GenerationKind::kCompletion);
  EXPECT_EQ(Answer(frame).Finish({}), "data: [DONE]\n\n");
  frame.include_usage = true;
  const std::string end = Answer(frame).Finish({.prompt_tokens = 1});
  EXPECT_NE(end.find("\"choices\":[],\"usage\":{\"prompt_tokens\":1,"), std::string::npos);
  EXPECT_TRUE(end.ends_with("}\n\ndata: [DONE]\n\n"));
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
  EXPECT_NE(completion.find(R"("logprobs":{"tokens":["a",)"
                            R"("bytes:\\xff"],"token_logprobs":[-0.5,-2],"top_logprobs":[)"
                            R"({"a":-0.5,"b":-1},{"bytes:\\xff":-2}],"text_offset":[3,4]})"),
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

TEST(Answer, ControlTokensTakeNoPlaceInTheText) {
  const Choice choice = {
      .text = "ab",
      .scored = {
          {.token = {"a", -1}}, {.token = {"<|x|>", -2}, .is_hidden = true}, {.token = {"b", -3}}}};
  AnswerFrame frame = Frame(GenerationKind::kCompletion);
  frame.with_logprobs = true;
  const std::string whole = Answer(frame).Whole({choice}, {});
  EXPECT_NE(whole.find(R"("tokens":["a","<|x|>","b"])"), std::string::npos) << whole;
  EXPECT_NE(whole.find(R"("text_offset":[0,1,1])"), std::string::npos) << whole;
}

// What `scored` is in the member top_logprobs of a completion.
std::string TopOfCompletion(ScoredToken scored) {
  AnswerFrame frame = Frame(GenerationKind::kCompletion);
  frame.with_logprobs = true;
  const std::string whole = Answer(frame).Whole({{.text = {}, .scored = {std::move(scored)}}}, {});
  const size_t begin = whole.find("\"top_logprobs\":[") + 16;
  return whole.substr(begin, whole.find("],\"text_offset\"") - begin);
}

TEST(Answer, NamesATextOnceAmongTheLikeliestAndAlwaysTheTokenThatCame) {
  // Two tokens of one text: the likelier stands for both.
  EXPECT_EQ(TopOfCompletion({{"c", -0.1}, {{"c", -0.1}, {"a", -1}, {"a", -2}, {"b", -3}}}),
            R"({"c":-0.1,"a":-1,"b":-3})");
  // One that came although others are likelier.
  EXPECT_EQ(TopOfCompletion({{"z", -9}, {{"a", -1}, {"b", -2}}}), R"({"a":-1,"b":-2,"z":-9})");
  // One that came as the less likely of two tokens of one text: its own probability.
  EXPECT_EQ(TopOfCompletion({{"a", -5}, {{"a", -1}, {"a", -5}}}), R"({"a":-5})");
  // Parts of characters are told apart.
  EXPECT_EQ(TopOfCompletion({{"\xE2\x82", -1}, {{"\xE2\x82", -1}, {"\xE2", -2}}}),
            R"({"bytes:\\xe2\\x82":-1,"bytes:\\xe2":-2})");
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

TEST(Answer, BeginsWithThePromptThatAllChoicesShare) {
  const auto prompt = std::make_shared<const std::string>("a\\\"");
  const Choice choice = {.text = "b\"", .prompt_json = prompt, .reason = FinishReason::kStop};
  Answer answer(Frame(GenerationKind::kCompletion));
  const std::string both = R"("text":"a\"b\"")";
  EXPECT_NE(answer.Whole({choice}, {}).find(both), std::string::npos);
  EXPECT_NE(answer.Chunk(0, choice, Answer::Position::kFirst).find(both), std::string::npos);
}

TEST(Answer, ComesInPiecesThatAreTheWhole) {
  const Answer answer(Frame(GenerationKind::kChat));
  const std::vector<Choice> choices(
      20, {.text = std::string(100'000, 'x'), .reason = FinishReason::kLength});
  const std::vector<std::string> pieces = answer.WholeInPieces(choices, {});
  EXPECT_GT(pieces.size(), 5U);
  std::string whole;
  for (const std::string& piece : pieces) {
    EXPECT_LE(piece.size(), Answer::kPieceBytes + 110'000);
    whole += piece;
  }
  EXPECT_EQ(whole, answer.Whole(choices, {}));
}

}  // namespace
}  // namespace skald::server
