#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <string>
#include <utility>

#include "server/llama_cpp/infill_answer.h"
#include "server/llama_cpp/infill_request.h"

namespace skald::server {
namespace {

namespace json = boost::json;

const std::string kAround = R"("input_prefix":"int f() {\n","input_suffix":"}\n")";

GenerationRequest Good(const std::string& members) {
  auto request = ReadInfillRequest(json::parse("{" + members + "}"));
  if (const auto* error = std::get_if<ApiError>(&request)) ADD_FAILURE() << error->message;
  return std::get<0>(std::move(request));
}
std::string Fault(const std::string& members) {
  const auto request = ReadInfillRequest(json::parse("{" + members + "}"));
  const auto* error = std::get_if<ApiError>(&request);
  return error == nullptr ? "nothing" : error->param;
}

TEST(InfillRequest, HasLlamaCppsDefaults) {
  const GenerationRequest request = Good(kAround);
  EXPECT_EQ(request.style, AnswerStyle::kInfill);
  EXPECT_FALSE(request.stream);
  const SamplingParams& sampling = request.request.sampling;
  EXPECT_EQ(sampling.temperature, 0.8);
  EXPECT_EQ(sampling.truncation.top_k, 40);
  EXPECT_EQ(sampling.truncation.top_p, 0.95);
  EXPECT_EQ(sampling.truncation.min_p, 0.05);
  EXPECT_EQ(sampling.penalties.last_n, 64);
  EXPECT_EQ(request.request.stop.max_tokens, -1);
}

// What llama.vim sends.
TEST(InfillRequest, ReadsWhatAnEditorSends) {
  const GenerationRequest request = Good(
      R"("id_slot":0,"input_prefix":"a\n","input_suffix":"b","input_extra":[{"text":"x",)"
      R"("time":[1,2],"filename":"f.c"},{"text":"y"}],"prompt":"  re","n_predict":128,)"
      R"("stop":["\n\n"],"n_indent":2,"top_k":40,"top_p":0.9,"stream":false,"samplers":)"
      R"(["top_k","top_p","infill"],"cache_prompt":true,"t_max_prompt_ms":500,)"
      R"("t_max_predict_ms":1000,"response_fields":["content","timings/prompt_n"],"model":"m")");
  EXPECT_EQ(std::get<std::string>(request.prompts.at(0)), "a\n  re");
  ASSERT_TRUE(request.gap.has_value());
  EXPECT_EQ(request.gap->behind, "b");
  ASSERT_EQ(request.gap->files.size(), 2u);
  EXPECT_EQ(request.gap->files[0].name + request.gap->files[0].text, "f.cx");
  EXPECT_EQ(request.gap->files[1].name + request.gap->files[1].text, "tmpy");
  EXPECT_EQ(request.request.stop.max_tokens, 128);
  EXPECT_EQ(request.stop_strings, std::vector<std::string>{"\n\n"});
  EXPECT_EQ(request.only_members, (std::vector<std::string>{"content", "timings/prompt_n"}));
  EXPECT_EQ(request.ignored, (std::vector<std::string>{"t_max_prompt_ms", "t_max_predict_ms",
                                                       "n_indent", "samplers"}));
}

TEST(InfillRequest, NamesWhatIsWrong) {
  EXPECT_EQ(Fault(R"("input_suffix":"")"), "input_prefix");
  EXPECT_EQ(Fault(R"("input_prefix":"")"), "input_suffix");
  EXPECT_EQ(Fault(kAround + R"(,"prompt":["x"])"), "prompt");
  EXPECT_EQ(Fault(kAround + R"(,"n_predict":-2)"), "n_predict");
  EXPECT_EQ(Fault(kAround + R"(,"n_predict":0)"), "nothing");
  EXPECT_EQ(Fault(kAround + R"(,"response_fields":["x",7])"), "response_fields");
  EXPECT_EQ(Fault(kAround + R"(,"n_probs":3)"), "n_probs");
  for (const char* extra :
       {"{}", "[7]", "[{}]", R"([{"text":7}])", R"([{"text":"","filename":7}])"})
    EXPECT_EQ(Fault(kAround + R"(,"input_extra":)" + extra), "input_extra") << extra;
  std::string many = "[";
  for (size_t i = 0; i < kMaxInfillFiles; ++i) many += R"({"text":""},)";
  EXPECT_EQ(Fault(kAround + R"(,"input_extra":)" + many + R"({"text":""}])"), "input_extra");
}

constexpr Usage kUsage = {.prompt_tokens = 10,
                          .cached = {.memory = 1, .disk = 3},
                          .completion_tokens = 2,
                          .prompt_seconds = 0.5,
                          .output_seconds = 0.25};

InfillAnswer Writer(std::vector<std::string> members = {}) {
  return InfillAnswer({.id = "i",
                       .model = "m",
                       .seed = 7,
                       .system_fingerprint = "fp",
                       .only_members = std::move(members)});
}
json::value Whole(const Choice& choice, std::vector<std::string> members = {}) {
  return json::parse(Writer(std::move(members)).WholeInPieces({choice}, kUsage).at(0));
}

TEST(InfillAnswer, TellsTextEndAndTimes) {
  const json::value answer = Whole({.text = "re", .reason = FinishReason::kLength});
  EXPECT_EQ(answer.at("content"), "re");
  EXPECT_EQ(answer.at("stop"), true);
  EXPECT_EQ(answer.at("stop_type"), "limit");
  EXPECT_EQ(answer.at("tokens_predicted"), 2);
  EXPECT_EQ(answer.at("tokens_evaluated"), 10);
  EXPECT_EQ(answer.at("tokens_cached"), 4);
  EXPECT_EQ(answer.at("cached_tokens_details"),
            json::parse(R"({"memory":1,"snapshot":0,"disk":3})"));
  EXPECT_EQ(answer.at("timings").at("cache_n"), 4);
  EXPECT_EQ(answer.at("timings").at("prompt_n"), 6);
  EXPECT_EQ(answer.at("timings").at("prompt_per_second"), 12);
  EXPECT_EQ(answer.at("timings").at("predicted_per_token_ms"), 125);
  EXPECT_EQ(Whole({.reason = FinishReason::kStop}).at("stop_type"), "eos");
  const json::value word = Whole({.reason = FinishReason::kStop, .stop_string = "\n"});
  EXPECT_EQ(word.at("stop_type"), "word");
  EXPECT_EQ(word.at("stopping_word"), "\n");
}

TEST(InfillAnswer, HasTheMembersThatWereAskedForOnce) {
  const json::value answer =
      Whole({.text = "re", .reason = FinishReason::kStop},
            {"content", "timings/prompt_n", "nothing", "timings/", "content"});
  EXPECT_EQ(answer, json::parse(R"({"content":"re","timings/prompt_n":6})"));
}

TEST(InfillAnswer, StreamsPiecesAndThenTheCounts) {
  InfillAnswer writer = Writer();
  EXPECT_EQ(writer.Chunk(0, {.text = "r\""}, AnswerWriter::Position::kFirst),
            "data: {\"index\":0,\"content\":\"r\\\"\",\"stop\":false}\n\n");
  EXPECT_EQ(writer.End(0, {.reason = FinishReason::kStop, .stop_string = "x"}), "");
  const std::string last = writer.Finish(kUsage);
  ASSERT_TRUE(last.starts_with("data: ") && last.ends_with("\n\n"));
  const json::value object = json::parse(last.substr(6));
  EXPECT_EQ(object.at("content"), "");
  EXPECT_EQ(object.at("stopping_word"), "x");
}

}  // namespace
}  // namespace skald::server
