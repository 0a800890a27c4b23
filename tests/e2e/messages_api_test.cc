// Anthropic's Messages API, from socket to socket, with an engine that writes what it is asked to.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "e2e/scripted_server.h"

namespace skald {
namespace {

constexpr std::string_view kPath = "/v1/messages";
constexpr std::string_view kAdd =
    R"(,"seed":7,"tools":[{"name":"add","description":"adds","input_schema":)"
    R"({"type":"object","properties":{"a":{"type":"integer"}}}}])";
constexpr std::string_view kCall =
    R"(<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>)";

struct Event {
  std::string name;
  json::value data;
};

class MessagesApi : public ScriptedServer {
 protected:
  static std::string Body(std::string_view script, std::string_view more) {
    return R"({"max_tokens":500,"messages":[{"role":"user","content":)" +
           json::serialize(json::string("@@" + std::string(script) + "@@")) + "}]" +
           std::string(more) + "}";
  }
  json::value Whole(std::string_view script, std::string_view more = kAdd) {
    return Json(kPath, Body(script, more));
  }
  json::value Json(std::string_view path, std::string_view body) {
    return json::parse(server::BodyOf(PostTo(path, body)));
  }
  std::vector<Event> Stream(std::string_view script, std::string_view more = kAdd) {
    const std::string body =
        server::BodyOf(PostTo(kPath, Body(script, std::string(more) + R"(,"stream":true)")));
    std::vector<Event> events;
    for (size_t at = 0; at < body.size();) {
      const size_t end = body.find("\n\n", at);
      const size_t line = body.find('\n', at);
      EXPECT_EQ(body.substr(at, 7), "event: ");
      EXPECT_EQ(body.substr(line, 7), "\ndata: ");
      events.push_back(
          {body.substr(at + 7, line - at - 7), json::parse(body.substr(line + 7, end - line - 7))});
      EXPECT_EQ(std::string_view(events.back().data.at("type").as_string()), events.back().name);
      at = end + 2;
    }
    return events;
  }
  int64_t Count(std::string_view body) {
    return Json("/v1/messages/count_tokens", body).at("input_tokens").as_int64();
  }
};

// What a client makes of a stream.
json::value Joined(const std::vector<Event>& events) {
  json::value message = events.front().data.at("message");
  std::string arguments;
  for (const Event& event : events) {
    if (event.name == "content_block_start") {
      message.at("content").as_array().push_back(event.data.at("content_block"));
      arguments.clear();
    }
    if (event.name == "content_block_delta") {
      json::value& block = message.at("content").as_array().back();
      const json::value& delta = event.data.at("delta");
      EXPECT_EQ(event.data.at("index"), message.at("content").as_array().size() - 1);
      if (delta.at("type") == "text_delta")
        block.at("text").as_string() += delta.at("text").as_string();
      if (delta.at("type") == "thinking_delta")
        block.at("thinking").as_string() += delta.at("thinking").as_string();
      if (delta.at("type") == "input_json_delta")
        arguments += std::string(delta.at("partial_json").as_string());
    }
    if (event.name == "content_block_stop" && !arguments.empty())
      message.at("content").as_array().back().at("input") = json::parse(arguments);
    if (event.name == "message_delta") {
      for (const auto& member : event.data.at("delta").as_object())
        message.as_object()[member.key()] = member.value();
      message.at("usage") = event.data.at("usage");
    }
  }
  return message;
}

std::string Names(const std::vector<Event>& events) {
  std::string names;
  for (const Event& event : events) {
    names += event.name;
    if (event.name == "content_block_delta")
      names += ":" + std::string(event.data.at("delta").at("type").as_string());
    names += "\n";
  }
  return names;
}

TEST_F(MessagesApi, AnswersInBlocks) {
  const json::value answer = Whole("<think>hm</think>Look: " + std::string(kCall));
  EXPECT_EQ(answer.at("type"), "message");
  EXPECT_EQ(answer.at("role"), "assistant");
  EXPECT_TRUE(std::string_view(answer.at("id").as_string()).starts_with("msg_"));
  const json::array& content = answer.at("content").as_array();
  ASSERT_EQ(content.size(), 3U) << json::serialize(answer);
  EXPECT_EQ(content[0], json::value({{"type", "thinking"}, {"thinking", "hm"}, {"signature", ""}}));
  EXPECT_EQ(content[1], json::value({{"type", "text"}, {"text", "Look:"}}));
  EXPECT_EQ(content[2].at("type"), "tool_use");
  EXPECT_EQ(content[2].at("name"), "add");
  EXPECT_EQ(content[2].at("input"), json::value({{"a", 1}}));
  EXPECT_EQ(answer.at("stop_reason"), "tool_use");
  EXPECT_TRUE(answer.at("stop_sequence").is_null());
  EXPECT_GT(answer.at("usage").at("input_tokens").as_int64(), 10);
  EXPECT_EQ(answer.at("usage").at("cache_read_input_tokens"), 0);
}

TEST_F(MessagesApi, StreamsWhatItAnswersWhole) {
  for (const std::string& script :
       {std::string("Hi"), std::string(kCall), "a " + std::string(kCall) + std::string(kCall),
        std::string("<think>x y</think>Hi"), std::string("  S\xC3\xA3o ")}) {
    json::value whole = Whole(script);
    json::value streamed = Joined(Stream(script));
    whole.as_object().erase("id");
    streamed.as_object().erase("id");
    EXPECT_EQ(streamed, whole) << script;
  }
}

TEST_F(MessagesApi, SendsTheEventsInAnthropicsOrder) {
  EXPECT_EQ(Names(Stream("<think>hm</think>" + std::string("<tool_call>{\"name\": \"add\", "
                                                           "\"arguments\": {}}</tool_call>"))),
            "message_start\n"
            "content_block_start\ncontent_block_delta:thinking_delta\n"
            "content_block_delta:signature_delta\ncontent_block_stop\n"
            "content_block_start\ncontent_block_delta:input_json_delta\ncontent_block_stop\n"
            "message_delta\nmessage_stop\n");
}

TEST_F(MessagesApi, SaysWhyItStopped) {
  EXPECT_EQ(Whole("Hi").at("stop_reason"), "end_turn");
  const json::value stopped = Whole("one two three", R"(,"stop_sequences":[" three"," two"])");
  EXPECT_EQ(stopped.at("stop_reason"), "stop_sequence");
  EXPECT_EQ(stopped.at("stop_sequence"), " two");
  EXPECT_EQ(stopped.at("content").at(0).at("text"), "one");
  const std::string body = R"({"max_tokens":1,"messages":[{"role":"user","content":"@@a b@@"}]})";
  EXPECT_EQ(Json(kPath, body).at("stop_reason"), "max_tokens");
}

// The input of a call must be an object, whatever the model wrote.
TEST_F(MessagesApi, ShowsArgumentsThatAreNoJson) {
  const json::value cut =
      Whole(kCall, std::string(kAdd) + R"(,"stop_sequences":["1}"])").at("content").at(0);
  EXPECT_EQ(cut.at("input"), json::value({{"INVALID_JSON", "{\"a\": "}}));
}

// A conversation in blocks is the prompt that OpenAI's messages make.
TEST_F(MessagesApi, ReadsAHistoryOfBlocks) {
  const std::string blocks =
      R"("system":[{"type":"text","text":"Be "},{"type":"text","text":"brief.",)"
      R"("cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":"add"},)"
      R"({"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},)"
      R"({"type":"text","text":"Let me"},)"
      R"({"type":"tool_use","id":"c1","name":"add","input":{"a":1}}]},)"
      R"({"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":)"
      R"([{"type":"text","text":"2"}]},{"type":"text","text":"@@ok@@"}]}])";
  const std::string chat =
      R"([{"role":"system","content":"Be brief."},{"role":"user","content":"add"},)"
      R"({"role":"assistant","reasoning_content":"hm","content":"Let me","tool_calls":[{"id":"c1",)"
      R"("type":"function","function":{"name":"add","arguments":{"a":1}}}]},)"
      R"({"role":"tool","tool_call_id":"c1","content":"2"},{"role":"user","content":"@@ok@@"}])";
  const std::string tools =
      R"(,"tools":[{"type":"function","function":{"name":"add","description":"adds","parameters":)"
      R"({"type":"object","properties":{"a":{"type":"integer"}}}}}])";
  const int64_t expected = json::parse(server::BodyOf(PostMessages(chat, tools)))
                               .at("usage")
                               .at("prompt_tokens")
                               .as_int64();
  EXPECT_EQ(Count("{" + blocks + std::string(kAdd) + "}"), expected);
  const json::value answer = Json(kPath, "{\"max_tokens\":9," + blocks + std::string(kAdd) + "}");
  EXPECT_EQ(answer.at("usage").at("input_tokens"), expected);
  EXPECT_EQ(answer.at("content").at(0).at("text"), "ok");
}

TEST_F(MessagesApi, ThinkingIsTheTemplatesMatter) {
  const auto thinking = [&](std::string_view type) {
    return Whole("hm</think>Hi",
                 R"(,"thinking":{"type":")" + std::string(type) + R"(","budget_tokens":1024})");
  };
  EXPECT_EQ(thinking("enabled").at("content").at(0).at("type"), "thinking");
  EXPECT_EQ(thinking("disabled").at("content").at(0).at("type"), "text");
  const std::string head = PostTo(
      kPath, Body("x", R"(,"thinking":{"type":"enabled","budget_tokens":1024},"new_field":1)"));
  EXPECT_NE(head.find("x-skald-ignored-params: thinking.budget_tokens, new_field\r\n"),
            std::string::npos)
      << head;
}

TEST_F(MessagesApi, RefusesInAnthropicsForm) {
  const auto refusal = [&](std::string_view more) {
    const json::value answer = Whole("x", more);
    EXPECT_EQ(answer.at("type"), "error");
    EXPECT_EQ(answer.at("error").at("type"), "invalid_request_error");
    return std::string(answer.at("error").at("message").as_string());
  };
  EXPECT_NE(refusal(R"(,"max_tokens":0)").find("the name 'max_tokens' stands twice"),
            std::string::npos);
  EXPECT_NE(refusal(R"(,"mcp_servers":[{"url":"x"}])").find("mcp_servers"), std::string::npos);
  const json::value none = Json("/v1/messages/none", "{}");
  EXPECT_EQ(none.at("error").at("type"), "not_found_error");
  EXPECT_EQ(Json(kPath, "{}").at("error").at("message"),
            "messages is missing, expected an array of 1 to 4096 messages");
}

TEST_F(MessagesApi, MustCallWhereACallIsWanted) {
  const auto asked = [&](std::string_view script, std::string_view choice) {
    return Whole(script, std::string(kAdd) + R"(,"tool_choice":)" + std::string(choice));
  };
  for (const std::string_view choice : {R"({"type":"any"})", R"({"type":"tool","name":"add"})",
                                        R"({"type":"any","disable_parallel_tool_use":true})"}) {
    const json::value answer = asked(kCall, choice);
    EXPECT_EQ(answer.at("stop_reason"), "tool_use") << choice;
    EXPECT_EQ(answer.at("content").at(0).at("input"), json::value({{"a", 1}}));
    EXPECT_EQ(asked("Hello.", choice).at("type"), "error") << choice;
  }
  const std::string twice = std::string(kCall) + std::string(kCall);
  EXPECT_EQ(asked(twice, R"({"type":"any"})").at("content").as_array().size(), 2U);
  EXPECT_EQ(asked(twice, R"({"type":"any","disable_parallel_tool_use":true})")
                .at("content")
                .as_array()
                .size(),
            1U);
  EXPECT_EQ(asked(kCall, R"({"type":"tool","name":"rm"})").at("type"), "error");
}

}  // namespace
}  // namespace skald
