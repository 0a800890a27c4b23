// Answers that are held to tools: what can be written, token by token, and what a reader makes of
// it.
#include "skald/chat_grammar.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat/answer/answer_for_test.h"
#include "grammar/constraint_state.h"
#include "grammar/token_table.h"
#include "support/shared_data.h"

namespace skald::chat {
namespace {

using grammar::ConstraintState;

Grammar Schema(std::string_view schema, bool only_objects) {
  Result<Grammar> grammar = Grammar::FromJsonSchema(schema, {.only_objects = only_objects});
  CHECK(grammar.ok());
  return *std::move(grammar);
}

ChatTool::Kind KindOf(const boost::json::value& schema) {
  using Kind = ChatTool::Kind;
  const boost::json::value* type =
      schema.is_object() ? schema.as_object().if_contains("type") : nullptr;
  if (type == nullptr) return Kind::kAny;
  if (type->is_array()) return Kind::kStringOrNull;
  return *type == "string" ? Kind::kString : Kind::kValue;
}

// A tool as a reader knows it.
ChatTool Described(std::string name, std::string_view schema) {
  ChatTool tool = {.name = std::move(name)};
  const boost::json::value parsed = boost::json::parse(schema);
  for (const auto& [key, value] : parsed.at("properties").as_object())
    tool.parameters.push_back({std::string(key), KindOf(value)});
  return tool;
}

CallableTool Callable(const TestFormat& made, std::string name, std::string_view schema) {
  CompileBudget budget;
  Result<Grammar> arguments =
      MakeCallArguments(made.format, Described(name, schema), schema, SchemaMode::kStrict, &budget);
  CHECK(arguments.ok());
  return {.name = std::move(name), .arguments = *std::move(arguments)};
}

Result<Constraint> Held(const TestFormat& made, const ChatGrammarOptions& options) {
  CompileBudget budget;
  Result<Grammar> grammar = MakeChatGrammar(made.format, options, &budget);
  if (!grammar.ok()) return grammar.status();
  return Constraint::Create(*grammar, made.vocabulary);
}

// The tokens of `output`: control tokens by their names, else a token a byte.
std::vector<TokenId> TokensOf(const TestFormat& made, std::string_view output) {
  std::vector<TokenId> tokens;
  while (!output.empty()) {
    auto token = static_cast<TokenId>(static_cast<unsigned char>(output[0]));
    size_t taken = 1;
    for (size_t i = 0; i < made.marks.size(); ++i) {
      if (!output.starts_with(made.marks[i].first)) continue;
      token = made.format.marks()[i].token;
      taken = made.marks[i].first.size();
      break;
    }
    tokens.push_back(token);
    output.remove_prefix(taken);
  }
  return tokens;
}

bool IsAllowed(const ConstraintState& state, const Vocabulary& vocabulary, TokenId token) {
  std::vector<uint64_t> mask(static_cast<size_t>(vocabulary.size() + 63) / 64);
  EXPECT_TRUE(state.FillMask(mask).ok());
  const bool in_mask = ((mask[static_cast<size_t>(token) / 64] >> (token & 63)) & 1) != 0;
  EXPECT_EQ(state.Allows(token), in_mask);
  return in_mask;
}

// Whether masks lead through all of `output` to an end.
bool Takes(const TestFormat& made, const Constraint& constraint, std::string_view output) {
  ConstraintState state(constraint);
  for (const TokenId token : TokensOf(made, output)) {
    if (!IsAllowed(state, made.vocabulary, token)) return false;
    EXPECT_TRUE(state.Advance(token).ok());
  }
  return state.may_end();
}

std::vector<CallableTool> ToolsOf(const TestFormat& made, const boost::json::array& tools) {
  std::vector<CallableTool> all;
  for (const boost::json::value& tool : tools) {
    const boost::json::value& function = tool.at("function");
    all.push_back(Callable(made, std::string(function.at("name").as_string()),
                           boost::json::serialize(function.at("parameters"))));
  }
  return all;
}

// The choice of a request: what it leaves of the tools, and whether they must be called.
void ApplyChoice(const boost::json::value& choice, ChatGrammarOptions* options) {
  if (choice.is_string()) {
    options->must_call = choice == "required";
    return;
  }
  std::vector<std::string> names;
  const bool is_list = choice.at("type") == "allowed_tools";
  if (is_list) {
    options->must_call = choice.at("allowed_tools").at("mode") == "required";
    for (const boost::json::value& tool : choice.at("allowed_tools").at("tools").as_array())
      names.emplace_back(tool.at("function").at("name").as_string());
  } else {
    options->must_call = options->one_call = true;
    names.emplace_back(choice.at("function").at("name").as_string());
  }
  std::erase_if(options->tools, [&](const CallableTool& tool) {
    return std::find(names.begin(), names.end(), tool.name) == names.end();
  });
}

TEST(ChatGrammarSharedData, TakesWhatItShouldAndNothingElse) {
  std::ifstream file(support::SharedData("structured/tool_constraints.jsonl"));
  int held = 0;
  for (std::string line; std::getline(file, line);) {
    const boost::json::value test = boost::json::parse(line);
    ++held;
    for (const Spelling spelling : {Spelling::kControl, Spelling::kText}) {
      const TestFormat spelled =
          MakeFormat(std::string(test.at("family").as_string()), "", spelling);
      ChatGrammarOptions options = {.tools = ToolsOf(spelled, test.at("tools").as_array()),
                                    .one_call = !test.at("parallel_tool_calls").as_bool()};
      ApplyChoice(test.at("tool_choice"), &options);
      if (test.as_object().contains("response_format"))
        options.text = Schema(
            boost::json::serialize(test.at("response_format").at("json_schema").at("schema")),
            false);
      const Result<Constraint> constraint = Held(spelled, options);
      ASSERT_TRUE(constraint.ok()) << constraint.status().message();
      for (const boost::json::value& output : test.at("outputs").as_array())
        EXPECT_EQ(Takes(spelled, *constraint, output.at("text").as_string()),
                  output.at("accept").as_bool())
            << test.at("id") << " " << output.at("text");
    }
  }
  EXPECT_EQ(held, 14);
}

// Every whole answer of the transcripts in whose calls nothing is wrong can be written.
TEST(ChatGrammarSharedData, TakesTheTranscripts) {
  std::ifstream file(support::SharedData("structured/tool_calls.jsonl"));
  int taken = 0;
  for (std::string line; std::getline(file, line);) {
    const boost::json::value test = boost::json::parse(line);
    const std::string output(test.at("output").as_string());
    const std::string id(test.at("id").as_string());
    std::string family(test.at("family").as_string());
    std::string_view reasoning = test.at("reasoning_possible").as_bool() ? "<think>" : "";
    if (family == "mistral-think") {
      family = "mistral";
      reasoning = "[THINK]";
    }
    if (family == "command-r7b") reasoning = "<|START_THINKING|>";
    if (family == "gemma4") reasoning = "<|channel>thought";
    const TestFormat made = MakeFormat(family, reasoning, Spelling::kControl);
    if (test.at("end") != "stop") continue;
    const boost::json::object& message = test.at("message").as_object();
    if (!message.contains("tool_calls")) continue;
    const Result<Constraint> constraint =
        Held(made, {.tools = ToolsOf(made, test.at("tools").as_array()),
                    .in_reasoning = test.at("prompt_opens_reasoning").as_bool()});
    ASSERT_TRUE(constraint.ok()) << constraint.status().message();
    EXPECT_TRUE(Takes(made, *constraint, output)) << id << " " << output;
    ++taken;
  }
  EXPECT_GT(taken, 20);
}

constexpr std::string_view kPoint =
    R"({"type":"object","properties":{"x":{"type":"integer","minimum":0,"maximum":99},)"
    R"("how":{"enum":["far","near"]}},"required":["x"],"additionalProperties":false})";
constexpr std::string_view kWord =
    R"({"type":"object","properties":{"w":{"type":"string","maxLength":3}},"required":["w"],)"
    R"("additionalProperties":false})";

std::vector<CallableTool> TwoTools(const TestFormat& made) {
  return {Callable(made, "go_to", kPoint), Callable(made, "say", kWord)};
}

// A random answer as its decoder gives it, or what there is of it after `most` tokens.
struct Walked {
  std::string decoded;
  bool has_ended = false;
};
Walked RandomAnswer(const TestFormat& made, const Constraint& constraint, uint64_t seed) {
  const grammar::TokenTable& table = made.vocabulary.table();
  std::mt19937_64 random(seed);
  std::vector<uint64_t> mask(static_cast<size_t>(table.token_count() + 63) / 64);
  ConstraintState state(constraint);
  Walked walked;
  for (int step = 0; step < 600; ++step) {
    if (state.may_end() && (state.must_end() || random() % 4 == 0)) {
      walked.has_ended = true;
      break;
    }
    EXPECT_TRUE(state.FillMask(mask).ok());
    std::vector<TokenId> allowed;
    for (TokenId id = 0; id < table.token_count(); ++id)
      if ((mask[static_cast<size_t>(id) / 64] >> (id & 63)) & 1) allowed.push_back(id);
    if (allowed.empty()) {
      ADD_FAILURE() << walked.decoded;
      break;
    }
    // Control tokens are few among them: they come more often than that.
    const bool last = random() % 3 == 0;
    const TokenId next = last ? allowed.back() : allowed[random() % allowed.size()];
    EXPECT_TRUE(state.Advance(next).ok());
    std::string bytes(table.BytesOf(next));
    for (const TokenMark& mark : made.format.marks())
      if (mark.token == next) bytes = mark.bytes;
    walked.decoded += bytes;
  }
  return walked;
}

// What the reader of answers makes of it: calls of these tools, whose arguments they take.
void CheckCalls(const TestFormat& made, const Walked& walked, bool must_call) {
  const auto tools = std::make_shared<const std::vector<ChatTool>>(
      std::vector<ChatTool>{Described("go_to", kPoint), Described("say", kWord)});
  const Message message =
      ReadAnswer(made.format, {.tools = tools}, walked.decoded, {}, AnswerEnd::kStop);
  const Grammar point = Schema(kPoint, true);
  const Grammar word = Schema(kWord, true);
  for (const Message::Call& call : message.calls) {
    EXPECT_TRUE(call.name == "go_to" || call.name == "say");
    EXPECT_EQ(CheckText(call.name == "say" ? word : point, call.arguments).verdict,
              GrammarVerdict::kAccepted)
        << call.arguments << " in " << walked.decoded;
    boost::system::error_code error;
    EXPECT_TRUE(boost::json::parse(call.arguments, error).is_object());
  }
  if (must_call) {
    EXPECT_FALSE(message.calls.empty()) << walked.decoded;
    EXPECT_EQ(message.text, "") << walked.decoded;
  }
}

TEST(ChatGrammar, ReadersFindWhatWasHeld) {
  int ended = 0;
  for (const AnswerForm& form : AnswerForms()) {
    for (const Spelling spelling : {Spelling::kText, Spelling::kControl}) {
      const TestFormat made = MakeFormat(form.name, "", spelling);
      for (const bool must_call : {true, false}) {
        const Result<Constraint> constraint =
            Held(made, {.tools = TwoTools(made), .must_call = must_call});
        ASSERT_TRUE(constraint.ok()) << form.name << constraint.status().message();
        for (uint64_t seed = 0; seed < 2; ++seed) {
          SCOPED_TRACE(form.name);
          const Walked walked = RandomAnswer(made, *constraint, seed);
          if (!walked.has_ended) continue;
          ++ended;
          CheckCalls(made, walked, must_call);
        }
      }
    }
  }
  EXPECT_GT(ended, 100);
}

// Where arguments are not JSON: what one call may be and what not, between `open` and `close`.
struct WrittenCase {
  std::string_view format;
  std::string_view open;
  std::string_view close;
  std::vector<std::string_view> good;
  std::vector<std::string_view> bad;
};

constexpr std::string_view kEdit =
    R"({"type":"object","properties":{"s":{"type":"string","maxLength":4},"l":{"type":"array",)"
    R"("items":{"enum":["a","</x",true]}}},"required":["s"],"additionalProperties":false})";

std::vector<WrittenCase> WrittenCases() {
  return {
      {.format = "qwen3-coder",
       .open = "<tool_call>\n<function=edit>\n<parameter=s>\n",
       .close = "\n</parameter>\n</function>\n</tool_call>",
       .good = {"", "\n</p", "true", "a\n</parameter>\n<parameter=l>\n[\"a\", true]"},
       // Five characters, Python's word inside of JSON, what would end the value, another order.
       .bad = {"abcde", "a\n</parameter>\n<parameter=l>\n[True]",
               "a\n</parameter>\n<parameter=l>\n[\"</x\"]", "a\n</parameter>\n<parameter=s>\na"}},
      {.format = "seed",
       .open = "<seed:tool_call>\n<function=edit>\n<parameter=s>",
       .close = "</parameter>\n</function>\n</seed:tool_call>",
       .good = {"", "\n\n"},
       .bad = {"abcde"}},
      {.format = "glm",
       .open = "<tool_call>edit",
       .close = "</tool_call>",
       .good = {"<arg_key>s</arg_key><arg_value>007</arg_value>",
                "\n<arg_key>s</arg_key>\n<arg_value>007</arg_value>\n"},
       .bad = {"", "\n<arg_key>l</arg_key>\n<arg_value>[]</arg_value>\n"}},
      {.format = "deepseek-v3.2",
       .open = "<\uFF5CDSML\uFF5Cfunction_calls>\n<\uFF5CDSML\uFF5Cinvoke name=\"edit\">\n"
               "<\uFF5CDSML\uFF5Cparameter name=\"s\" string=",
       .close = "</\uFF5CDSML\uFF5Cparameter>\n</\uFF5CDSML\uFF5Cinvoke>\n"
                "</\uFF5CDSML\uFF5Cfunction_calls>",
       .good = {"\"true\">12"},
       .bad = {"\"false\">12", "\"false\">\"a\""}},
      {.format = "gemma4",
       .open = "<|tool_call>call:edit{",
       .close = "}<tool_call|>",
       .good = {"s:<|\"|>{\"}<|\"|>", "s:<|\"|><|\"|>,l:[<|\"|></x<|\"|>,true]"},
       .bad = {"", "s:\"a\"", "s:<|\"|>a<|\"|>, l:[]", "l:[],s:<|\"|><|\"|>"}},
      {.format = "lfm2",
       .open = "<|tool_call_start|>[edit(",
       .close = ")]<|tool_call_end|>",
       .good = {"s=\"a'\\n\"", "s=\"\", l=[\"</x\", True]"},
       .bad = {"", "s='a'", "s=\"\\/\"", "s=\"\", l=[true]"}},
  };
}

TEST(ChatGrammar, WritesArgumentsThatAreNotJson) {
  for (const WrittenCase& test : WrittenCases()) {
    for (const Spelling spelling : {Spelling::kText, Spelling::kControl}) {
      const TestFormat made = MakeFormat(test.format, "", spelling);
      const Result<Constraint> constraint =
          Held(made, {.tools = {Callable(made, "edit", kEdit)}, .must_call = true});
      ASSERT_TRUE(constraint.ok()) << constraint.status().message();
      const auto takes = [&](std::string_view inside) {
        return Takes(made, *constraint,
                     std::string(test.open) + std::string(inside) + std::string(test.close));
      };
      for (const std::string_view good : test.good)
        EXPECT_TRUE(takes(good)) << test.format << ": " << good;
      for (const std::string_view bad : test.bad)
        EXPECT_FALSE(takes(bad)) << test.format << ": " << bad;
    }
  }
}

TEST(ChatGrammar, RefusesArgumentsThatCannotBeSpelled) {
  const TestFormat made = MakeFormat("qwen3-coder", "", Spelling::kText);
  const auto outcome = [&](std::string_view schema, SchemaMode mode) {
    CompileBudget budget;
    return MakeCallArguments(made.format, {.name = "f"}, schema, mode, &budget);
  };
  EXPECT_TRUE(outcome(R"({"properties":{"a>b":{}}})", SchemaMode::kStrict).ok());
  EXPECT_EQ(outcome(R"({"properties":{"a>b":{}},"required":["a>b"]})", SchemaMode::kStrict)
                .status()
                .code(),
            ErrorCode::kInvalidArgument);
  constexpr std::string_view kListed = R"({"enum":[{"a":1}]})";
  EXPECT_EQ(outcome(kListed, SchemaMode::kStrict).status().code(), ErrorCode::kUnsupported);
  const Result<Grammar> relaxed = outcome(kListed, SchemaMode::kRelaxed);
  ASSERT_TRUE(relaxed.ok());
  EXPECT_EQ(relaxed->left_out(), std::vector<std::string>{"#/enum"});
}

TEST(ChatGrammar, ReasoningStandsBeforeWhatIsHeld) {
  const std::string call =
      "<tool_call>\n{\"name\": \"say\", \"arguments\": {\"w\": \"a\"}}\n</tool_call>";
  for (const Spelling spelling : {Spelling::kText, Spelling::kControl}) {
    const TestFormat made = MakeFormat("hermes", "<think>", spelling);
    const auto takes = [&](const ChatGrammarOptions& options, const std::string& output) {
      const Result<Constraint> constraint = Held(made, options);
      return constraint.ok() && Takes(made, *constraint, output);
    };
    const ChatGrammarOptions must = {.tools = TwoTools(made), .must_call = true};
    EXPECT_TRUE(takes(must, call));
    EXPECT_TRUE(takes(must, "<think>\nI <tool_call> it {\n</think>\n\n" + call));
    EXPECT_FALSE(takes(must, "<think>\nhm\n</think>\n\nSo: " + call));
    EXPECT_FALSE(takes(must, "<think>\nhm\n"));
    ChatGrammarOptions opened = must;
    opened.in_reasoning = true;
    EXPECT_TRUE(takes(opened, "hm</think>" + call));
    EXPECT_FALSE(takes(opened, call));
    // Where a call would be read out of the reasoning none begins there.
    ChatGrammarOptions joined = opened;
    joined.split_reasoning = false;
    EXPECT_TRUE(takes(joined, "hm</think>" + call));
    EXPECT_FALSE(takes(joined, "h <tool_call> m</think>" + call));
    const ChatGrammarOptions text = {.text = Schema("{\"type\":\"integer\"}", false)};
    EXPECT_TRUE(takes(text, "7"));
    EXPECT_TRUE(takes(text, "<think>well</think>\n7"));
    EXPECT_FALSE(takes(text, "<think>well</think>\nseven"));
    const ChatGrammarOptions may = {.tools = TwoTools(made)};
    EXPECT_TRUE(takes(may, "<think>well</think> Yes, <think> is a word." + call + "Done"));
    EXPECT_FALSE(takes(may, " <think>well"));
  }
}

TEST(ChatGrammar, OneCallIsOneCall) {
  const TestFormat made = MakeFormat("nemotron", "", Spelling::kText);
  const std::string one = "{\"name\": \"say\", \"arguments\": {\"w\": \"a\"}}";
  for (const bool must_call : {true, false}) {
    const Result<Constraint> constraint =
        Held(made, {.tools = TwoTools(made), .must_call = must_call, .one_call = true});
    ASSERT_TRUE(constraint.ok());
    EXPECT_TRUE(Takes(made, *constraint, "<TOOLCALL>[" + one + "]</TOOLCALL>"));
    EXPECT_FALSE(Takes(made, *constraint, "<TOOLCALL>[" + one + ", " + one + "]</TOOLCALL>"));
    EXPECT_FALSE(Takes(made, *constraint, "<TOOLCALL>[" + one + "]</TOOLCALL> x"));
  }
}

TEST(ChatGrammar, HarmonyAnswersAreMessages) {
  const std::string thought = "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant";
  const std::string call = " to=functions.say<|channel|>commentary json<|message|>{\"w\": \"a\"}";
  for (const Spelling spelling : {Spelling::kText, Spelling::kControl}) {
    const TestFormat made = MakeFormat("harmony", "", spelling);
    const auto takes = [&](const ChatGrammarOptions& options, const std::string& output) {
      const Result<Constraint> constraint = Held(made, options);
      return constraint.ok() && Takes(made, *constraint, output);
    };
    const ChatGrammarOptions may = {.tools = TwoTools(made)};
    const std::string told = "<|channel|>commentary<|message|>I go.<|end|><|start|>assistant";
    EXPECT_TRUE(takes(may, thought + told + call));
    EXPECT_TRUE(takes(may, thought + "<|channel|>final<|message|>{} to=functions.x<|return|>"));
    EXPECT_FALSE(takes(may, thought + call + "<|start|>assistant" + call));
    EXPECT_FALSE(takes(may, "<|channel|>other<|message|>"));
    const ChatGrammarOptions must = {.tools = TwoTools(made), .must_call = true};
    EXPECT_TRUE(takes(must, call + "<|call|>"));
    EXPECT_FALSE(takes(must, told + call));
    ChatGrammarOptions text = {.tools = TwoTools(made),
                               .text = Schema("{\"type\":\"integer\"}", false)};
    EXPECT_TRUE(takes(text, thought + "<|channel|>final<|message|>7"));
    EXPECT_TRUE(takes(text, thought + call));
    EXPECT_FALSE(takes(text, "<|channel|>final<|message|>seven"));
    EXPECT_FALSE(takes(text, "<|channel|>commentary<|message|>7"));
    // Where reasoning is text it would be none of the grammar.
    text.split_reasoning = false;
    EXPECT_FALSE(takes(text, thought + "<|channel|>final<|message|>7"));
  }
}

TEST(ChatGrammar, HeadsNameATextOrATool) {
  const TestFormat made = MakeFormat("functionary-3.2", "", Spelling::kText);
  const auto takes = [&](const ChatGrammarOptions& options, const std::string& output) {
    const Result<Constraint> constraint = Held(made, options);
    return constraint.ok() && Takes(made, *constraint, output);
  };
  const std::string call = "say\n{\"w\": \"a\"}";
  ChatGrammarOptions options = {.tools = TwoTools(made)};
  EXPECT_TRUE(takes(options, "all\nI >> go.>>>" + call + ">>>all\nDone."));
  EXPECT_TRUE(takes(options, call + ">>>" + call));
  EXPECT_FALSE(takes(options, "all\nI >>> go."));
  EXPECT_FALSE(takes(options, "I go."));
  options.one_call = true;
  EXPECT_TRUE(takes(options, "all\nI go.>>>" + call));
  EXPECT_FALSE(takes(options, call + ">>>" + call));
  options.must_call = true;
  EXPECT_TRUE(takes(options, call));
  EXPECT_FALSE(takes(options, "all\nI go.>>>" + call));
  options = {.tools = TwoTools(made), .text = Schema("{\"type\":\"integer\"}", false)};
  EXPECT_TRUE(takes(options, "all\n7"));
  EXPECT_TRUE(takes(options, call));
  EXPECT_FALSE(takes(options, "7"));
}

TEST(ChatGrammar, CountsDownItsBudget) {
  const TestFormat made = MakeFormat("hermes", "", Spelling::kText);
  CompileBudget budget;
  ASSERT_TRUE(MakeChatGrammar(made.format, {.tools = TwoTools(made)}, &budget).ok());
  EXPECT_LT(budget.steps, CompileBudget{}.steps);
  budget.steps = 500;
  EXPECT_FALSE(MakeChatGrammar(made.format, {.tools = TwoTools(made)}, &budget).ok());
}

}  // namespace
}  // namespace skald::chat
