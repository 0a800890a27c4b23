// Random answers that must call a tool, token by token through the mask, and what the reader of
// answers makes of their calls; judged by judge_calls.py.
//
//     call_walks ROUNDS < tools
//
// Reads one tool a line, {"schema": {...}, "kinds": {"argument": "string", ...}}, and writes a line
// for each call: {"tool": line, "format": ..., "arguments": text}, or {"error": ...}.

#include <boost/json.hpp>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "chat/answer/answer_for_test.h"
#include "grammar/constraint_state.h"
#include "grammar/token_table.h"
#include "skald/chat_grammar.h"

namespace skald::chat {
namespace {

namespace json = boost::json;

// What closes something, and what nearly does: a random byte would never come to either.
constexpr std::string_view kTempting[] = {"</parameter>\n",
                                          "\n</parameter>\n",
                                          "</arg_value>",
                                          "</\uFF5CDSML\uFF5Cparameter>\n",
                                          "<|\"|>",
                                          "\"",
                                          "}",
                                          "]",
                                          ")",
                                          ",",
                                          "</",
                                          "</par",
                                          "<",
                                          "/",
                                          "\n",
                                          "\\",
                                          "null",
                                          " None",
                                          "True",
                                          "true",
                                          "1"};
constexpr int kStepsMax = 1500;

ChatTool::Kind KindOf(std::string_view kind) {
  if (kind == "string") return ChatTool::Kind::kString;
  if (kind == "string or null") return ChatTool::Kind::kStringOrNull;
  return kind == "value" ? ChatTool::Kind::kValue : ChatTool::Kind::kAny;
}

class Walk {
 public:
  Walk(const TestFormat& made, const Constraint& constraint, uint64_t seed)
      : made_(made), state_(constraint), random_(seed) {}

  // False if it came to no end.
  bool Run() {
    while (steps_ < kStepsMax) {
      if (state_.may_end() && (state_.must_end() || random_() % 2 == 0)) return true;
      if (random_() % 4 == 0) {
        Tempt(kTempting[random_() % std::size(kTempting)]);
      } else if (random_() % 2 == 0 && !made_.format.marks().empty()) {
        Take(made_.format.marks()[random_() % made_.format.marks().size()].token);
      } else {
        Any();
      }
    }
    return false;
  }
  const std::string& decoded() const { return decoded_; }

 private:
  bool Take(TokenId token) {
    if (!state_.Allows(token)) return false;
    CHECK(state_.Advance(token).ok());
    ++steps_;
    for (const TokenMark& mark : made_.format.marks())
      if (mark.token == token) return decoded_ += mark.bytes, true;
    decoded_ += made_.vocabulary.table().BytesOf(token);
    return true;
  }
  // The names of control tokens are these, as a model has them.
  void Tempt(std::string_view text) {
    for (size_t i = 0; i < made_.marks.size(); ++i) {
      const size_t at = text.find(made_.marks[i].first);
      if (at == std::string_view::npos) continue;
      Tempt(text.substr(0, at));
      Take(made_.format.marks()[i].token);
      return Tempt(text.substr(at + made_.marks[i].first.size()));
    }
    for (const char c : text)
      if (!Take(static_cast<TokenId>(static_cast<unsigned char>(c)))) return;
  }
  // Mostly one of two or three, where text is forced.
  void Any() {
    for (int i = 0; i < 20; ++i)
      if (Take(static_cast<TokenId>(random_() % 256))) return;
    std::vector<uint64_t> mask(static_cast<size_t>(made_.vocabulary.size() + 63) / 64);
    CHECK(state_.FillMask(mask).ok());
    std::vector<TokenId> allowed;
    for (TokenId id = 0; id < made_.vocabulary.size(); ++id)
      if ((mask[static_cast<size_t>(id) / 64] >> (id & 63)) & 1) allowed.push_back(id);
    CHECK(!allowed.empty() || state_.may_end());
    if (!allowed.empty()) CHECK(Take(allowed[random_() % allowed.size()]));
  }

  const TestFormat& made_;
  grammar::ConstraintState state_;
  std::mt19937_64 random_;
  std::string decoded_;
  int steps_ = 0;
};

struct Case {
  int64_t line;
  std::string schema;
  ChatTool tool;
};

void Tell(const Case& one, const TestFormat& made, std::string_view key, std::string_view text) {
  std::cout << json::object{{"tool", one.line}, {"format", made.format.name()}, {key, text}}
            << '\n';
}

void RunWalks(const Case& one, const TestFormat& made, uint64_t rounds) {
  CompileBudget budget;
  Result<Grammar> arguments =
      MakeCallArguments(made.format, one.tool, one.schema, SchemaMode::kStrict, &budget);
  if (!arguments.ok()) return Tell(one, made, "error", arguments.status().message());
  const ChatGrammarOptions options = {.tools = {{.name = "f", .arguments = *std::move(arguments)}},
                                      .must_call = true};
  const Result<Grammar> grammar = MakeChatGrammar(made.format, options, &budget);
  if (!grammar.ok()) return Tell(one, made, "error", grammar.status().message());
  const Result<Constraint> constraint = Constraint::Create(*grammar, made.vocabulary);
  CHECK(constraint.ok());
  const auto tools = std::make_shared<const std::vector<ChatTool>>(std::vector{one.tool});
  for (uint64_t round = 0; round < rounds; ++round) {
    Walk walk(made, *constraint, round);
    if (!walk.Run()) continue;
    const Message message =
        ReadAnswer(made.format, {.tools = tools}, walk.decoded(), {}, AnswerEnd::kStop);
    if (message.calls.empty() || !message.text.empty())
      Tell(one, made, "error", "read as no call: " + walk.decoded());
    for (const Message::Call& call : message.calls) Tell(one, made, "arguments", call.arguments);
  }
}

void RunAll(uint64_t rounds) {
  std::vector<TestFormat> formats;
  for (const AnswerForm& form : AnswerForms())
    for (const Spelling spelling : {Spelling::kText, Spelling::kControl})
      formats.push_back(MakeFormat(form.name, "", spelling));
  int64_t line = 0;
  for (std::string text; std::getline(std::cin, text); ++line) {
    const json::value test = json::parse(text);
    Case one = {line, json::serialize(test.at("schema")), {.name = "f"}};
    for (const auto& [name, kind] : test.at("kinds").as_object())
      one.tool.parameters.push_back({std::string(name), KindOf(kind.as_string())});
    for (const TestFormat& made : formats) RunWalks(one, made, rounds);
  }
}

}  // namespace
}  // namespace skald::chat

int main(int argc, char** argv) {
  CHECK(argc == 2);
  skald::chat::RunAll(std::strtoull(argv[1], nullptr, 10));
  return 0;
}
