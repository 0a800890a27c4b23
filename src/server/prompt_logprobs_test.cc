// How probable prompts are, over HTTP with the bundled model.
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <string>
#include <vector>

#include "server/test_server.h"

namespace skald::server {
namespace {

boost::json::value JsonOf(const std::string& answer) {
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 ")) << answer;
  return boost::json::parse(BodyOf(answer));
}

// A text that the model has written, as token ids.
struct Written {
  std::vector<TokenId> ids;
  std::string text;
  boost::json::value logprobs;  // of what stands behind "The fox"
};
Written Write(uint16_t port) {
  const boost::json::value answer =
      JsonOf(Complete(port, R"({"prompt":"The fox","max_tokens":9,"temperature":0,"logprobs":2,)"
                            R"("ignore_eos":true})"));
  const boost::json::value& choice = answer.at("choices").at(0);
  const Tokenizer& tokenizer = Tales().tokenizer();
  Written written = {.ids = *tokenizer.Encode("The fox"),
                     .text = "The fox" + std::string(choice.at("text").as_string()),
                     .logprobs = choice.at("logprobs")};
  for (const boost::json::value& token : written.logprobs.at("tokens").as_array())
    written.ids.push_back(tokenizer.FindToken(token.as_string()));
  return written;
}

// As lm-evaluation-harness and others ask: token ids, repeated, with one token behind them or none.
TEST(PromptLogprobs, StandBeforeThoseOfACompletion) {
  const Running server;
  const Written written = Write(server.port());
  const std::string ids = boost::json::serialize(boost::json::value_from(written.ids));
  for (const int tokens : {0, 1}) {
    const boost::json::value answer =
        JsonOf(Complete(server.port(), R"({"prompt":[)" + ids + "," + ids +
                                           R"(],"echo":true,"logprobs":2,"temperature":0,)"
                                           R"("max_tokens":)" +
                                           std::to_string(tokens) + "}"));
    for (const boost::json::value& choice : answer.at("choices").as_array()) {
      if (tokens == 0) {
        EXPECT_EQ(std::string(choice.at("text").as_string()), written.text);
      }
      const boost::json::value& told = choice.at("logprobs");
      const auto list = [&](const char* name) { return told.at(name).as_array(); };
      for (const char* name : {"tokens", "token_logprobs", "top_logprobs", "text_offset"})
        EXPECT_EQ(list(name).size(), written.ids.size() + static_cast<size_t>(tokens)) << name;
      EXPECT_TRUE(list("token_logprobs")[0].is_null() && list("top_logprobs")[0].is_null());
      const size_t first = written.ids.size() - 9;
      for (size_t i = 0; i < 9; ++i) {
        for (const char* name : {"tokens", "token_logprobs", "top_logprobs"})
          EXPECT_EQ(list(name)[first + i], written.logprobs.at(name).at(i)) << name << i;
        EXPECT_GE(list("text_offset")[first + i].as_int64(), 7) << i;
      }
      EXPECT_EQ(list("text_offset")[0], 0);
      EXPECT_EQ(list("text_offset")[1], 0);      // BOS has no text
      EXPECT_EQ(list("text_offset")[first], 7);  // behind "The fox"
      EXPECT_EQ(choice.as_object().count("prompt_logprobs"), 0u);
    }
  }
}

TEST(PromptLogprobs, AreToldAsVllmDoes) {
  const Running server;
  const Written written = Write(server.port());
  const std::string ids = boost::json::serialize(boost::json::value_from(written.ids));
  const boost::json::value answer = JsonOf(Complete(
      server.port(), R"({"prompt":)" + ids + R"(,"prompt_logprobs":1,"max_tokens":1,"n":2})"));
  for (const boost::json::value& choice : answer.at("choices").as_array()) {
    EXPECT_TRUE(choice.at("logprobs").is_null());
    const boost::json::array& told = choice.at("prompt_logprobs").as_array();
    ASSERT_EQ(told.size(), written.ids.size());
    EXPECT_TRUE(told[0].is_null());
    const boost::json::value& last = told.back().at(std::to_string(written.ids.back()));
    EXPECT_EQ(last.at("rank"), 1);
    EXPECT_EQ(last.at("logprob"), written.logprobs.at("token_logprobs").at(8));
    EXPECT_EQ(last.at("decoded_token"), written.logprobs.at("tokens").at(8));
    EXPECT_EQ(told.back().as_object().size(), 1u);  // the likeliest is the one that stands there
  }
  const boost::json::value chat = JsonOf(Ask(
      server.port(), Post("/v1/chat/completions", R"({"messages":[{"role":"user","content":"Hi"}],)"
                                                  R"("prompt_logprobs":3,"max_tokens":0})")));
  EXPECT_EQ(static_cast<int64_t>(chat.at("prompt_logprobs").as_array().size()),
            chat.at("usage").at("prompt_tokens").as_int64());
  EXPECT_EQ(chat.at("usage").at("completion_tokens"), 0);
}

}  // namespace
}  // namespace skald::server
