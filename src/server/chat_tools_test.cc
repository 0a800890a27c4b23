// Tools and messages of a chat: what is taken, what is refused and by which name.
#include "server/chat_tools.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <string>
#include <string_view>
#include <variant>

#include "server/chat_messages.h"
#include "server/generation_request.h"
#include "server/json_reader.h"

namespace skald::server {
namespace {

namespace json = boost::json;

OrError<GenerationRequest> Read(const std::string& body) {
  return ReadChatRequest(std::get<json::value>(ReadJson(body)));
}

// With one message and `members`.
GenerationRequest Chat(std::string_view members) {
  auto request =
      Read(R"({"messages":[{"role":"user","content":"x"}],)" + std::string(members) + "}");
  if (const auto* error = std::get_if<ApiError>(&request)) ADD_FAILURE() << error->message;
  return std::get<GenerationRequest>(std::move(request));
}

// The field at fault, or "".
std::string Fault(std::string_view members) {
  const auto request =
      Read(R"({"messages":[{"role":"user","content":"x"}],)" + std::string(members) + "}");
  const auto* error = std::get_if<ApiError>(&request);
  if (error == nullptr) return {};
  EXPECT_EQ(error->status, 400);
  EXPECT_FALSE(error->message.empty());
  return error->param;
}

std::string MessageFault(std::string_view message) {
  const auto request = Read("{\"messages\":[" + std::string(message) + "]}");
  const auto* error = std::get_if<ApiError>(&request);
  return error == nullptr ? std::string() : error->param;
}

json::value MessageOf(std::string_view message) {
  auto request = Read("{\"messages\":[" + std::string(message) + "]}");
  if (const auto* error = std::get_if<ApiError>(&request)) ADD_FAILURE() << error->message;
  return std::get<GenerationRequest>(request).chat.at("messages").at(0);
}

std::string Tool(std::string_view name, std::string_view parameters = "{}") {
  return R"({"type":"function","function":{"name":")" + std::string(name) + R"(","parameters":)" +
         std::string(parameters) + "}}";
}

TEST(ReadChatTools, TakesDefinitionsAsTheyStand) {
  const std::string tool =
      Tool("a.b-C_1", R"({"type":"object","properties":{"x":{"enum":["1"]}}})");
  const ChatToolUse use = Chat("\"tools\":[" + tool + "]").tools;
  EXPECT_EQ(use.definitions.at(0), json::parse(tool));
  ASSERT_EQ(use.tools->size(), 1u);
  EXPECT_EQ(use.tools->front().name, "a.b-C_1");
  EXPECT_FALSE(use.one_call || use.as_function);
  EXPECT_TRUE(Chat("\"tools\":[" + tool + "],\"parallel_tool_calls\":false").tools.one_call);
  for (const std::string_view none :
       {R"("tools":[])", R"("tools":null)", R"("tool_choice":"auto")", R"("tool_choice":"none")"})
    EXPECT_EQ(Chat(none).tools.tools, nullptr) << none;
  EXPECT_EQ(Chat("\"tool_choice\":\"none\",\"tools\":[" + tool + "]").tools.tools, nullptr);
}

TEST(ReadChatTools, TakesSchemasAsTheyStand) {
  const std::string members =
      R"("tools":[{"type":"function","function":{"name":"f","strict":true,"parameters": )"
      R"({"maximum": 1.00, "enum":[9007199254740993.0]} }} , {"type":"function","function":)"
      R"({"name":"g","parameters":null}},)"
      R"({"function":{"name":"h","strict":null},"type":"function"}])";
  ChatToolUse use = Chat(members).tools;
  TakeRawSchemas("{" + members + "}", &use);
  ASSERT_EQ(use.schemas.size(), 3u);
  EXPECT_EQ(use.schemas[0].text, R"({"maximum": 1.00, "enum":[9007199254740993.0]})");
  EXPECT_EQ(use.schemas[1].text, "");
  EXPECT_EQ(use.schemas[2].text, "");
  EXPECT_TRUE(use.schemas[0].is_strict);
  EXPECT_FALSE(use.schemas[1].is_strict || use.schemas[2].is_strict);
  EXPECT_EQ(PointerOf(use, 2), "/tools/2/function/parameters");
}

TEST(ReadChatTools, KnowsHowArgumentsAreWritten) {
  const std::string parameters = R"({"properties":{
      "s":{"type":"string"},"e":{"enum":["a","b"]},"n":{"type":["string","null"]},
      "o":{"anyOf":[{"type":"string"},{"type":"null"}]},"i":{"type":"integer"},"any":{},
      "m":{"type":["string","integer"]},"x":{"enum":[1,null]},"junk":7}})";
  using Kind = ChatTool::Kind;
  const auto expected = {Kind::kString,       Kind::kString, Kind::kStringOrNull,
                         Kind::kStringOrNull, Kind::kValue,  Kind::kAny,
                         Kind::kAny,          Kind::kValue,  Kind::kAny};
  std::vector<Kind> kinds;
  const auto request = Chat("\"tools\":[" + Tool("f", parameters) + "]");
  for (const ChatTool::Parameter& each : request.tools.tools->front().parameters)
    kinds.push_back(each.kind);
  EXPECT_EQ(kinds, std::vector<Kind>(expected));
}

TEST(ReadChatTools, TakesFunctionsByTheirOlderName) {
  const ChatToolUse use = Chat(R"("functions":[{"name":"f","parameters":{}}])").tools;
  EXPECT_TRUE(use.as_function && use.one_call);
  EXPECT_EQ(use.definitions.at(0), json::parse(Tool("f")));
  EXPECT_EQ(Chat(R"("functions":[{"name":"f"}],"function_call":"none")").tools.tools, nullptr);
  EXPECT_EQ(Fault(R"("functions":[{"name":"f"}],"function_call":{"name":"g"})"), "function_call");
  EXPECT_EQ(Fault(R"("functions":[{"name":"f"}],"tools":[)" + Tool("f") + "]"), "functions");
  EXPECT_EQ(Fault(R"("functions":[7])"), "functions[0]");
}

TEST(ReadChatTools, RefusesWhatIsNoTool) {
  EXPECT_EQ(Fault(R"("tools":{"a":1})"), "tools");
  EXPECT_EQ(Fault(R"("tools":[7])"), "tools[0]");
  EXPECT_EQ(Fault(R"("tools":[{"type":"web_search"}])"), "tools[0]");
  EXPECT_EQ(Fault(R"("tools":[{"type":"function"}])"), "tools[0].function");
  EXPECT_EQ(Fault("\"tools\":[" + Tool("a") + "," + Tool("a") + "]"), "tools[1].function.name");
  EXPECT_EQ(Fault("\"tools\":[" + Tool("a", "7") + "]"), "tools[0].function.parameters");
  EXPECT_EQ(Fault(R"("tools":[)" + Tool("a") +
                  R"(,{"type":"function","function":{"name":"b","strict":"yes"}}])"),
            "tools[1].strict");
  for (const char* name : {"", "a b", "a\\n", "a<b", "\\u0000", "\\u00e9"})
    EXPECT_EQ(Fault("\"tools\":[" + Tool(name) + "]"), "tools[0].function.name") << name;
  EXPECT_EQ(Fault("\"tools\":[" + Tool(std::string(kMaxToolNameBytes, 'a')) + "]"), "");
  EXPECT_EQ(Fault("\"tools\":[" + Tool(std::string(kMaxToolNameBytes + 1, 'a')) + "]"),
            "tools[0].function.name");
}

TEST(ReadChatTools, BoundsTheirNumberAndSize) {
  const auto many = [](size_t count) {
    std::string list;
    for (size_t i = 0; i < count; ++i) list += (i ? "," : "") + Tool("f" + std::to_string(i));
    return "\"tools\":[" + list + "]";
  };
  EXPECT_EQ(Chat(many(kMaxTools)).tools.tools->size(), kMaxTools);
  EXPECT_EQ(Fault(many(kMaxTools + 1)), "tools");
  const auto large = [](size_t bytes) {
    return "\"tools\":[" + Tool("f", "{\"description\":\"" + std::string(bytes, 'x') + "\"}") + "]";
  };
  EXPECT_EQ(Fault(large(kMaxToolBytes - 100)), "");
  EXPECT_EQ(Fault(large(kMaxToolBytes)), "tools");
}

TEST(ReadChatTools, TakesChoices) {
  const std::string tools = "\"tools\":[" + Tool("f") + "," + Tool("g") + "],";
  const auto choice = [&](std::string_view value) {
    return Chat(tools + "\"tool_choice\":" + std::string(value)).tools;
  };
  const ChatToolUse must = choice("\"required\"");
  EXPECT_TRUE(must.must_call && !must.is_limited && !must.one_call);
  for (const std::string_view named :
       {R"({"type":"function","function":{"name":"g"}})", R"({"type":"function","name":"g"})"}) {
    const ChatToolUse one = choice(named);
    EXPECT_TRUE(one.must_call && one.is_limited && one.one_call);
    EXPECT_FALSE(one.schemas[0].is_callable);
    EXPECT_TRUE(one.schemas[1].is_callable);
    EXPECT_EQ(one.definitions.size(), 2u);
  }
  const ChatToolUse some = choice(
      R"({"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[{"type":"function",)"
      R"("function":{"name":"f"}}]}})");
  EXPECT_TRUE(!some.must_call && some.is_limited && some.schemas[0].is_callable);
  EXPECT_FALSE(some.schemas[1].is_callable);
  EXPECT_TRUE(
      choice(R"({"type":"allowed_tools","mode":"required","tools":[{"name":"f"}]})").must_call);
  const ChatToolUse function =
      Chat(R"("functions":[{"name":"f"}],"function_call":{"name":"f"})").tools;
  EXPECT_TRUE(function.must_call);
}

TEST(ReadChatTools, RefusesChoicesThatAreNone) {
  const std::string tools = "\"tools\":[" + Tool("f") + "],";
  for (const std::string_view choice :
       {R"("any")", "7", "{}", R"({"type":"function"})", R"({"type":"function","name":"g"})",
        R"({"type":"web_search","name":"f"})", R"({"type":"allowed_tools"})",
        R"({"type":"allowed_tools","mode":"any","tools":[{"name":"f"}]})",
        R"({"type":"allowed_tools","mode":"auto","tools":[]})",
        R"({"type":"allowed_tools","mode":"auto","tools":[{"name":"g"}]})",
        R"({"type":"allowed_tools","mode":"auto","tools":[7]})"})
    EXPECT_EQ(Fault(tools + "\"tool_choice\":" + std::string(choice)), "tool_choice") << choice;
  EXPECT_EQ(Fault(R"("tool_choice":"required")"), "tool_choice");
  EXPECT_EQ(Fault(R"("tool_choice":{"type":"function","name":"f"})"), "tool_choice");
  EXPECT_EQ(Fault(tools + R"("parallel_tool_calls":7)"), "parallel_tool_calls");
}

TEST(ReadMessages, GivesCallsToTemplatesAsTransformersDoes) {
  const json::value message = MessageOf(
      R"({"role":"assistant","tool_calls":[{"id":"c1","type":"function","index":0,"function":
          {"name":"f","arguments":"{\"b\": 1, \"a\": [null]}"}}],"refusal":null,"reasoning":"r"})");
  EXPECT_EQ(message, json::parse(R"({"role":"assistant","tool_calls":[{"type":"function","id":"c1",
      "function":{"name":"f","arguments":{"b":1,"a":[null]}}}],"content":null,
      "reasoning_content":"r","thinking":"r"})"));
  EXPECT_EQ(MessageOf(R"({"role":"tool","content":"2","tool_call_id":"c1","name":"f"})"),
            json::parse(R"({"role":"tool","content":"2","tool_call_id":"c1","name":"f"})"));
  const auto arguments = [](std::string_view given) {
    return MessageOf(R"({"role":"assistant","tool_calls":[{"function":{"name":"f")" +
                     std::string(given) + "}}]}")
        .at("tool_calls")
        .at(0)
        .at("function")
        .at("arguments");
  };
  EXPECT_EQ(arguments(""), json::object());
  EXPECT_EQ(arguments(R"(,"arguments":"")"), json::object());
  EXPECT_EQ(arguments(R"(,"arguments":{"a":1})"), json::parse(R"({"a":1})"));
  // What is no object stays what the model wrote.
  EXPECT_EQ(arguments(R"(,"arguments":"[1]")"), "[1]");
  EXPECT_EQ(arguments(R"(,"arguments":"{\"a\":")"), "{\"a\":");
}

TEST(ReadMessages, WritesArgumentsAsTextForTemplatesThatPrintThem) {
  json::object chat{{"messages", json::array{MessageOf(R"({"role":"assistant","tool_calls":[{
      "function":{"name":"f","arguments":{"a":[1]}}},{"function":{"name":"f",
      "arguments":"{"}}]})"),
                                             MessageOf(R"({"role":"user","content":"x"})")}}};
  WriteArgumentsAsText(chat);
  const json::value& calls = chat.at("messages").at(0).at("tool_calls");
  EXPECT_EQ(calls.at(0).at("function").at("arguments"), R"({"a":[1]})");
  EXPECT_EQ(calls.at(1).at("function").at("arguments"), "{");
}

TEST(ReadMessages, NamesTheCallAtFault) {
  const auto with = [](std::string_view calls, std::string_view role = "assistant") {
    return MessageFault("{\"role\":\"" + std::string(role) +
                        "\",\"content\":\"\",\"tool_calls\":" + std::string(calls) + "}");
  };
  EXPECT_EQ(with("[]"), "");
  EXPECT_EQ(with("null", "user"), "");
  EXPECT_EQ(with("7"), "messages[0].tool_calls");
  EXPECT_EQ(with(R"([{"function":{"name":"f"}}])", "user"), "messages[0].tool_calls");
  EXPECT_EQ(with("[7]"), "messages[0].tool_calls[0]");
  EXPECT_EQ(with(R"([{"function":{"name":"f"}},{"function":{"name":"f\n"}}])"),
            "messages[0].tool_calls[1].function.name");
  EXPECT_EQ(with(R"([{"function":{"name":"f","arguments":[1]}}])"),
            "messages[0].tool_calls[0].function.arguments");
  EXPECT_EQ(with(R"([{"id":7,"function":{"name":"f"}}])"), "messages[0].tool_calls[0].id");
  std::string many = R"({"function":{"name":"f"}})";
  for (size_t i = 0; i < kMaxCallsOfMessage; ++i) many += R"(,{"function":{"name":"f"}})";
  EXPECT_EQ(with("[" + many + "]"), "messages[0].tool_calls");
  EXPECT_EQ(MessageFault(R"({"role":"assistant","content":"","function_call":7})"),
            "messages[0].function_call");
}

TEST(ReadMessages, NamesThePartThatIsNoText) {
  for (const char* type : {"image_url", "input_audio", "file", "video_url"}) {
    const auto request =
        Read(R"({"messages":[{"role":"user","content":[{"type":"text","text":"a"},)"
             R"({"type":")" +
             std::string(type) + "\"}]}]}");
    const auto& error = std::get<ApiError>(request);
    EXPECT_EQ(error.param, "messages[0].content[1]");
    EXPECT_EQ(error.code, "unsupported_parameter");
    EXPECT_NE(error.message.find(type), std::string::npos);
    EXPECT_NE(error.message.find("models of text"), std::string::npos);
  }
  EXPECT_EQ(MessageFault(R"({"role":"tool"})"), "messages[0].content");
  EXPECT_EQ(MessageFault(R"({"role":"user","content":[{"type":"text","text":7}]})"),
            "messages[0].content[0].text");
}

TEST(ReadChatRequest, TakesTheWaysToShowReasoning) {
  EXPECT_TRUE(Chat(R"("reasoning_format":"auto")").split_reasoning);
  EXPECT_TRUE(Chat(R"("reasoning_format":null)").split_reasoning);
  EXPECT_FALSE(Chat(R"("reasoning_format":"none")").split_reasoning);
  EXPECT_EQ(Fault(R"("reasoning_format":"html")"), "reasoning_format");
}

}  // namespace
}  // namespace skald::server
