// OpenAI's Responses API, from socket to socket, with an engine that writes what it is asked to.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "e2e/scripted_server.h"

namespace skald {
namespace {

constexpr std::string_view kPath = "/v1/responses";
constexpr std::string_view kAdd =
    R"(,"seed":7,"tools":[{"type":"function","name":"add","description":"adds","parameters":)"
    R"({"type":"object","properties":{"a":{"type":"integer"}}}}])";
constexpr std::string_view kCall =
    R"(<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>)";

class ResponsesApi : public ScriptedServer {
 protected:
  static std::string Body(std::string_view script, std::string_view more) {
    return "{\"input\":" + json::serialize(json::string("@@" + std::string(script) + "@@")) +
           std::string(more) + "}";
  }
  json::value Whole(std::string_view script, std::string_view more = kAdd) {
    return json::parse(server::BodyOf(PostTo(kPath, Body(script, more))));
  }
  std::vector<json::value> Stream(std::string_view script, std::string_view more = kAdd) {
    const std::string body =
        server::BodyOf(PostTo(kPath, Body(script, std::string(more) + R"(,"stream":true)")));
    std::vector<json::value> events;
    for (size_t at = 0; at < body.size();) {
      const size_t end = body.find("\n\n", at);
      const size_t line = body.find('\n', at);
      events.push_back(json::parse(body.substr(line + 7, end - line - 7)));
      EXPECT_EQ(body.substr(at + 7, line - at - 7),
                std::string_view(events.back().at("type").as_string()));
      EXPECT_EQ(events.back().at("sequence_number"), events.size() - 1);
      at = end + 2;
    }
    return events;
  }
};

// What a client makes of the deltas, without what the events at the end of items and answer repeat.
json::array Joined(const std::vector<json::value>& events) {
  json::array items;
  for (const json::value& event : events) {
    const std::string_view type = event.at("type").as_string();
    if (type == "response.output_item.added") items.push_back(event.at("item"));
    if (!event.as_object().contains("output_index")) continue;
    EXPECT_EQ(event.at("output_index"), items.size() - 1);
    json::object& item = items.back().as_object();
    if (event.as_object().contains("item_id")) {
      EXPECT_EQ(event.at("item_id"), item.at("id"));
    }
    if (type == "response.content_part.added")
      item.at("content").as_array().push_back(event.at("part"));
    if (!type.ends_with(".delta")) continue;
    json::value& text = item.at("type") == "function_call" ? item.at("arguments")
                                                           : item.at("content").at(0).at("text");
    text.as_string() += event.at("delta").as_string();
  }
  for (json::value& item : items) item.at("status") = "completed";
  return items;
}

TEST_F(ResponsesApi, AnswersInItems) {
  const json::value answer = Whole("<think>hm</think>Look: " + std::string(kCall));
  EXPECT_EQ(answer.at("object"), "response");
  EXPECT_EQ(answer.at("status"), "completed");
  EXPECT_EQ(answer.at("store"), false);
  EXPECT_TRUE(answer.at("error").is_null() && answer.at("incomplete_details").is_null());
  const json::array& output = answer.at("output").as_array();
  ASSERT_EQ(output.size(), 3U) << json::serialize(answer);
  EXPECT_EQ(output[0].at("content").at(0),
            json::value({{"type", "reasoning_text"}, {"text", "hm"}}));
  EXPECT_EQ(output[1].at("role"), "assistant");
  EXPECT_EQ(output[1].at("content").at(0).at("text"), "Look:");
  EXPECT_EQ(output[2].at("type"), "function_call");
  EXPECT_EQ(output[2].at("arguments"), R"({"a": 1})");
  const json::value& usage = answer.at("usage");
  EXPECT_EQ(usage.at("total_tokens").as_int64(),
            usage.at("input_tokens").as_int64() + usage.at("output_tokens").as_int64());
  const int64_t reasoning = usage.at("output_tokens_details").at("reasoning_tokens").as_int64();
  EXPECT_GT(reasoning, 0);
  EXPECT_LT(reasoning, usage.at("output_tokens").as_int64());
}

TEST_F(ResponsesApi, StreamsWhatItAnswersWhole) {
  for (const std::string& script :
       {std::string("Hi"), std::string(kCall), "a " + std::string(kCall) + std::string(kCall),
        std::string("<think>x y</think>Hi"), std::string("  S\xC3\xA3o ")}) {
    const json::value whole = Whole(script);
    const std::vector<json::value> events = Stream(script);
    EXPECT_EQ(events.front().at("type"), "response.created");
    EXPECT_EQ(events.at(1).at("type"), "response.in_progress");
    EXPECT_EQ(events.back().at("type"), "response.completed");
    // But for the ids, which are those of two answers.
    const auto strip = [](json::array items) {
      for (json::value& item : items) item.as_object().erase("id");
      return items;
    };
    const json::array& output = whole.at("output").as_array();
    EXPECT_EQ(strip(Joined(events)), strip(output)) << script;
    EXPECT_EQ(strip(events.back().at("response").at("output").as_array()), strip(output));
    EXPECT_EQ(events.back().at("response").at("usage"), whole.at("usage"));
    json::array done;
    for (const json::value& event : events)
      if (event.at("type") == "response.output_item.done") done.push_back(event.at("item"));
    EXPECT_EQ(strip(done), strip(output));
  }
}

TEST_F(ResponsesApi, SendsTheEventsOfEachKindOfItem) {
  std::string names;
  for (const json::value& event :
       Stream("<think>hm</think>" + std::string("<tool_call>{\"name\": \"add\", \"arguments\": "
                                                "{}}</tool_call>!")))
    names += std::string(event.at("type").as_string().subview(9)) + "\n";
  EXPECT_EQ(names,
            "created\nin_progress\n"
            "output_item.added\ncontent_part.added\nreasoning_text.delta\nreasoning_text.done\n"
            "content_part.done\noutput_item.done\n"
            "output_item.added\nfunction_call_arguments.delta\nfunction_call_arguments.done\n"
            "output_item.done\n"
            "output_item.added\ncontent_part.added\noutput_text.delta\noutput_text.done\n"
            "content_part.done\noutput_item.done\ncompleted\n");
}

TEST_F(ResponsesApi, SaysThatAnAnswerWasCut) {
  const json::value cut = Whole("one two three", R"(,"max_output_tokens":4)");
  EXPECT_EQ(cut.at("status"), "incomplete");
  EXPECT_EQ(cut.at("incomplete_details"), json::value({{"reason", "max_output_tokens"}}));
  EXPECT_EQ(cut.at("output").at(0).at("status"), "incomplete");
  const json::value end = Stream("one two three", R"(,"max_output_tokens":4)").back();
  EXPECT_EQ(end.at("type"), "response.incomplete");
  EXPECT_EQ(end.at("response").at("output").at(0).at("status"), "incomplete");
}

TEST_F(ResponsesApi, ReadsAHistoryOfItems) {
  const json::value first = Whole("<think>hm</think>Look: " + std::string(kCall));
  json::array input = first.at("output").as_array();
  input.insert(input.begin(), json::object{{"role", "user"}, {"content", "add"}});
  input.push_back(json::object{{"type", "function_call_output"},
                               {"call_id", first.at("output").at(2).at("call_id")},
                               {"output", "2"}});
  input.push_back(json::object{{"role", "user"}, {"content", "@@ok@@"}});
  const json::value second = json::parse(server::BodyOf(
      PostTo(kPath, "{\"input\":" + json::serialize(input) + std::string(kAdd) + "}")));
  EXPECT_EQ(second.at("output").at(0).at("content").at(0).at("text"), "ok");
  // The same conversation as a chat.
  const std::string chat =
      R"([{"role":"user","content":"add"},{"role":"assistant","reasoning_content":"hm",)"
      R"("content":"Look:","tool_calls":[{"id":"c","type":"function","function":{"name":"add",)"
      R"("arguments":{"a":1}}}]},{"role":"tool","tool_call_id":"c","content":"2"},)"
      R"({"role":"user","content":"@@ok@@"}])";
  const std::string tools =
      R"(,"tools":[{"type":"function","function":{"name":"add","description":"adds","parameters":)"
      R"({"type":"object","properties":{"a":{"type":"integer"}}}}}])";
  EXPECT_EQ(json::parse(server::BodyOf(PostMessages(chat, tools))).at("usage").at("prompt_tokens"),
            second.at("usage").at("input_tokens"));
}

TEST_F(ResponsesApi, RefusesWhatIsStoredElsewhere) {
  const json::value error = Whole("x", R"(,"previous_response_id":"resp_1")").at("error");
  EXPECT_EQ(error.at("param"), "previous_response_id");
  EXPECT_EQ(error.at("code"), "unsupported_parameter");
}

}  // namespace
}  // namespace skald
