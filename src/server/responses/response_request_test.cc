#include "server/responses/response_request.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace skald::server {
namespace {

namespace json = boost::json;

OrError<GenerationRequest> Read(const std::string& members) {
  return ReadResponseRequest(json::parse("{" + members + "}"));
}
GenerationRequest Good(const std::string& members) {
  auto read = Read(members);
  if (const auto* error = std::get_if<ApiError>(&read)) ADD_FAILURE() << error->message;
  return std::get<GenerationRequest>(std::move(read));
}
json::array Messages(const std::string& input) {
  return Good("\"input\":" + input).chat.at("messages").as_array();
}
std::string Param(const std::string& members) {
  const auto read = Read(members);
  const auto* error = std::get_if<ApiError>(&read);
  if (error == nullptr) return "nothing";
  EXPECT_EQ(error->status, 400);
  return error->param;
}
std::string ParamBeside(const std::string& member) { return Param("\"input\":\"x\"," + member); }
std::string ParamOfItem(const std::string& item) { return Param("\"input\":[" + item + "]"); }

TEST(ResponseRequest, TakesTheFieldsOfOpenAi) {
  const GenerationRequest request = Good(
      R"("input":"Hi","instructions":"Be brief.","model":"m","max_output_tokens":7,)"
      R"("temperature":0.5,"top_p":0.9,"seed":3,"stream":true,"store":true,"metadata":{"a":"b"},)"
      R"("reasoning":{"effort":"low","summary":null},"text":{"format":{"type":"text"}},)"
      R"("include":["reasoning.encrypted_content"],"truncation":"auto","user":"u",)"
      R"("previous_response_id":null,"background":false,"prompt_cache_key":"k")");
  EXPECT_EQ(request.style, AnswerStyle::kResponses);
  EXPECT_EQ(request.request.stop.max_tokens, 7);
  EXPECT_EQ(request.request.sampling.temperature, 0.5);
  EXPECT_TRUE(request.stream);
  EXPECT_EQ(request.chat.at("reasoning_effort"), "low");
  EXPECT_EQ(request.chat.at("messages"), json::parse(R"([{"role":"system","content":"Be brief."},)"
                                                     R"({"role":"user","content":"Hi"}])"));
  EXPECT_TRUE(request.ignored.empty());
}

TEST(ResponseRequest, TakesTheSamplersOfChats) {
  const GenerationRequest request =
      Good(R"("input":"Hi","min_p":0.1,"dry_multiplier":0.8,"xtc_probability":0.5,"top_n_sigma":2,)"
           R"("dynatemp_range":0.3,"mirostat":2)");
  const SamplingParams& sampling = request.request.sampling;
  EXPECT_EQ(sampling.dry.multiplier, 0.8);
  EXPECT_EQ(sampling.truncation.xtc_probability, 0.5);
  EXPECT_EQ(sampling.truncation.top_n_sigma, 2);
  EXPECT_EQ(sampling.dynamic_temperature.range, 0.3);
  EXPECT_EQ(sampling.mirostat.version, 2);
  EXPECT_EQ(request.dry_breakers.size(), 4u);
  EXPECT_TRUE(request.ignored.empty());
  EXPECT_EQ(ParamBeside(R"("mirostat":1)"), "mirostat");
  EXPECT_EQ(ParamBeside(R"("xtc_probability":2)"), "xtc_probability");
}

TEST(ResponseRequest, RepeatsWhatWasAskedButForTheStore) {
  const GenerationRequest request =
      Good(R"("input":"Hi","store":true,"temperature":0.5,"metadata":{"a":"b"},)"
           R"("tools":[{"type":"function","name":"f"}])");
  json::object repeated;
  for (const auto& [name, value] : request.repeated) repeated[name] = json::parse(value);
  EXPECT_EQ(repeated.at("store"), false);
  EXPECT_EQ(repeated.at("temperature"), 0.5);
  EXPECT_EQ(repeated.at("top_p"), 1.0);
  EXPECT_EQ(repeated.at("metadata"), json::parse(R"({"a":"b"})"));
  EXPECT_EQ(repeated.at("tools"), json::parse(R"([{"type":"function","name":"f"}])"));
  EXPECT_TRUE(repeated.at("instructions").is_null());
}

TEST(ResponseRequest, PutsTheItemsOfATurnTogether) {
  const json::array messages = Messages(
      R"([{"role":"user","content":[{"type":"input_text","text":"a"},)"
      R"({"type":"input_text","text":"b"}]},)"
      R"({"type":"reasoning","id":"r","summary":[],"content":[{"type":"reasoning_text",)"
      R"("text":"hm"}]},)"
      R"({"type":"message","role":"assistant","content":[{"type":"output_text","text":"t"}]},)"
      R"({"type":"function_call","call_id":"c","name":"f","arguments":"{\"a\": 1}"},)"
      R"({"type":"function_call","call_id":"d","name":"g","arguments":""},)"
      R"({"type":"function_call_output","call_id":"d","output":"2"},)"
      R"({"type":"function_call_output","call_id":"c","output":[{"type":"input_text",)"
      R"("text":"1"}]}])");
  ASSERT_EQ(messages.size(), 4U) << json::serialize(messages);
  EXPECT_EQ(messages[0], json::value({{"role", "user"}, {"content", "ab"}}));
  EXPECT_EQ(messages[1].at("reasoning_content"), "hm");
  EXPECT_EQ(messages[1].at("content"), "t");
  ASSERT_EQ(messages[1].at("tool_calls").as_array().size(), 2U);
  EXPECT_EQ(messages[1].at("tool_calls").at(0).at("function").at("arguments"),
            json::value({{"a", 1}}));
  EXPECT_EQ(messages[2], json::parse(R"({"role":"tool","content":"2","tool_call_id":"d",)"
                                     R"("name":"g"})"));
  EXPECT_EQ(messages[3].at("name"), "f");
}

TEST(ResponseRequest, KeepsTurnsApart) {
  const std::string message = R"({"role":"assistant","content":"t"})";
  const std::string call =
      R"({"type":"function_call","call_id":"c","name":"f","arguments":"no json"})";
  EXPECT_EQ(Messages("[" + message + "," + message + "]").size(), 2U);
  EXPECT_EQ(Messages("[" + call + "," + message + "]").size(), 2U);
  // What a model wrote as arguments stays as it is.
  EXPECT_EQ(Messages("[" + call + "]").at(0).at("tool_calls").at(0).at("function").at("arguments"),
            "no json");
}

TEST(ResponseRequest, NamesWhatIsWrong) {
  EXPECT_EQ(Param(""), "input");
  EXPECT_EQ(Param("\"input\":[]"), "input");
  EXPECT_EQ(Param("\"input\":7"), "input");
  EXPECT_EQ(ParamOfItem("7"), "input[0]");
  EXPECT_EQ(ParamOfItem("{}"), "input[0].role");
  EXPECT_EQ(ParamOfItem(R"({"role":"tool","content":"x"})"), "input[0].role");
  EXPECT_EQ(ParamOfItem(R"({"role":"user"})"), "input[0].content");
  EXPECT_EQ(ParamOfItem(R"({"role":"user","content":[7]})"), "input[0].content[0]");
  EXPECT_EQ(ParamOfItem(R"({"role":"user","content":[{"type":"input_text"}]})"),
            "input[0].content[0].text");
  EXPECT_EQ(ParamOfItem(R"({"type":"function_call","name":"f","arguments":"{}"})"),
            "input[0].call_id");
  EXPECT_EQ(ParamOfItem(R"({"type":"function_call","call_id":"c","name":"","arguments":"{}"})"),
            "input[0].name");
  EXPECT_EQ(ParamOfItem(R"({"type":"function_call","call_id":"c","name":"f","arguments":{}})"),
            "input[0].arguments");
  EXPECT_EQ(ParamOfItem(R"({"type":"function_call_output","call_id":"c"})"), "input[0].output");
  EXPECT_EQ(ParamBeside(R"("tools":[7])"), "tools[0]");
  EXPECT_EQ(ParamBeside(R"("tools":[{"type":"function"}])"), "tools[0].name");
  EXPECT_EQ(ParamBeside(R"("tools":[{"type":"function","name":"f","parameters":7}])"),
            "tools[0].parameters");
  EXPECT_EQ(ParamBeside(R"("tool_choice":"any")"), "tool_choice");
  EXPECT_EQ(ParamBeside(R"("text":7)"), "text");
  EXPECT_EQ(ParamBeside(R"("reasoning":{"effort":7})"), "reasoning.effort");
  EXPECT_EQ(ParamBeside(R"("max_output_tokens":0)"), "max_output_tokens");
}

TEST(ResponseRequest, TakesTheFormatOfItsText) {
  const auto grammar = [](const std::string& format) {
    return Good(R"("input":"x","text":{"format":)" + format + "}").grammar;
  };
  EXPECT_FALSE(grammar(R"({"type":"text"})").has_value());
  EXPECT_EQ(grammar(R"({"type":"json_object"})")->text, R"({"type":"object"})");
  const auto schema =
      grammar(R"({"type":"json_schema","name":"x","schema":{"type":"null"},"strict":false})");
  EXPECT_EQ(PointerOf(*schema), "/text/format/schema");
  EXPECT_TRUE(schema->is_raw);
  EXPECT_EQ(schema->options.mode, SchemaMode::kRelaxed);
}

TEST(ResponseRequest, RefusesByNameWhatItCannotDo) {
  EXPECT_EQ(ParamOfItem(R"({"role":"user","content":[{"type":"input_image","image_url":"x"}]})"),
            "input[0].content[0]");
  EXPECT_EQ(ParamOfItem(R"({"type":"item_reference","id":"x"})"), "input[0]");
  EXPECT_EQ(ParamOfItem(R"({"type":"computer_call"})"), "input[0]");
  EXPECT_EQ(ParamOfItem(R"({"type":"reasoning","summary":[],"encrypted_content":"x"})"),
            "input[0].encrypted_content");
  EXPECT_EQ(ParamBeside(R"("previous_response_id":"resp_1")"), "previous_response_id");
  EXPECT_EQ(ParamBeside(R"("conversation":"c")"), "conversation");
  EXPECT_EQ(ParamBeside(R"("background":true)"), "background");
  EXPECT_EQ(ParamBeside(R"("prompt":{"id":"x"})"), "prompt");
  EXPECT_EQ(ParamBeside(R"("top_logprobs":2)"), "top_logprobs");
  EXPECT_EQ(ParamBeside(R"("tools":[{"type":"web_search"}])"), "tools[0]");
  EXPECT_EQ(ParamBeside(R"("tool_choice":"required")"), "tool_choice");
  EXPECT_EQ(ParamBeside(R"("text":{"format":{"type":"grammar","name":"x"}})"), "text.format");
  EXPECT_EQ(ParamBeside(R"("text":{"format":{"type":"json_schema","name":"x"}})"),
            "text.format.schema");
  EXPECT_EQ(ParamBeside(R"("text":{"format":{"type":"json_schema","schema":{},"strict":1}})"),
            "text.format.strict");
  // What binds nothing is said to.
  EXPECT_EQ(
      Good(R"("input":"x","text":{"verbosity":"low"},"reasoning":{"summary":"auto"})").ignored,
      (std::vector<std::string>{"reasoning.summary", "text.verbosity"}));
}

TEST(ResponseRequest, BoundsItemsAndCalls) {
  const auto many = [](std::string_view item, size_t count) {
    std::string list;
    for (size_t i = 0; i < count; ++i) list += (i == 0 ? "" : ",") + std::string(item);
    return "\"input\":[" + list + "]";
  };
  EXPECT_EQ(Param(many(R"({"role":"user","content":""})", 8193)), "input");
  EXPECT_EQ(Param(many(R"({"role":"user","content":""})", 4097)), "input");
  EXPECT_EQ(Param(many(R"({"type":"function_call","call_id":"c","name":"f","arguments":""})", 129)),
            "input[128]");
  const std::string long_call =
      R"({"type":"function_call","call_id":"c","name":"f","arguments":")" +
      std::string(3 << 20, 'x') + "\"}";
  EXPECT_EQ(Param(many(long_call, 2)), "input[1].arguments");
}

}  // namespace
}  // namespace skald::server
