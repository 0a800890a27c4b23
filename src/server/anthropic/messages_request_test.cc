#include "server/anthropic/messages_request.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <string>
#include <string_view>

namespace skald::server {
namespace {

namespace json = boost::json;

constexpr std::string_view kUser = R"({"role":"user","content":"Hi"})";

OrError<GenerationRequest> Read(const std::string& members) {
  return ReadMessagesRequest(json::parse("{" + members + "}"));
}
GenerationRequest Good(const std::string& members) {
  auto read = Read(R"("messages":[)" + std::string(kUser) + "]" + members);
  if (const auto* error = std::get_if<ApiError>(&read)) ADD_FAILURE() << error->message;
  return std::get<GenerationRequest>(std::move(read));
}
std::string Param(const std::string& members) {
  const auto read = Read(members);
  const auto* error = std::get_if<ApiError>(&read);
  EXPECT_NE(error, nullptr) << members;
  if (error == nullptr) return "nothing";
  EXPECT_EQ(error->status, 400);
  return error->param;
}
std::string ParamBeside(const std::string& member) {
  return Param(R"("messages":[)" + std::string(kUser) + "]," + member);
}
std::string ParamOfContent(const std::string& role, const std::string& content) {
  return Param(R"("messages":[{"role":")" + role + R"(","content":)" + content + "}," +
               std::string(kUser) + "]");
}

TEST(MessagesRequest, TakesTheFieldsOfAnthropic) {
  const GenerationRequest request =
      Good(R"(,"model":"m","max_tokens":7,"temperature":0.5,"top_p":0.9,"top_k":40,"seed":3,)"
           R"("stop_sequences":["a","b"],"stream":true,"metadata":{"user_id":"u"},)"
           R"("service_tier":"auto","cache_control":{"type":"ephemeral"},)"
           R"("output_config":{"effort":"low"},"cache_salt":"s")");
  EXPECT_EQ(request.style, AnswerStyle::kAnthropic);
  EXPECT_EQ(request.model, "m");
  EXPECT_EQ(request.request.stop.max_tokens, 7);
  EXPECT_EQ(request.request.sampling.temperature, 0.5);
  EXPECT_EQ(request.request.sampling.truncation.top_p, 0.9);
  EXPECT_EQ(request.request.sampling.truncation.top_k, 40);
  EXPECT_TRUE(request.has_seed && request.request.sampling.seed == 3);
  EXPECT_EQ(request.stop_strings, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(request.stream);
  EXPECT_EQ(request.cache_salt, "s");
  EXPECT_EQ(request.chat.at("reasoning_effort"), "low");
  EXPECT_TRUE(request.ignored.empty());
}

// A message of results and text is several; the system's is the first.
TEST(MessagesRequest, MarksCountMessages) {
  constexpr std::string_view kMark = R"("cache_control":{"type":"ephemeral"})";
  const std::string system = R"([{"type":"text","text":"S",)" + std::string(kMark) + "}]";
  const std::string first = R"([{"type":"tool_result","tool_use_id":"a","content":"r",)" +
                            std::string(kMark) + R"(},{"type":"text","text":"b"}])";
  const auto read =
      Read(R"("system":)" + system + R"(,"messages":[{"role":"user","content":)" + first +
           R"(},{"role":"assistant","content":"c"},)" + std::string(kUser) + "]");
  ASSERT_TRUE(std::holds_alternative<GenerationRequest>(read));
  EXPECT_EQ(std::get<GenerationRequest>(read).marked_messages, (std::vector<size_t>{1, 3}));
  const std::string tools =
      R"(,"tools":[{"name":"t","input_schema":{},)" + std::string(kMark) + R"(}],"system":"S")";
  EXPECT_EQ(Good(tools).marked_messages, std::vector<size_t>{1});
  EXPECT_TRUE(Good(R"(,"system":"S")").marked_messages.empty());
}

TEST(MessagesRequest, TakesTheSamplersOfChats) {
  const GenerationRequest request =
      Good(R"(,"max_tokens":7,"dry_multiplier":0.8,"dry_sequence_breakers":["x"],)"
           R"("xtc_probability":0.5,"top_n_sigma":2,"dynatemp_range":0.3,"mirostat":2)");
  const SamplingParams& sampling = request.request.sampling;
  EXPECT_EQ(sampling.dry.multiplier, 0.8);
  EXPECT_EQ(sampling.truncation.xtc_probability, 0.5);
  EXPECT_EQ(sampling.truncation.top_n_sigma, 2);
  EXPECT_EQ(sampling.dynamic_temperature.range, 0.3);
  EXPECT_EQ(sampling.mirostat.version, 2);
  EXPECT_EQ(request.dry_breakers, std::vector<std::string>{"x"});
  EXPECT_TRUE(request.ignored.empty());
  EXPECT_EQ(ParamBeside(R"("mirostat":1)"), "mirostat");
}

TEST(MessagesRequest, TakesChoicesAndSchemas) {
  const std::string tools = R"(,"tools":[{"name":"f","input_schema":{ "a":1.0 },"strict":true},)"
                            R"({"name":"g","input_schema":{}}])";
  ChatToolUse use = Good(tools + R"(,"tool_choice":{"type":"any"})").tools;
  TakeRawSchemas("{" + tools.substr(1) + "}", &use);
  EXPECT_TRUE(use.must_call && !use.one_call && use.schemas[0].is_strict);
  EXPECT_EQ(use.schemas[0].text, R"({ "a":1.0 })");
  EXPECT_EQ(PointerOf(use, 1), "/tools/1/input_schema");
  use = Good(tools + R"(,"tool_choice":{"type":"tool","name":"g"})").tools;
  EXPECT_TRUE(use.must_call && use.one_call && use.schemas[1].is_callable);
  EXPECT_FALSE(use.schemas[0].is_callable);
}

TEST(MessagesRequest, PutsResultsBeforeTheTextBesideThem) {
  const auto read =
      Read(R"("messages":[{"role":"user","content":[{"type":"text","text":"t"},)"
           R"({"type":"tool_result","tool_use_id":"a"},)"
           R"({"type":"tool_result","tool_use_id":"b","content":"2","is_error":true}]}])");
  const json::array& messages = std::get<GenerationRequest>(read).chat.at("messages").as_array();
  EXPECT_EQ(std::get<GenerationRequest>(read).ignored,
            std::vector<std::string>{"tool_result.is_error"});
  ASSERT_EQ(messages.size(), 3U);
  EXPECT_EQ(messages[0], json::value({{"role", "tool"}, {"content", ""}, {"tool_call_id", "a"}}));
  EXPECT_EQ(messages[1].at("content"), "2");
  EXPECT_EQ(messages[2], json::value({{"role", "user"}, {"content", "t"}}));
}

TEST(MessagesRequest, NamesTheToolOfAResult) {
  const auto read = Read(
      R"("messages":[{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f",)"
      R"("input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}])");
  const json::array& messages = std::get<GenerationRequest>(read).chat.at("messages").as_array();
  EXPECT_TRUE(messages.at(0).at("content").is_null());
  EXPECT_EQ(messages.at(1).at("name"), "f");
}

TEST(MessagesRequest, ReadsToolsAndTheirChoice) {
  const std::string tools = R"(,"tools":[{"name":"f","input_schema":{"type":"object"}}])";
  EXPECT_EQ(Good(tools).tools.tools->at(0).name, "f");
  EXPECT_EQ(Good(tools).tools.definitions.at(0),
            json::parse(R"({"type":"function","function":{"name":"f","parameters":)"
                        R"({"type":"object"}}})"));
  EXPECT_EQ(Good(tools + R"(,"tool_choice":{"type":"none"})").tools.tools, nullptr);
  EXPECT_TRUE(Good(tools + R"(,"tool_choice":{"type":"auto","disable_parallel_tool_use":true})")
                  .tools.one_call);
  EXPECT_FALSE(Good(tools + R"(,"tool_choice":{"type":"auto"})").tools.one_call);
}

TEST(MessagesRequest, NamesWhatIsWrong) {
  EXPECT_EQ(Param(""), "messages");
  EXPECT_EQ(Param(R"("messages":[])"), "messages");
  EXPECT_EQ(Param(R"("messages":[1])"), "messages[0]");
  EXPECT_EQ(ParamOfContent("tool", "\"x\""), "messages[0].role");
  EXPECT_EQ(ParamOfContent("user", "1"), "messages[0].content");
  EXPECT_EQ(ParamOfContent("user", "[1]"), "messages[0].content[0]");
  EXPECT_EQ(ParamOfContent("user", R"([{"type":"text"}])"), "messages[0].content[0].text");
  EXPECT_EQ(ParamOfContent("user", R"([{"type":"tool_result","tool_use_id":1}])"),
            "messages[0].content[0].tool_use_id");
  EXPECT_EQ(ParamOfContent("user", R"([{"type":"tool_result","tool_use_id":"a","is_error":1}])"),
            "messages[0].content[0].is_error");
  EXPECT_EQ(ParamOfContent("user", R"([{"type":"tool_result","tool_use_id":"a","content":[)"
                                   R"({"type":"image","source":{}}]}])"),
            "messages[0].content[0].content[0]");
  EXPECT_EQ(ParamOfContent("assistant", R"([{"type":"tool_use","id":"a","name":"f"}])"),
            "messages[0].content[0].input");
  EXPECT_EQ(ParamOfContent("assistant", R"([{"type":"tool_use","id":"a","name":"a b",)"
                                        R"("input":{}}])"),
            "messages[0].content[0].name");
  EXPECT_EQ(ParamOfContent("assistant", R"([{"type":"redacted_thinking","data":"x"}])"),
            "messages[0].content[0]");
  EXPECT_EQ(ParamBeside(R"("system":[{"type":"image"}])"), "system[0]");
  EXPECT_EQ(ParamBeside(R"("tools":[{"name":"f"}])"), "tools[0].input_schema");
  EXPECT_EQ(ParamBeside(R"("tools":[{"name":"","input_schema":{}}])"), "tools[0].name");
  EXPECT_EQ(ParamBeside(R"("tools":[{"type":"bash_20250124","name":"bash"}])"), "tools[0]");
  EXPECT_EQ(ParamBeside(R"("thinking":{"type":"much"})"), "thinking");
  EXPECT_EQ(ParamBeside(R"("output_config":{"format":{"type":"json_schema"}})"),
            "output_config.format.schema");
  EXPECT_EQ(ParamBeside(R"("output_config":{"format":{"type":"regex"}})"), "output_config.format");
  EXPECT_EQ(ParamBeside(R"("tool_choice":{"type":"tool","name":"f"})"), "tool_choice");
  EXPECT_EQ(ParamBeside(R"("context_management":{"edits":[{"type":"clear","keep":1}]})"),
            "context_management");
  EXPECT_EQ(ParamBeside(R"("stop":"x","max_tokens":0)"), "max_tokens");
}

TEST(MessagesRequest, RefusesByNameWhatItCannotDo) {
  const auto read = Read(R"("messages":[{"role":"user","content":[{"type":"image"}]}])");
  const auto& error = std::get<ApiError>(read);
  EXPECT_EQ(error.code, "unsupported_parameter");
  EXPECT_NE(error.message.find("'image'"), std::string::npos);
  // A message of the assistant at the end is the beginning of the answer.
  EXPECT_EQ(Param(R"("messages":[{"role":"assistant","content":"{"}])"), "messages");
  EXPECT_TRUE(
      Good(R"(,"context_management":{"edits":[{"type":"c","keep":"all"}]})").ignored.empty());
}

TEST(MessagesRequest, BoundsBlocksCallsAndMessages) {
  const auto many = [](std::string_view block, size_t count) {
    std::string list;
    for (size_t i = 0; i < count; ++i) list += (i == 0 ? "" : ",") + std::string(block);
    return "[" + list + "]";
  };
  constexpr std::string_view kUse = R"({"type":"tool_use","id":"a","name":"f","input":{}})";
  EXPECT_EQ(ParamOfContent("assistant", many(kUse, 129)), "messages[0].content[128]");
  EXPECT_EQ(ParamOfContent("user", many(R"({"type":"text","text":""})", 1025)),
            "messages[0].content");
  constexpr std::string_view kResult = R"({"type":"tool_result","tool_use_id":"a"})";
  const std::string results = R"({"role":"user","content":)" + many(kResult, 1024) + "}";
  EXPECT_EQ(Param("\"messages\":" + many(results, 5)), "messages");
}

TEST(MessagesRequest, CountsThePromptOnly) {
  const auto read = ReadCountTokensRequest(
      json::parse(R"({"max_tokens":100,"messages":[{"role":"user","content":"Hi"}]})"));
  EXPECT_EQ(std::get<GenerationRequest>(read).request.stop.max_tokens, 1);
}

}  // namespace
}  // namespace skald::server
