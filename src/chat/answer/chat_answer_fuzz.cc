// Arbitrary answers, read in every format. Oracles: the pieces, joined, are the same whole and cut
// at every byte; calls are numbered, have ids of their own and names of tools; without tools and
// reasoning the text is the answer; time and memory are in proportion.
//
// Input: a byte for the format (its lowest bit: control tokens), a byte of options, and the answer
// as a decoder gives it.
//
// Or, as the options say, a tool's schema to its first NUL, and choices among what its mask allows.
// Oracles: compiling is bounded in steps; no mask is empty; a whole answer is read back as calls
// whose arguments the schema takes as JSON.
#include <algorithm>
#include <boost/json.hpp>
#include <cstdint>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "chat/answer/answer_for_test.h"
#include "grammar/constraint_state.h"
#include "grammar/test_reading.h"
#include "grammar/token_table.h"
#include "skald/chat_grammar.h"
#include "support/cost.h"

namespace skald::chat {
namespace {

constexpr double kSecondsBase = 0.5;
constexpr double kSecondsPerByte = 20e-6;  // with the sanitizers, on a busy machine
constexpr size_t kBytesBase = 1 << 20;
constexpr size_t kBytesPerByte = 200;  // a call of two bytes has an id and a name

// Both spellings of every row, made once.
std::vector<TestFormat> Formats() {
  std::vector<TestFormat> formats;
  for (const AnswerForm& form : AnswerForms()) {
    const std::string_view reasoning = form.name == "gemma4"        ? "<|channel>thought"
                                       : form.name == "mistral"     ? "[THINK]"
                                       : form.name == "command-r7b" ? "<|START_THINKING|>"
                                                                    : "<think>";
    for (const Spelling spelling : {Spelling::kText, Spelling::kControl})
      formats.push_back(MakeFormat(form.name, reasoning, spelling));
  }
  return formats;
}

std::shared_ptr<const std::vector<ChatTool>> Tools() {
  using Kind = ChatTool::Kind;
  return std::make_shared<const std::vector<ChatTool>>(std::vector<ChatTool>{
      {.name = "f", .parameters = {{"a", Kind::kValue}, {"s", Kind::kString}}},
      {.name = "ff", .parameters = {{"o", Kind::kStringOrNull}}}});
}

void CheckCalls(const Message& message) {
  std::set<std::string> ids;
  for (const Message::Call& call : message.calls) {
    CHECK(call.name == "f" || call.name == "ff");
    CHECK(!call.id.empty() && ids.insert(call.id).second);
  }
}

void Check(const TestFormat& made, uint8_t flags, std::string_view answer) {
  const ChatAnswerOptions options = {.tools = (flags & 1) != 0 ? Tools() : nullptr,
                                     .split_reasoning = (flags & 2) != 0,
                                     .in_reasoning = (flags & 4) != 0,
                                     .one_call = (flags & 8) != 0};
  const AnswerEnd end = (flags & 16) != 0 ? AnswerEnd::kStop : AnswerEnd::kLength;
  Message whole;
  const test::Cost cost =
      test::CostOf([&] { whole = ReadAnswer(made.format, options, answer, {}, end); });
  CHECK(cost.cpu_seconds < kSecondsBase + kSecondsPerByte * static_cast<double>(answer.size()));
  CHECK(static_cast<size_t>(cost.peak_bytes) < kBytesBase + kBytesPerByte * answer.size());
  CheckCalls(whole);
  std::vector<size_t> cuts(answer.size());
  std::iota(cuts.begin(), cuts.end(), 0);
  CHECK(ReadAnswer(made.format, options, answer, cuts, end) == whole);
  // In a format whose text has neither head nor frame.
  const bool plain = made.format.name() == "hermes" || made.format.name() == "glm";
  const bool has_marks = answer.find(static_cast<char>(0xFF)) != std::string_view::npos;
  if (plain && !options.tools && !options.split_reasoning && !has_marks)
    CHECK(whole.text == answer);
}

// Kinds as hostile clients could declare them: of a name, whatever its schema says.
ChatTool Described(std::string_view schema) {
  ChatTool tool = {.name = "f"};
  boost::system::error_code error;
  const boost::json::value parsed = boost::json::parse(schema, error);
  const boost::json::value* properties = nullptr;
  if (!error && parsed.is_object()) properties = parsed.get_object().if_contains("properties");
  if (properties == nullptr || !properties->is_object()) return tool;
  for (const auto& [name, value] : properties->get_object())
    tool.parameters.push_back({std::string(name), static_cast<ChatTool::Kind>(name.size() % 4)});
  return tool;
}

// What `choices` lead to through the masks; empty if that is no whole answer.
std::string Written(const TestFormat& made, const Constraint& constraint,
                    std::string_view choices) {
  grammar::ConstraintState state(constraint);
  std::vector<uint64_t> mask(static_cast<size_t>(made.vocabulary.size() + 63) / 64);
  std::string decoded;
  size_t next = 0;
  for (int step = 0; step < 400; ++step) {
    if (state.may_end() && next >= choices.size()) return decoded;
    if (!state.FillMask(mask).ok()) return {};
    std::vector<TokenId> allowed;
    for (TokenId id = 0; id < made.vocabulary.size(); ++id)
      if ((mask[static_cast<size_t>(id) / 64] >> (id & 63)) & 1) allowed.push_back(id);
    if (allowed.empty()) {
      CHECK(state.may_end());
      return decoded;
    }
    const uint8_t choice = next < choices.size() ? static_cast<uint8_t>(choices[next++]) : 0;
    const TokenId token = allowed[choice % allowed.size()];
    if (!state.Advance(token).ok()) return {};
    std::string bytes(made.vocabulary.table().BytesOf(token));
    for (const TokenMark& mark : made.format.marks())
      if (mark.token == token) bytes = mark.bytes;
    decoded += bytes;
  }
  return {};
}

void CheckHeld(const TestFormat& made, std::string_view input) {
  const std::string_view schema = input.substr(0, input.find('\0'));
  const ChatTool tool = Described(schema);
  CompileBudget budget = grammar::BudgetOf(input);
  const Result<Grammar> arguments =
      MakeCallArguments(made.format, tool, schema, SchemaMode::kStrict, &budget);
  CHECK(budget.steps >= 0 || !arguments.ok());
  if (!arguments.ok()) return;
  const ChatGrammarOptions options = {.tools = {{.name = "f", .arguments = *arguments}},
                                      .must_call = true};
  const Result<Grammar> whole = MakeChatGrammar(made.format, options, &budget);
  CompileBudget again = grammar::BudgetOf(input);
  const Result<Grammar> as_json = Grammar::FromJsonSchema(schema, {.only_objects = true}, &again);
  if (!whole.ok() || !as_json.ok()) return;
  const Result<Constraint> constraint = Constraint::Create(*whole, made.vocabulary);
  CHECK(constraint.ok());
  const std::string_view choices = input.substr(std::min(input.size(), schema.size() + 1));
  const std::string answer = Written(made, *constraint, choices);
  if (answer.empty()) return;
  const auto tools = std::make_shared<const std::vector<ChatTool>>(std::vector{tool});
  const Message message = ReadAnswer(made.format, {.tools = tools}, answer, {}, AnswerEnd::kStop);
  CHECK(!message.calls.empty() && message.text.empty());
  for (const Message::Call& call : message.calls)
    CHECK(CheckText(*as_json, call.arguments).verdict == GrammarVerdict::kAccepted);
}

}  // namespace
}  // namespace skald::chat

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::vector<skald::chat::TestFormat> formats = skald::chat::Formats();
  if (size < 2) return 0;
  const skald::chat::TestFormat& format = formats[data[0] % formats.size()];
  const std::string_view rest = {reinterpret_cast<const char*>(data) + 2, size - 2};
  if ((data[1] & 32) != 0)
    skald::chat::CheckHeld(format, rest);
  else
    skald::chat::Check(format, data[1], rest);
  return 0;
}
