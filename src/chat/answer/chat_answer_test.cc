// Answers of models: pieces joined, however the text is cut.
#include "skald/chat_answer.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "chat/answer/answer_for_test.h"
#include "support/shared_data.h"

namespace skald::chat {

// gtest finds it by this name.
void PrintTo(const Message& message, std::ostream* out) {
  *out << "text " << testing::PrintToString(message.text) << " reasoning "
       << testing::PrintToString(message.reasoning);
  for (const Message::Call& call : message.calls)
    *out << "\n  " << call.id << " " << call.name << " " << call.arguments;
}

namespace {

using Kind = ChatTool::Kind;

std::shared_ptr<const std::vector<ChatTool>> Tools() {
  return std::make_shared<const std::vector<ChatTool>>(std::vector<ChatTool>{
      {.name = "add", .parameters = {{"a", Kind::kValue}, {"b", Kind::kValue}}},
      {.name = "say", .parameters = {{"text", Kind::kString}, {"or", Kind::kStringOrNull}}},
      {.name = "now"}});
}

struct Case {
  std::string_view format;
  std::string_view reasoning;
  std::string_view output;
  Message expected;
  AnswerEnd end = AnswerEnd::kStop;
  bool in_reasoning = false;
};

Message Text(std::string text) { return {.text = std::move(text)}; }
Message Calls(std::vector<Message::Call> calls, std::string text = {}) {
  return {.text = std::move(text), .calls = std::move(calls)};
}
Message::Call Call(std::string name, std::string arguments, std::string id = {}) {
  return {.id = std::move(id), .name = std::move(name), .arguments = std::move(arguments)};
}

// The message, with the ids of the model's own only.
Message Read(const Case& each, Spelling spelling, bool every_byte) {
  const TestFormat made = MakeFormat(each.format, each.reasoning, spelling);
  const std::string decoded = made.Decoded(each.output);
  std::vector<size_t> cuts(every_byte && !decoded.empty() ? decoded.size() : 0);
  std::iota(cuts.begin(), cuts.end(), 0);
  Message message = ReadAnswer(made.format, {.tools = Tools(), .in_reasoning = each.in_reasoning},
                               decoded, cuts, each.end);
  for (size_t i = 0; i < message.calls.size(); ++i) {
    EXPECT_NE(message.calls[i].id, "");
    for (size_t j = 0; j < i; ++j) EXPECT_NE(message.calls[i].id, message.calls[j].id);
    const bool has_own = i < each.expected.calls.size() && !each.expected.calls[i].id.empty();
    if (!has_own) message.calls[i].id.clear();
  }
  return message;
}

void Check(const std::vector<Case>& cases) {
  for (const Case& each : cases) {
    for (const Spelling spelling : {Spelling::kText, Spelling::kControl}) {
      for (const bool every_byte : {false, true})
        EXPECT_EQ(Read(each, spelling, every_byte), each.expected)
            << each.format << ": " << each.output << (every_byte ? " (every byte)" : "");
    }
  }
}

TEST(ChatAnswer, ReadsCallsAsJsonObjects) {
  Check({
      {"hermes", "", "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 1}}\n</tool_call>",
       Calls({Call("add", "{\"a\": 1}")})},
      {"hermes", "",
       "<tool_call>{\"arguments\": {\"a\": [1]}, \"x\": [{}], \"name\":\"add\"}</tool_call>",
       Calls({Call("add", "{\"a\": [1]}")})},
      {"hermes", "", "Hi \n<tool_call>{\"name\":\"now\"}</tool_call> there\n",
       Calls({Call("now", "{}")}, "Hi there\n")},
      {"nemotron", "",
       "<TOOLCALL>[{\"name\":\"now\",\"arguments\":{}}, {\"name\":\"add\","
       "\"arguments\":{\"a\":\"]\"}}]</TOOLCALL>",
       Calls({Call("now", "{}"), Call("add", "{\"a\":\"]\"}")})},
      {"granite-3", "", "<|tool_call|>[{\"name\":\"now\",\"arguments\":{}}]",
       Calls({Call("now", "{}")})},
      {"apriel", "", "<tool_calls>[{\"name\":\"now\",\"arguments\":{}}]</tool_calls>",
       Calls({Call("now", "{}")})},
      {"firefunction", "", "Ok functools[{\"name\":\"now\",\"arguments\":{}}]",
       Calls({Call("now", "{}")}, "Ok")},
      {"mistral-nemo", "", "[TOOL_CALLS][{\"name\":\"now\",\"arguments\":{},\"id\":\"abc\"}]",
       Calls({Call("now", "{}", "abc")})},
      {"mistral-nemo", "", "[TOOL_CALLS][{\"name\":\"now\",\"arguments\":{\"a\": ",
       Calls({Call("now", "{\"a\": ")}), AnswerEnd::kLength},
      {"llama3", "", "{\"type\": \"function\", \"name\": \"now\", \"parameters\": {}}",
       Calls({Call("now", "{}")})},
      {"llama3", "", "<|python_tag|>{\"name\": \"now\", \"parameters\": {}} Done.",
       Calls({Call("now", "{}")}, " Done.")},
  });
}

TEST(ChatAnswer, KeepsAsTextWhatIsNoCall) {
  const auto same = [](std::string_view format, std::string_view text,
                       AnswerEnd end = AnswerEnd::kStop) {
    return Case{format, "", text, Text(std::string(text)), end};
  };
  Check({
      same("hermes", " <tool_call>{\"name\": \"rm\", \"arguments\": {}}</tool_call>"),
      same("hermes", "<tool_call>{\"name\": \"a\\u0064d\", \"arguments\": {}}</tool_call>"),
      same("hermes", "<tool_call>{\"name\": \"add\", \"arguments\": \"x\"}</tool_call>"),
      same("hermes", "<tool_call>{\"name\": \"add\", \"name\": \"now\"}</tool_call>"),
      same("hermes", "<tool_call>{\"name\": \"add\""),
      same("hermes", "a <tool_call>\n\nb\n "),
      same("llama3", "{\"name\": \"now\"}"),
      same("llama3", "{\"name\": \"no", AnswerEnd::kLength),
      same("llama3", " {\"name\": 5}"),
      same("qwen3-coder", "<tool_call>\n<function=rm>\n</function>\n</tool_call>"),
      same("qwen3-coder", "<tool_call>{\"name\": \"add\"}</tool_call>"),
      same("glm", "<tool_call>ad\n<arg_key>"),
      same("functionary-3.1", "<function=rm>{}</function>"),
      same("functionary-3.2", "Hello\nthere"),
      same("gemma4", "call:add{a:1}"),
  });
}

TEST(ChatAnswer, FindsTheCallBehindAMarkerThatBeginsNone) {
  const std::string call = "<tool_call>{\"name\":\"now\",\"arguments\":{}}</tool_call>";
  Check({{"hermes", "", "<tool_call>" + call, Calls({Call("now", "{}")}, "<tool_call>")},
         {"hermes", "", "<tool_" + call, Calls({Call("now", "{}")}, "<tool_")},
         {"hermes", "", "<tool_call>{\"name\":\"now\",\"arguments\":{}}" + call,
          Calls({Call("now", "{}"), Call("now", "{}")})},
         {"qwen3-coder", "", "<tool_call>\n<tool_call>\n<function=now>\n</function>\n</tool_call>",
          Calls({Call("now", "{}")}, "<tool_call>")}});
}

TEST(ChatAnswer, ReadsCallsWithAHead) {
  const std::string r1 = "function<\uFF5Ctool\u2581sep\uFF5C>now\n```json\n{}\n```";
  Check({
      {"mistral", "", "Ok. [TOOL_CALLS]now[ARGS]{}", Calls({Call("now", "{}")}, "Ok.")},
      {"mistral", "", "[TOOL_CALLS]add[CALL_ID]a1[ARGS]{\"a\":2}[TOOL_CALLS]now[ARGS]{}",
       Calls({Call("add", "{\"a\":2}", "a1"), Call("now", "{}")})},
      {"deepseek-r1", "",
       "<\uFF5Ctool\u2581calls\u2581begin\uFF5C><\uFF5Ctool\u2581call\u2581begin\uFF5C>" + r1 +
           "<\uFF5Ctool\u2581call\u2581end\uFF5C><\uFF5Ctool\u2581calls\u2581end\uFF5C>",
       Calls({Call("now", "{}")})},
      {"kimi-k2", "",
       "<|tool_calls_section_begin|><|tool_call_begin|>functions.now:7"
       "<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>",
       Calls({Call("now", "{}", "functions.now:7")})},
      {"functionary-3.2", "", "all\nHi >> you\n>>>now\n{}\n>>>add\n{\"a\":1}",
       Calls({Call("now", "{}"), Call("add", "{\"a\":1}")}, "Hi >> you")},
  });
}

TEST(ChatAnswer, ReadsCallsFieldByField) {
  const auto qwen = [](const std::string& fields, const std::string& name = "say") {
    return "<tool_call>\n<function=" + name + ">\n" + fields + "</function>\n</tool_call>";
  };
  Check({
      {"qwen3-coder", "", qwen("<parameter=text>\n02134\n</parameter>\n"),
       Calls({Call("say", "{\"text\":\"02134\"}")})},
      {"qwen3-coder", "", qwen("<parameter=text>\n\n a\n\n</parameter>\n"),
       Calls({Call("say", "{\"text\":\"\\n a\\n\"}")})},
      {"qwen3-coder", "", qwen("<parameter=text>\n</para\n</parameter\t\n</</parameter>\n"),
       Calls({Call("say", "{\"text\":\"</para\\n</parameter\\t\\n</\"}")})},
      {"qwen3-coder", "",
       qwen("<parameter=or>\nnull\n</parameter>\n<parameter=x>\n007\n</parameter>"),
       Calls({Call("say", "{\"or\":null,\"x\":\"007\"}")})},
      {"qwen3-coder", "",
       qwen("<parameter=a>\nTrue\n</parameter>\n<parameter=b>[1, {}]</parameter>", "add"),
       Calls({Call("add", "{\"a\":true,\"b\":[1, {}]}")})},
      {"qwen3-coder", "", qwen("<parameter=a>\nnone of it\n</parameter>\n", "add"),
       Calls({Call("add", "{\"a\":\"none of it\"}")})},
      {"qwen3-coder", "", qwen("<parameter=a>\n1\n</parameter>\nwhat?", "add"),
       Calls({Call("add", "{\"a\":1}")}, "what?</function>\n</tool_call>")},
      {"minimax-m2", "",
       "<minimax:tool_call>\n<invoke name=\"now\">\n</invoke>\n<invoke name=\"say\">\n<parameter "
       "name=\"te\"xt\">a</parameter></invoke>\n</minimax:tool_call>",
       Calls({Call("now", "{}"), Call("say", "{\"te\\\"xt\":\"a\"}")})},
      {"glm", "", "<tool_call>add\n<arg_key>a</arg_key>\n<arg_value>1</arg_value>\n</tool_call>",
       Calls({Call("add", "{\"a\":1}")})},
      {"deepseek-v4", "",
       "<\uFF5CDSML\uFF5Ctool_calls>\n<\uFF5CDSML\uFF5Cinvoke name=\"say\">\n<\uFF5CDSML\uFF5C"
       "parameter name=\"or\" string=\"true\">null</\uFF5CDSML\uFF5Cparameter>\n"
       "</\uFF5CDSML\uFF5Cinvoke>\n</\uFF5CDSML\uFF5Ctool_calls>",
       Calls({Call("say", "{\"or\":\"null\"}")})},
      {"gemma4", "", "<|tool_call>call:add{a:[1,{b:<|\"|>x\"y<|\"|>}],c:{}}<tool_call|>",
       Calls({Call("add", "{\"a\":[1,{\"b\":\"x\\\"y\"}],\"c\":{}}")})},
  });
}

TEST(ChatAnswer, ReadsCallsAsPythonWritesThem) {
  const auto lfm2 = [](const std::string& calls) {
    return "<|tool_call_start|>" + calls + "<|tool_call_end|>";
  };
  Check({
      {"lfm2", "", lfm2("[now(), add(a=1, b=-2.5)]") + "Ok",
       Calls({Call("now", "{}"), Call("add", "{\"a\":1,\"b\":-2.5}")}, "Ok")},
      {"lfm2", "", lfm2("[say(text='it\\'s \"x\"\\n', or=None)]"),
       Calls({Call("say", "{\"text\":\"it's \\\"x\\\"\\n\",\"or\":null}")})},
      {"lfm2", "", lfm2("[add(a={\"k\": [True, ('y', 2)]}, b=\"\\x41\\d\")]"),
       Calls({Call("add", "{\"a\":{\"k\":[true,[\"y\",2]]},\"b\":\"\\u0041\\\\d\"}")})},
      {"lfm2", "", "<|tool_call_start|>[add(a=\"x", Calls({Call("add", "{\"a\":\"x")}),
       AnswerEnd::kLength},
  });
}

TEST(ChatAnswer, ReadsHarmonyByItsHeaders) {
  Check({
      {"harmony",
       "",
       "<|channel|>analysis<|message|> Hm \n<|end|><|start|>assistant<|channel|>commentary"
       "<|message|>I look.<|end|><|start|>assistant<|channel|>commentary to=functions.now "
       "<|constrain|>json<|message|>{}<|call|>",
       {.text = "I look.", .reasoning = "Hm", .calls = {Call("now", "{}")}}},
      {"harmony", "",
       "<|channel|>commentary to=functions.rm <|constrain|>json<|message|>{}<|call|>", Text("{}")},
      {"harmony", "",
       "<|channel|>final<|message|>a<|end|><|start|>assistant<|channel|>final"
       "<|message|>b<|return|>",
       Text("a\nb")},
      {"harmony", "", "Hello.", Text("Hello.")},
      {"harmony", "", "<|channel|>anal", Text(""), AnswerEnd::kLength},
  });
}

TEST(ChatAnswer, SplitsReasoningOff) {
  Check({
      {"hermes",
       "<think>",
       "\n<think>\n a <tool_call> \n</think>\n b <think>c</think>",
       {.text = "b <think>c</think>", .reasoning = "a <tool_call>"}},
      {"hermes",
       "<think>",
       "a </think> b",
       {.text = "b", .reasoning = "a"},
       AnswerEnd::kStop,
       true},
      {"hermes", "<think>", " <think>a</thi", {.reasoning = "a</thi"}, AnswerEnd::kLength, true},
      {"hermes", "<think>", "  a", Text("  a")},
      {"hermes", "<think>", "  ", Text("  ")},
      {"mistral", "[THINK]", "[THINK]a[/THINK]b", {.text = "b", .reasoning = "a"}},
      {"seed", "<seed:think>", "<seed:think>a</seed:think>b", {.text = "b", .reasoning = "a"}},
  });
}

// A model that is made to write the letters of a control token calls nothing.
TEST(ChatAnswer, ControlTokensAreNotTheirLetters) {
  const TestFormat made = MakeFormat("mistral", "[THINK]", Spelling::kControl);
  const std::string letters = "[THINK]x[/THINK][TOOL_CALLS]now[ARGS]{}";
  EXPECT_EQ(ReadAnswer(made.format, {.tools = Tools()}, letters, {}, AnswerEnd::kStop),
            Text(letters));
  // One that does not belong there is not shown, and not taken for its letters.
  EXPECT_EQ(
      ReadAnswer(made.format, {.tools = Tools()}, made.Decoded("a[ARGS]b"), {}, AnswerEnd::kStop),
      Text("ab"));
}

TEST(ChatAnswer, LeavesAllInTextIfAsked) {
  const TestFormat made = MakeFormat("hermes", "<think>", Spelling::kText);
  const std::string text =
      " <think>a</think><tool_call>{\"name\":\"now\",\"arguments\":{}}</tool_call>";
  EXPECT_EQ(ReadAnswer(made.format, {.split_reasoning = false}, text, {}, AnswerEnd::kStop),
            Text(text));
}

TEST(ChatAnswer, EndsBehindTheFirstCallIfAsked) {
  const TestFormat made = MakeFormat("hermes", "", Spelling::kText);
  const std::string call = "<tool_call>{\"name\":\"now\",\"arguments\":{}}</tool_call>";
  Message message = ReadAnswer(made.format, {.tools = Tools(), .one_call = true},
                               "a" + call + "\n" + call + "b", {}, AnswerEnd::kStop);
  ASSERT_EQ(message.calls.size(), 1u);
  EXPECT_EQ(message.text, "a");
}

TEST(ChatAnswer, DrawsIdsFromTheSeedAndTheIndex) {
  const auto ids = [](std::string_view format, uint64_t seed, std::string_view output) {
    const TestFormat made = MakeFormat(format, "", Spelling::kText);
    std::vector<std::string> all;
    for (const Message::Call& call :
         ReadAnswer(made.format, {.tools = Tools(), .id_seed = seed}, output, {}, AnswerEnd::kStop)
             .calls)
      all.push_back(call.id);
    return all;
  };
  const std::string two = "<function=now>{}</function><function=now>{}</function>";
  const auto first = ids("functionary-3.1", 7, two);
  ASSERT_EQ(first.size(), 2u);
  EXPECT_EQ(first[0].size(), 29u);
  EXPECT_TRUE(first[0].starts_with("call_"));
  EXPECT_NE(first[0], first[1]);
  EXPECT_EQ(ids("functionary-3.1", 7, two), first);
  EXPECT_NE(ids("functionary-3.1", 8, two)[0], first[0]);
  // Mistral's templates take no others.
  EXPECT_EQ(ids("mistral", 7, "[TOOL_CALLS]now[ARGS]{}")[0].size(), 9u);
  // What the model gives twice, or what is no word, is replaced.
  const auto own = ids("mistral", 7,
                       "[TOOL_CALLS]now[CALL_ID]x[ARGS]{}[TOOL_CALLS]now[CALL_ID]x"
                       "[ARGS]{}[TOOL_CALLS]now[CALL_ID]y\n[ARGS]{}");
  ASSERT_EQ(own.size(), 3u);
  EXPECT_EQ(own[0], "x");
  EXPECT_NE(own[1], "x");
  EXPECT_NE(own[2], "y\n");
}

TEST(ChatAnswer, KnowsWhereThePromptOpensTheReasoning) {
  const ChatAnswerFormat format = MakeFormat("hermes", "<think>", Spelling::kText).format;
  EXPECT_TRUE(format.OpensReasoning("<|im_start|>assistant\n<think>\n"));
  EXPECT_FALSE(format.OpensReasoning("<|im_start|>assistant\n<think>\n\n</think>\n\n"));
  EXPECT_FALSE(MakeFormat("hermes", "", Spelling::kText).format.OpensReasoning("<think>"));
}

// Beginnings of calls one behind the other, nested brackets, blanks: what a hostile prompt makes a
// model write costs what its length says.
TEST(ChatAnswer, TakesLinearTimeWhateverTheModelWrites) {
  const TestFormat made = MakeFormat("hermes", "<think>", Spelling::kText);
  for (const std::string_view unit :
       {"<tool_call>", "<tool_call>{\"name\":", "<tool_cal", " \n", "[", "\"<tool_call>",
        "<tool_call>{\"name\":\"add\",\"arguments\":{", "<tool_call>{\"arguments\":{},"}) {
    std::string text;
    while (text.size() < 1 << 20) text += unit;
    const Message message = ReadAnswer(made.format, {.tools = Tools()}, text, {}, AnswerEnd::kStop);
    size_t bytes = message.text.size();
    for (const Message::Call& call : message.calls) bytes += call.arguments.size();
    EXPECT_GT(bytes, text.size() / 2) << unit;
  }
}

// --- the transcripts of shared/structured ------------------------------------------------------

ChatTool::Kind KindOf(const boost::json::object& schema) {
  const boost::json::value* type = schema.if_contains("type");
  if (type == nullptr) return Kind::kAny;
  return *type == "string" ? Kind::kString : Kind::kValue;
}

std::shared_ptr<const std::vector<ChatTool>> ToolsOf(const boost::json::value& list) {
  std::vector<ChatTool> tools;
  for (const boost::json::value& each : list.as_array()) {
    const boost::json::object& function = each.at("function").as_object();
    ChatTool tool = {.name = std::string(function.at("name").as_string())};
    if (const auto* parameters = function.if_contains("parameters")) {
      if (const auto* properties = parameters->as_object().if_contains("properties")) {
        for (const auto& [name, schema] : properties->as_object())
          tool.parameters.push_back({std::string(name), KindOf(schema.as_object())});
      }
    }
    tools.push_back(std::move(tool));
  }
  return std::make_shared<const std::vector<ChatTool>>(std::move(tools));
}

std::string_view ReasoningOf(std::string_view family) {
  if (family == "mistral-think") return "[THINK]";
  if (family == "command-r7b") return "<|START_THINKING|>";
  if (family == "gemma4") return "<|channel>thought";
  return family == "seed" ? "<seed:think>" : "<think>";
}

std::string TextOf(const boost::json::object& message, std::string_view name) {
  const boost::json::value* found = message.if_contains(name);
  return found == nullptr || found->is_null() ? "" : std::string(found->as_string());
}

void CheckCalls(const boost::json::object& test, const std::vector<Message::Call>& calls) {
  const boost::json::value* expected = test.at("message").as_object().if_contains("tool_calls");
  ASSERT_EQ(calls.size(), expected == nullptr ? 0 : expected->as_array().size());
  const boost::json::value& compare = test.at("arguments_compare");
  for (size_t i = 0; i < calls.size(); ++i) {
    const boost::json::object& call = expected->as_array()[i].as_object();
    if (call.contains("id")) {
      EXPECT_EQ(calls[i].id, std::string(call.at("id").as_string()));
    }
    const boost::json::object& function = call.at("function").as_object();
    EXPECT_EQ(calls[i].name, std::string(function.at("name").as_string()));
    const std::string arguments(function.at("arguments").as_string());
    if (compare == "bytes") {
      EXPECT_EQ(calls[i].arguments, arguments);
    } else if (compare == "value") {
      EXPECT_EQ(boost::json::parse(calls[i].arguments), boost::json::parse(arguments));
    } else {
      EXPECT_TRUE(calls[i].arguments.starts_with(arguments));
    }
  }
}

// The offsets of the case in what a decoder gives, whose marks are shorter; a cut inside a mark is
// left out.
std::vector<size_t> CutsOf(const TestFormat& made, const std::string& output,
                           const boost::json::value& offsets) {
  std::vector<size_t> cuts;
  for (const boost::json::value& each : offsets.as_array()) {
    const auto offset = static_cast<size_t>(each.as_int64());
    const std::string front = made.Decoded(output.substr(0, offset));
    if (front + made.Decoded(output.substr(offset)) == made.Decoded(output))
      cuts.push_back(front.size());
  }
  return cuts;
}

void CheckTranscript(const boost::json::object& test, Spelling spelling) {
  const std::string family(test.at("family").as_string());
  const bool reasons = test.at("reasoning_possible").as_bool();
  const TestFormat made = MakeFormat(family == "mistral-think" ? "mistral" : family,
                                     reasons ? ReasoningOf(family) : "", spelling);
  const std::string output(test.at("output").as_string());
  const std::string decoded = made.Decoded(output);
  const AnswerEnd end = test.at("end") == "stop" ? AnswerEnd::kStop : AnswerEnd::kLength;
  const ChatAnswerOptions options = {.tools = ToolsOf(test.at("tools")),
                                     .in_reasoning = test.at("prompt_opens_reasoning").as_bool()};
  const Message whole = ReadAnswer(made.format, options, decoded, {}, end);
  const boost::json::object& expected = test.at("message").as_object();
  EXPECT_EQ(whole.text, TextOf(expected, "content"));
  EXPECT_EQ(whole.reasoning, TextOf(expected, "reasoning_content"));
  CheckCalls(test, whole.calls);
  std::vector<size_t> bytes(decoded.size());
  std::iota(bytes.begin(), bytes.end(), 0);
  EXPECT_EQ(ReadAnswer(made.format, options, decoded, bytes, end), whole);
  for (const auto& [name, offsets] : test.at("cuts").as_object())
    EXPECT_EQ(ReadAnswer(made.format, options, decoded, CutsOf(made, output, offsets), end), whole);
  for (size_t cut = 0; cut < decoded.size(); ++cut)
    EXPECT_EQ(ReadAnswer(made.format, options, decoded, {cut}, end), whole) << cut;
}

TEST(ChatAnswerSharedData, ReadsEveryTranscriptHoweverItIsCut) {
  std::ifstream file(support::SharedData("structured/tool_calls.jsonl"));
  int cases = 0;
  for (std::string line; std::getline(file, line); ++cases) {
    const boost::json::value test = boost::json::parse(line);
    for (const Spelling spelling : {Spelling::kText, Spelling::kControl}) {
      SCOPED_TRACE(std::string(test.at("id").as_string()) + " " +
                   std::string(test.at("name").as_string()));
      CheckTranscript(test.as_object(), spelling);
    }
  }
  EXPECT_EQ(cases, 63);
}

// Of 65; what is not named here writes no calls, or in a way of its own.
std::map<std::string, std::string> PublishedFormats() {
  return {
      {"Apriel-1.6-15b-Thinker-fixed", "apriel"},
      {"Bielik-11B-v3.0-Instruct", "hermes"},
      {"ByteDance-Seed-OSS", "seed"},
      {"Cohere2MoE", "command-r7b"},
      {"CohereForAI-c4ai-command-r7b-12-2024-tool_use", "command-r7b"},
      {"GLM-4.6", "glm"},
      {"GLM-4.7-Flash", "glm"},
      {"Kimi-K2-Instruct", "kimi-k2"},
      {"Kimi-K2-Thinking", "kimi-k2"},
      {"LFM2-8B-A1B", "lfm2"},
      {"LFM2.5-8B-A1B", "lfm2"},
      {"LFM2.5-Instruct", "lfm2"},
      {"MiMo-VL", "hermes"},
      {"MiniMax-M2", "minimax-m2"},
      {"Mistral-Small-3.2-24B-Instruct-2506", "mistral"},
      {"NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "qwen3-coder"},
      {"NVIDIA-Nemotron-Nano-v2", "nemotron"},
      {"NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use", "hermes"},
      {"NousResearch-Hermes-3-Llama-3.1-8B-tool_use", "hermes"},
      {"Qwen-QwQ-32B", "hermes"},
      {"Qwen-Qwen2.5-7B-Instruct", "hermes"},
      {"Qwen-Qwen3-0.6B", "hermes"},
      {"Qwen3-Coder", "qwen3-coder"},
      {"Qwen3.5-4B", "qwen3-coder"},
      {"Reka-Edge", "hermes"},
      {"StepFun3.5-Flash", "qwen3-coder"},
      {"deepseek-ai-DeepSeek-R1-Distill-Llama-8B", "deepseek-r1"},
      {"deepseek-ai-DeepSeek-R1-Distill-Qwen-32B", "deepseek-r1"},
      {"deepseek-ai-DeepSeek-V3.1", "deepseek-v3.1"},
      {"deepseek-ai-DeepSeek-V3.2", "deepseek-v3.2"},
      {"deepseek-ai-DeepSeek-V4-Flash-0731", "deepseek-v4"},
      {"deepseek-ai-DeepSeek-V4", "deepseek-v4"},
      {"fireworks-ai-llama-3-firefunction-v2", "firefunction"},
      {"google-gemma-4-31B-it-interleaved", "gemma4"},
      {"google-gemma-4-31B-it", "gemma4"},
      {"ibm-granite-granite-3.3-2B-Instruct", "granite-3"},
      {"ibm-granite-granite-4.0", "hermes"},
      {"ibm-granite-granite-4.1", "hermes"},
      {"llama-cpp-deepseek-r1", "deepseek-r1"},
      {"meetkai-functionary-medium-v3.1", "functionary-3.1"},
      {"meetkai-functionary-medium-v3.2", "functionary-3.2"},
      {"meta-llama-Llama-3.1-8B-Instruct", "llama3"},
      {"meta-llama-Llama-3.2-3B-Instruct", "llama3"},
      {"meta-llama-Llama-3.3-70B-Instruct", "llama3"},
      {"mistralai-Ministral-3-14B-Reasoning-2512", "mistral"},
      {"mistralai-Mistral-Nemo-Instruct-2407", "mistral-nemo"},
      {"moonshotai-Kimi-K2", "kimi-k2"},
      {"openai-gpt-oss-120b", "harmony"},
      {"poolside-Laguna-S-2.1", "glm"},
      {"poolside-Laguna-XS-2.1", "glm"},
      {"poolside-Laguna-XS.2", "glm"},
      {"unsloth-Apriel-1.5", "apriel"},
      {"unsloth-mistral-Devstral-Small-2507", "mistral"},
  };
}

TEST(ChatAnswerSharedData, KnowsTheFormatsOfPublishedTemplates) {
  const std::map<std::string, std::string> known = PublishedFormats();
  // These print the arguments of calls as they get them.
  const std::set<std::string> print_text = {"deepseek-ai-DeepSeek-R1-Distill-Llama-8B",
                                            "meetkai-functionary-medium-v3.2"};
  const text::OwnedSpec vocab = text::SmallByteLevel("gpt-2");
  const Result<Tokenizer> tokenizer = Tokenizer::Create(vocab.spec());
  int templates = 0;
  for (const auto& entry : std::filesystem::directory_iterator(support::SharedData("templates"))) {
    std::ifstream file(entry.path());
    const std::string source{std::istreambuf_iterator<char>(file), {}};
    const Result<ChatTemplate> chat = ChatTemplate::Create(source, {.bos = "<s>", .eos = "</s>"});
    const std::string name = entry.path().stem().string();
    ASSERT_TRUE(chat.ok()) << name;
    const auto found = known.find(name);
    EXPECT_EQ(ChatAnswerFormat::Of(*chat, *tokenizer).name(),
              found == known.end() ? "" : found->second)
        << name;
    EXPECT_EQ(ToolArgumentsOf(*chat) == ToolArguments::kText, print_text.contains(name)) << name;
    ++templates;
  }
  EXPECT_EQ(templates, 65);
}

}  // namespace
}  // namespace skald::chat
