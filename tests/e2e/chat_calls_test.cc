// Tools in chats, from socket to socket: the real server, and an engine that writes what the last
// message of the conversation asks it to write.
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "e2e/scripted_server.h"

namespace skald {
namespace {

using ChatCalls = ScriptedServer;

constexpr std::string_view kCall =
    R"(<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>)";

std::string Twice(std::string_view text) { return std::string(text) + std::string(text); }

// A delta put onto the message that those before make: as the clients of OpenAI do.
void Accumulate(const json::object& delta, json::object& message) {
  for (const auto& [key, value] : delta) {
    if (key == "tool_calls") {
      json::array& calls = message["tool_calls"].is_array() ? message["tool_calls"].get_array()
                                                            : message["tool_calls"].emplace_array();
      for (const json::value& piece : value.as_array()) {
        const auto index = static_cast<size_t>(piece.at("index").as_int64());
        if (index == calls.size())
          calls.push_back(json::object{{"id", piece.at("id")},
                                       {"type", piece.at("type")},
                                       {"function", piece.at("function")}});
        else
          calls.at(index)
              .at("function")
              .at("arguments")
              .as_string()
              .append(std::string(piece.at("function").at("arguments").as_string()));
      }
    } else if (value.is_string() && message.contains(key) && message[key].is_string()) {
      message[key].as_string().append(std::string(value.as_string()));
    } else {
      message[key] = value;
    }
  }
}

struct Streamed {
  json::object message;
  std::vector<std::string> reasons;
};

Streamed ReadStream(const std::string& body) {
  Streamed streamed;
  for (size_t at = body.find("data: {"); at != std::string::npos;
       at = body.find("data: {", at + 1)) {
    const json::value chunk = json::parse(body.substr(at + 6, body.find("\n\n", at) - at - 6));
    for (const json::value& choice : chunk.at("choices").as_array()) {
      if (choice.at("index") != 0) continue;
      Accumulate(choice.at("delta").as_object(), streamed.message);
      if (choice.at("finish_reason").is_string())
        streamed.reasons.emplace_back(choice.at("finish_reason").as_string());
    }
  }
  return streamed;
}

TEST_F(ChatCalls, AnswersWithTheCallAndItsReason) {
  const json::value answer = Ask("Look:\n" + std::string(kCall));
  const json::value& choice = answer.at("choices").at(0);
  EXPECT_EQ(choice.at("finish_reason"), "tool_calls");
  EXPECT_EQ(choice.at("message").at("content"), "Look:");
  const json::value& call = choice.at("message").at("tool_calls").at(0);
  EXPECT_EQ(call.at("type"), "function");
  EXPECT_EQ(call.at("function").at("name"), "add");
  EXPECT_EQ(call.at("function").at("arguments"), R"({"a": 1})");
  // The same request has the same id, another seed another one.
  EXPECT_EQ(Message("Look:\n" + std::string(kCall)).at("tool_calls").at(0).at("id"), call.at("id"));
  const json::value alone = Message(kCall);
  EXPECT_TRUE(alone.at("content").is_null());
  EXPECT_NE(alone.at("tool_calls").at(0).at("id"), call.at("id"));
}

TEST_F(ChatCalls, StreamsWhatItAnswersWhole) {
  for (const std::string& script :
       {std::string(kCall), "a \n" + Twice(kCall) + " b",
        std::string("<think>\nx y\n</think>\n\nHi"), "<think>x</think>" + std::string(kCall),
        std::string("  S\xC3\xA3o ")}) {
    const json::value whole = Ask(script);
    const Streamed streamed =
        ReadStream(server::BodyOf(Post(script, std::string(kTools) + ",\"stream\":true")));
    json::object message = whole.at("choices").at(0).at("message").as_object();
    EXPECT_TRUE(message.erase("refusal"));
    if (message.at("content").is_null()) message.erase("content");
    EXPECT_EQ(json::value(streamed.message), json::value(message)) << script;
    ASSERT_EQ(streamed.reasons.size(), 1u);
    EXPECT_EQ(whole.at("choices").at(0).at("finish_reason").as_string(), streamed.reasons[0]);
  }
}

TEST_F(ChatCalls, SplitsReasoningOffWhereverItBegins) {
  EXPECT_EQ(Message("<think>hm</think>\nHi", "").at("reasoning_content"), "hm");
  EXPECT_EQ(Message("<think>hm</think>\nHi", "").at("content"), "Hi");
  const json::value opened = Message("hm</think>Hi", ",\"enable_thinking\":true");
  EXPECT_EQ(opened.at("reasoning_content"), "hm");
  EXPECT_EQ(opened.at("content"), "Hi");
  const json::value by_kwargs =
      Message("hm</think>Hi", R"(,"chat_template_kwargs":{"enable_thinking":true})");
  EXPECT_EQ(by_kwargs, opened);
  const json::value cut = Ask("<think>hm and hm</think>", ",\"max_tokens\":3").at("choices").at(0);
  EXPECT_EQ(cut.at("message").at("reasoning_content"), "hm");
  EXPECT_TRUE(cut.at("message").at("content").is_null());
  EXPECT_EQ(cut.at("finish_reason"), "length");
  EXPECT_EQ(Message("<think>hm</think>Hi", ",\"reasoning_format\":\"none\"").at("content"), "hmHi");
}

TEST_F(ChatCalls, ReadsNoCallsWithoutTools) {
  const std::string text(kCall);
  const json::value shown = R"({"name": "add", "arguments": {"a": 1}})";  // markers are hidden
  EXPECT_EQ(Message(text, "").at("content"), shown);
  EXPECT_EQ(Message(text, std::string(kTools) + ",\"tool_choice\":\"none\"").at("content"), shown);
}

TEST_F(ChatCalls, GivesOneCallIfMoreAreNotWanted) {
  const json::value message =
      Message(Twice(kCall), std::string(kTools) + ",\"parallel_tool_calls\":false");
  EXPECT_EQ(message.at("tool_calls").as_array().size(), 1u);
}

TEST_F(ChatCalls, AnswersFunctionsInKind) {
  const std::string functions = R"(,"functions":[{"name":"add"}],"function_call":"auto")";
  const json::value choice = Ask(kCall, functions).at("choices").at(0);
  EXPECT_EQ(choice.at("finish_reason"), "function_call");
  EXPECT_EQ(choice.at("message").at("function_call"),
            json::value({{"name", "add"}, {"arguments", R"({"a": 1})"}}));
  EXPECT_FALSE(choice.at("message").as_object().contains("tool_calls"));
  const std::string stream = server::BodyOf(Post(kCall, functions + ",\"stream\":true"));
  EXPECT_NE(stream.find(R"("delta":{"role":"assistant","function_call":{"name":"add",)"),
            std::string::npos)
      << stream;
}

TEST_F(ChatCalls, CountsEachChoiceForItself) {
  const json::value answer = Ask(kCall, std::string(kTools) + ",\"n\":2,\"logprobs\":true");
  const json::array& choices = answer.at("choices").as_array();
  ASSERT_EQ(choices.size(), 2u);
  EXPECT_NE(choices[0].at("message").at("tool_calls").at(0).at("id"),
            choices[1].at("message").at("tool_calls").at(0).at("id"));
  // Of all tokens, those of the call too.
  EXPECT_GT(choices[0].at("logprobs").at("content").as_array().size(), 20u);
}

TEST_F(ChatCalls, StopStringsCutInsideACall) {
  const json::value choice =
      Ask(kCall, std::string(kTools) + R"(,"stop":["1}"])").at("choices").at(0);
  EXPECT_EQ(choice.at("finish_reason"), "stop");
  EXPECT_EQ(choice.at("message").at("tool_calls").at(0).at("function").at("arguments"),
            R"({"a": )");
  // The name of a control token is no text: nothing to stop at.
  EXPECT_EQ(Ask(kCall, std::string(kTools) + R"(,"stop":["tool_call"])")
                .at("choices")
                .at(0)
                .at("finish_reason"),
            "tool_calls");
}

TEST_F(ChatCalls, GivesTheHistoryToTheTemplate) {
  const auto prompt_tokens = [&](const std::string& assistant) {
    const std::string answer = server::BodyOf(
        PostMessages(R"([{"role":"user","content":"x"},)" + assistant +
                         R"(,{"role":"tool","tool_call_id":"c1","content":[{"type":"text",)"
                         R"("text":"2"}]},{"role":"user","content":"@@y@@"}])",
                     kTools));
    EXPECT_NE(answer.find("\"content\":\"y\""), std::string::npos) << answer;
    return json::parse(answer).at("usage").at("prompt_tokens").as_int64();
  };
  const auto with = [&](const std::string& arguments) {
    return R"({"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function",)"
           R"("function":{"name":"add","arguments":)" +
           arguments + "}}]}";
  };
  // As text or as an object: the template sees an object.
  const int64_t as_object = prompt_tokens(with(R"({"a":1})"));
  EXPECT_EQ(prompt_tokens(with(R"("{\"a\": 1}")")), as_object);
  EXPECT_EQ(prompt_tokens(R"({"role":"assistant","content":null,"function_call":{"name":"add",)"
                          R"("arguments":"{\"a\":1}"}})"),
            as_object);
  // What is no JSON is a string, which tojson writes with its quotes.
  EXPECT_GT(prompt_tokens(with(R"("{\"a\": 1")")), as_object);
  EXPECT_GT(prompt_tokens(R"({"role":"assistant","reasoning_content":"hm","content":"ok"})"), 0);
}

// A marker in a definition, a result or an argument is several tokens of text.
TEST_F(ChatCalls, NothingThatAClientWritesBecomesAControlToken) {
  const auto tokens = [&](const std::string& word) {
    const std::string answer = server::BodyOf(PostMessages(
        R"([{"role":"user","content":"@@y@@"},{"role":"assistant","tool_calls":[{"id":"c",)"
        R"("function":{"name":"add","arguments":{"a":")" +
            word + R"("}}}]},{"role":"tool","content":")" + word + "\"}]",
        R"(,"tools":[{"type":"function","function":{"name":"add","description":")" + word +
            "\"}}]"));
    return json::parse(answer).at("usage").at("prompt_tokens").as_int64();
  };
  EXPECT_EQ(tokens("<tool_call>"), tokens("(tool_call)"));
}

// The scripted model cannot write what it must not: the answer says so.
bool IsForbidden(const json::value& answer) {
  const json::object* error =
      answer.as_object().contains("error") ? answer.at("error").if_object() : nullptr;
  return error != nullptr &&
         (error->at("message").as_string().starts_with("the grammar does not allow the token") ||
          error->at("message") == "the text may not end here");
}

std::string Tool(std::string_view name, std::string_view parameters, bool strict) {
  return R"({"type":"function","function":{"name":")" + std::string(name) + R"(","strict":)" +
         (strict ? "true" : "false") + R"(,"parameters":)" + std::string(parameters) + "}}";
}

constexpr std::string_view kOneInteger =
    R"({"type":"object","properties":{"a":{"type":"integer"}},"required":["a"],)"
    R"("additionalProperties":false})";

std::string TwoTools(std::string_view more) {
  return R"(,"tools":[)" + Tool("add", kOneInteger, false) + "," + Tool("now", "{}", false) + "]" +
         std::string(more);
}

constexpr std::string_view kNow = R"(<tool_call>{"name": "now", "arguments": {}}</tool_call>)";
constexpr std::string_view kBadCall =
    R"(<tool_call>{"name": "add", "arguments": {"a": "1"}}</tool_call>)";

TEST_F(ChatCalls, ACallThatHasBegunFitsItsTool) {
  const std::string tools = TwoTools("");
  EXPECT_FALSE(IsForbidden(Ask("Hello.", tools)));
  EXPECT_FALSE(
      IsForbidden(Ask("Look: " + std::string(kCall) + " and " + std::string(kNow), tools)));
  EXPECT_TRUE(IsForbidden(Ask(kBadCall, tools)));
  EXPECT_TRUE(
      IsForbidden(Ask("<tool_call>{\"name\": \"rm\", \"arguments\": {}}</tool_call>", tools)));
  EXPECT_TRUE(IsForbidden(Ask("<tool_call> is a marker", tools)));
}

TEST_F(ChatCalls, MustCallWhereACallIsRequired) {
  const std::string must = TwoTools(R"(,"tool_choice":"required")");
  const json::value answer = Ask(Twice(kCall), must);
  EXPECT_EQ(answer.at("choices").at(0).at("finish_reason"), "tool_calls");
  EXPECT_TRUE(answer.at("choices").at(0).at("message").at("content").is_null());
  EXPECT_EQ(answer.at("choices").at(0).at("message").at("tool_calls").as_array().size(), 2u);
  EXPECT_TRUE(IsForbidden(Ask("Hello.", must)));
  EXPECT_TRUE(IsForbidden(Ask("", must)));
  EXPECT_TRUE(IsForbidden(Ask(kBadCall, must)));
  const json::value thought = Message("<think>so</think>\n\n" + std::string(kCall), must);
  EXPECT_EQ(thought.at("reasoning_content"), "so");
  EXPECT_EQ(thought.at("tool_calls").as_array().size(), 1u);
  EXPECT_EQ(Message("so</think>" + std::string(kCall), must + R"(,"enable_thinking":true)")
                .at("tool_calls")
                .as_array()
                .size(),
            1u);
  const Streamed streamed = ReadStream(server::BodyOf(Post(kCall, must + R"(,"stream":true)")));
  EXPECT_EQ(streamed.reasons, std::vector<std::string>{"tool_calls"});
}

TEST_F(ChatCalls, CallsOnlyWhatTheChoiceLeaves) {
  for (const std::string_view choice :
       {R"(,"tool_choice":{"type":"function","function":{"name":"now"}})",
        R"(,"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"required","tools":)"
        R"([{"type":"function","function":{"name":"now"}}]}})"}) {
    EXPECT_EQ(Message(kNow, TwoTools(choice)).at("tool_calls").as_array().size(), 1u) << choice;
    EXPECT_TRUE(IsForbidden(Ask(kCall, TwoTools(choice)))) << choice;
    EXPECT_TRUE(IsForbidden(Ask("Hello.", TwoTools(choice)))) << choice;
  }
  const std::string may =
      TwoTools(R"(,"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":)"
               R"([{"type":"function","function":{"name":"now"}}]}})");
  EXPECT_EQ(Message("Hello.", may).at("content"), "Hello.");
  EXPECT_TRUE(IsForbidden(Ask(kCall, may)));
  // Who names one wants one.
  EXPECT_EQ(Message(Twice(kNow), TwoTools(R"(,"tool_choice":{"type":"function","function":)"
                                          R"({"name":"now"}})"))
                .at("tool_calls")
                .as_array()
                .size(),
            1u);
}

TEST_F(ChatCalls, AnswersWithACallOrATextOfTheSchema) {
  const std::string either =
      TwoTools(R"(,"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":)"
               R"({"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]}}})");
  EXPECT_EQ(Message("{\"ok\":true}", either).at("content"), "{\"ok\":true}");
  EXPECT_EQ(Message(kCall, either).at("tool_calls").as_array().size(), 1u);
  EXPECT_TRUE(IsForbidden(Ask("Hello.", either)));
  EXPECT_TRUE(IsForbidden(Ask("{\"ok\":1}", either)));
  // Without tools, too, what is held begins behind the reasoning.
  const std::string text = R"(,"response_format":{"type":"json_object"})";
  const json::value thought = Message("<think>a</think>\n{}", text);
  EXPECT_EQ(thought.at("reasoning_content"), "a");
  EXPECT_EQ(thought.at("content"), "{}");
  EXPECT_EQ(Message("a</think>{}", text + R"(,"enable_thinking":true)").at("content"), "{}");
  EXPECT_TRUE(IsForbidden(Ask("<think>a</think>\nwell", text)));
}

TEST_F(ChatCalls, RefusesByNameWhatCannotBeKept) {
  constexpr std::string_view kUnique =
      R"({"type":"object","properties":{"l":{"type":"array","uniqueItems":true}}})";
  const auto ask = [&](bool strict, std::string_view more) {
    return Post("Hello.", ",\"tools\":[" + Tool("add", "{}", true) + "," +
                              Tool("f", kUnique, strict) + "]" + std::string(more));
  };
  for (const std::string& refused : {ask(true, ""), ask(false, R"(,"tool_choice":"required")")}) {
    const json::value body = json::parse(server::BodyOf(refused));
    EXPECT_EQ(body.at("error").at("param"),
              "/tools/1/function/parameters/properties/l/uniqueItems");
    EXPECT_EQ(body.at("error").at("code"), "invalid_json_schema");
  }
  const std::string relaxed = ask(false, "");
  EXPECT_NE(
      relaxed.find("x-skald-relaxed: /tools/1/function/parameters/properties/l/uniqueItems\r\n"),
      std::string::npos)
      << relaxed;
  // What is not called binds nobody.
  EXPECT_TRUE(Post(R"(<tool_call>{"name": "add", "arguments": {}}</tool_call>)",
                   ",\"tools\":[" + Tool("add", "{}", true) + "," + Tool("f", kUnique, true) +
                       R"(],"tool_choice":{"type":"function","function":{"name":"add"}})")
                  .starts_with("HTTP/1.1 200 "));
}

}  // namespace
}  // namespace skald
