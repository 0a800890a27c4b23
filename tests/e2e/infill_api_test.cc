// Gaps in texts, from socket to socket, with an engine that writes what it is asked to: llama.cpp's
// /infill, `suffix` of OpenAI's completions and of Ollama's generate.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "e2e/scripted_server.h"

namespace skald {
namespace {

class InfillApi : public ScriptedServer {
 protected:
  json::value Infill(std::string_view more) {
    return json::parse(server::BodyOf(
        PostTo("/infill", R"({"input_prefix":"int f() {\n","input_suffix":"\n}","seed":7)" +
                              std::string(more) + "}")));
  }
};

TEST_F(InfillApi, FillsAGap) {
  const json::value answer = Infill(R"(,"prompt":"@@return 7;@@")");
  EXPECT_EQ(answer.at("content"), "return 7;");
  EXPECT_EQ(answer.at("stop_type"), "eos");
  EXPECT_EQ(answer.at("model"), "scripted");
  // What the model reads: a mark before each of the two texts, one behind.
  const int64_t all = answer.at("tokens_evaluated").as_int64();
  const json::value with_file =
      Infill(R"(,"prompt":"@@return 7;@@","input_extra":[{"text":"x","filename":"y"}])");
  EXPECT_GT(with_file.at("tokens_evaluated").as_int64(), all);
}

TEST_F(InfillApi, OfNoTokensComputesThePromptOnly) {
  const json::value answer = Infill(R"(,"prompt":"@@x@@","n_predict":0)");
  EXPECT_EQ(answer.at("content"), "");
  EXPECT_EQ(answer.at("stop_type"), "limit");
  EXPECT_EQ(answer.at("tokens_predicted"), 0);
}

TEST_F(InfillApi, StreamsWhatItAnswersWhole) {
  const std::string body = server::BodyOf(
      PostTo("/infill", R"({"input_prefix":"@@a b c@@","input_suffix":"d","stream":true})"));
  std::string text;
  json::value last;
  for (size_t at = 0; at < body.size();) {
    const size_t end = body.find("\n\n", at);
    last = json::parse(body.substr(at, end - at).substr(6));
    text += last.at("content").as_string();
    at = end + 2;
  }
  EXPECT_EQ(text, "a b c");
  EXPECT_EQ(last.at("stop"), true);
  EXPECT_GT(last.at("tokens_predicted").as_int64(), 0);
}

TEST_F(InfillApi, IsTheSuffixOfOtherApis) {
  const json::value completion = json::parse(server::BodyOf(
      PostTo("/v1/completions", R"({"prompt":"a @@ro@@","suffix":"se","max_tokens":9,"seed":7})")));
  EXPECT_EQ(completion.at("choices").at(0).at("text"), "ro");
  const json::value generated = json::parse(server::BodyOf(
      PostTo("/api/generate",
             R"({"model":"scripted","prompt":"a @@ro@@","suffix":"se","stream":false})")));
  EXPECT_EQ(generated.at("response"), "ro");
  EXPECT_EQ(generated.at("prompt_eval_count"), completion.at("usage").at("prompt_tokens"));
}

}  // namespace
}  // namespace skald
