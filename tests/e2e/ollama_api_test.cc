// Ollama's API, from socket to socket, with an engine that writes what it is asked to.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "e2e/scripted_server.h"

namespace skald {
namespace {

constexpr std::string_view kAdd =
    R"(,"options":{"seed":7},"tools":[{"type":"function","function":{"name":"add","parameters":)"
    R"({"type":"object","properties":{"a":{"type":"integer"}}}}}])";
constexpr std::string_view kCall =
    R"(<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>)";

class OllamaApi : public ScriptedServer {
 protected:
  std::string Chat(std::string_view script, std::string_view more) {
    return PostTo("/api/chat",
                  R"({"messages":[{"role":"user","content":)" +
                      json::serialize(json::string("@@" + std::string(script) + "@@")) + "}]" +
                      std::string(more) + "}");
  }
  json::value Whole(std::string_view script, std::string_view more = kAdd) {
    return json::parse(server::BodyOf(Chat(script, std::string(more) + R"(,"stream":false)")));
  }
  static std::vector<json::value> Lines(const std::string& answer) {
    const std::string body = server::BodyOf(answer);
    std::vector<json::value> lines;
    for (size_t at = 0; at < body.size();) {
      const size_t end = body.find('\n', at);
      lines.push_back(json::parse(body.substr(at, end - at)));
      at = end + 1;
    }
    return lines;
  }
};

TEST_F(OllamaApi, AnswersAChat) {
  const json::value answer = Whole("<think>hm</think>Look: " + std::string(kCall));
  EXPECT_EQ(answer.at("model"), "scripted");
  EXPECT_EQ(answer.at("created_at"), "2023-11-14T22:13:20Z");
  EXPECT_EQ(answer.at("done"), true);
  EXPECT_EQ(answer.at("done_reason"), "stop");
  const json::value& message = answer.at("message");
  EXPECT_EQ(message.at("content"), "Look:");
  EXPECT_EQ(message.at("thinking"), "hm");
  EXPECT_EQ(message.at("tool_calls").at(0).at("function").at("arguments"), json::value({{"a", 1}}));
  EXPECT_GT(answer.at("prompt_eval_count").as_int64(), 10);
  EXPECT_GT(answer.at("eval_count").as_int64(), 10);
  EXPECT_GE(answer.at("total_duration").as_int64(), 0);
}

TEST_F(OllamaApi, StreamsWhatItAnswersWholeByDefault) {
  for (const std::string& script :
       {std::string("Hi"), std::string(kCall), "a " + std::string(kCall) + std::string(kCall) + "b",
        std::string("<think>x y</think>Hi"), std::string("  S\xC3\xA3o ")}) {
    const json::value whole = Whole(script).at("message");
    const std::string answer = Chat(script, kAdd);
    EXPECT_NE(answer.find("content-type: application/x-ndjson\r\n"), std::string::npos);
    json::object message{{"role", "assistant"}, {"content", ""}};
    const std::vector<json::value> lines = Lines(answer);
    for (const json::value& line : lines) {
      const json::object& said = line.at("message").as_object();
      message["content"].as_string() += said.at("content").as_string();
      if (const json::value* thinking = said.if_contains("thinking")) {
        if (!message.contains("thinking")) message["thinking"] = "";
        message["thinking"].as_string() += thinking->as_string();
      }
      if (const json::value* calls = said.if_contains("tool_calls")) {
        if (!message.contains("tool_calls")) message["tool_calls"] = json::array();
        for (const json::value& call : calls->as_array())
          message["tool_calls"].as_array().push_back(call);
      }
      EXPECT_EQ(line.at("done").as_bool(), &line == &lines.back());
    }
    EXPECT_EQ(json::value(message), whole) << script;
  }
}

TEST_F(OllamaApi, SaysWhyItEnded) {
  EXPECT_EQ(Whole("a b c", R"(,"options":{"num_predict":1})").at("done_reason"), "length");
  EXPECT_EQ(Whole("a b c", R"(,"options":{"stop":" b"})").at("message").at("content"), "a");
}

TEST_F(OllamaApi, ShowsArgumentsThatAreNoJson) {
  const std::string cut = std::string(kAdd.substr(0, kAdd.find("7}"))) + R"(7,"stop":["1}"]})" +
                          std::string(kAdd.substr(kAdd.find("7}") + 2));
  EXPECT_EQ(Whole(kCall, cut).at("message").at("tool_calls").at(0).at("function").at("arguments"),
            json::value({{"INVALID_JSON", "{\"a\": "}}));
}

TEST_F(OllamaApi, GeneratesByTheTemplateOrRaw) {
  const auto generate = [&](std::string_view more) {
    return json::parse(server::BodyOf(
        PostTo("/api/generate",
               R"({"prompt":"@@<think>hm</think>Hi@@","stream":false)" + std::string(more) + "}")));
  };
  EXPECT_EQ(generate("").at("response"), "Hi");
  EXPECT_EQ(generate("").at("thinking"), "hm");
  EXPECT_EQ(generate(R"(,"raw":true)").at("response"), "hmHi");
  EXPECT_LT(generate(R"(,"raw":true)").at("prompt_eval_count").as_int64(),
            generate("").at("prompt_eval_count").as_int64());
  const std::vector<json::value> lines =
      Lines(PostTo("/api/generate", R"({"prompt":"@@Hi you@@"})"));
  std::string text;
  for (const json::value& line : lines) text += std::string(line.at("response").as_string());
  EXPECT_EQ(text, "Hi you");
  EXPECT_GE(lines.size(), 2U);  // as many as the thread of the connections finds at a time
}

TEST_F(OllamaApi, TellsOfItsModel) {
  const auto get = [&](std::string_view path) {
    return json::parse(server::BodyOf(server::Ask(server_->port(), server::Get(path))));
  };
  EXPECT_EQ(get("/api/version").at("version"), "1");
  EXPECT_EQ(get("/api/tags").at("models").at(0).at("name"), "scripted");
  EXPECT_EQ(get("/api/ps").at("models").at(0).at("context_length"), 100'000);
  const json::value shown =
      json::parse(server::BodyOf(PostTo("/api/show", R"({"model":"scripted:latest"})")));
  EXPECT_EQ(shown.at("capabilities"), json::value({"completion", "tools", "thinking"}));
  EXPECT_EQ(json::parse(server::BodyOf(PostTo("/api/show", R"({"name":"other"})"))).at("error"),
            "there is no model 'other'; this server has 'scripted'");
}

TEST_F(OllamaApi, RefusesInOllamasForm) {
  EXPECT_EQ(Whole("x", R"(,"format":"xml")").at("error"),
            "format is 'xml', expected json or a JSON schema");
  for (const std::string_view path : {"/api/pull", "/api/create", "/api/delete", "/api/blobs/x"}) {
    const std::string answer = PostTo(path, R"({"model":"x"})");
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 400 ")) << answer;
    EXPECT_NE(json::parse(server::BodyOf(answer)).at("error").as_string().find("the one model"),
              std::string::npos);
  }
  EXPECT_TRUE(PostTo("/api/none", "{}").starts_with("HTTP/1.1 404 "));
}

}  // namespace
}  // namespace skald
