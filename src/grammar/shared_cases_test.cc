// Every case of regular expressions and GBNF whose answers other programs computed.

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/constraint_state.h"
#include "grammar/test_cases.h"
#include "grammar/test_vocabulary.h"
#include "grammar/test_walk.h"
#include "grammar/token_table.h"
#include "skald/constraint.h"

namespace skald::grammar {
namespace {

using CompileText = std::function<Result<Grammar>(std::string_view)>;

// `key` holds the grammar of a case.
void CheckCases(std::string_view file, std::string_view key, const CompileText& compile) {
  const std::vector<boost::json::object> cases = SharedCases(file);
  ASSERT_GT(cases.size(), 50U);
  for (const boost::json::object& one : cases) {
    SCOPED_TRACE(TextOf(one.at("id")) + " " + TextOf(one.at(key)).substr(0, 200));
    const Result<Grammar> grammar = compile(TextOf(one.at(key)));
    if (TextOf(one.at("expect")) == "refuse") {
      EXPECT_FALSE(grammar.ok());
      continue;
    }
    ASSERT_TRUE(grammar.ok()) << grammar.status().message();
    for (const boost::json::value& string : one.at("strings").as_array()) {
      const std::string text = TextOf(string.at("text"));
      const bool accepted = string.at("accept").as_bool();
      const std::string expected = accepted ? "accepted"
                                            : "viable " +
                                                  std::to_string(string.at("viable").as_int64()) +
                                                  " of " + std::to_string(text.size());
      EXPECT_EQ(Outcome(*grammar, text), expected) << text.substr(0, 200);
    }
  }
}

TEST(GrammarSharedData, RegularExpressions) {
  CheckCases("regex.jsonl", "regex", [](std::string_view s) { return Grammar::FromRegex(s); });
}

TEST(GrammarSharedData, Gbnf) {
  CheckCases("gbnf.jsonl", "grammar", [](std::string_view s) { return Grammar::FromGbnf(s); });
}

// The text of the member `schema` of a line, which a JSON library would not give back as it is.
std::string SchemaText(std::string_view line) {
  constexpr std::string_view kKey = "\"schema\": ";
  const size_t begin = line.find(kKey) + kKey.size();
  int depth = 0;
  bool in_string = false;
  for (size_t i = begin; i < line.size(); ++i) {
    const char c = line[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if (c == ']' || c == '}') {
      if (--depth < 0) return std::string(line.substr(begin, i - begin));
    } else if (c == ',' && depth == 0) {
      return std::string(line.substr(begin, i - begin));
    }
  }
  return {};
}

std::string FromHex(std::string_view hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  return bytes;
}

// Whether masks lead through all of `text`, cut into tokens here and there, to an end.
bool TakesByTokens(const Constraint& constraint, std::string_view text, uint64_t seed) {
  const TokenTable& tokens = constraint.vocabulary().table();
  std::vector<uint64_t> mask(static_cast<size_t>(tokens.token_count() + 63) / 64);
  std::mt19937_64 random(seed);
  ConstraintState state(constraint);
  while (!text.empty()) {
    std::vector<TokenId> fitting;
    for (TokenId id = 0; id < tokens.token_count(); ++id) {
      const std::string_view bytes = tokens.BytesOf(id);
      if (!bytes.empty() && text.starts_with(bytes)) fitting.push_back(id);
    }
    const TokenId next = fitting[random() % fitting.size()];
    EXPECT_TRUE(state.FillMask(mask).ok());
    if (((mask[next >> 6] >> (next & 63)) & 1) == 0) return false;
    EXPECT_TRUE(state.Advance(next).ok());
    text.remove_prefix(tokens.BytesOf(next).size());
  }
  return state.may_end();
}

// Texts that are made through the masks are texts, or beginnings of some.
void CheckWalks(const Constraint& constraint, const std::string& id) {
  for (int walk = 0; walk < 20; ++walk) {
    const WalkedText made = WalkText(constraint, {.seed = std::hash<std::string>()(id) + walk});
    const GrammarCheck check = CheckText(constraint.grammar(), made.text);
    EXPECT_EQ(check.good_bytes, made.text.size()) << made.text;
    EXPECT_EQ(check.may_end, made.may_end) << made.text;
  }
}

void CheckInstances(const Grammar& grammar, const boost::json::object& one) {
  const Result<Constraint> constraint = Constraint::Create(grammar, SmallVocabulary().Make());
  ASSERT_TRUE(constraint.ok()) << constraint.status().message();
  CheckWalks(*constraint, TextOf(one.at("id")));
  for (const boost::json::value& value : one.at("instances").as_array()) {
    const boost::json::object& instance = value.as_object();
    const std::string text = instance.contains("hex") ? FromHex(TextOf(instance.at("hex")))
                                                      : TextOf(instance.at("text"));
    const std::string expected = TextOf(instance.at("expect"));
    EXPECT_EQ(Outcome(grammar, text) == "accepted", expected == "accept")
        << expected << " " << text.substr(0, 200) << " " << Outcome(grammar, text);
    if (text.size() > 4000) continue;
    EXPECT_EQ(TakesByTokens(*constraint, text, text.size()), expected == "accept")
        << text.substr(0, 200);
  }
}

// A refusal names one of the pointers.
bool NamesPointer(const std::string& message, const boost::json::value& pointer) {
  if (pointer.is_string()) return message.starts_with("#" + TextOf(pointer) + ":");
  for (const boost::json::value& one : pointer.as_array())
    if (NamesPointer(message, one)) return true;
  return false;
}

void CheckSchema(const std::string& line) {
  const boost::json::object one = boost::json::parse(line).as_object();
  SCOPED_TRACE(TextOf(one.at("id")) + " " + SchemaText(line).substr(0, 300));
  const Result<Grammar> grammar = Grammar::FromJsonSchema(SchemaText(line));
  const std::string support = TextOf(one.at("support"));
  if (grammar.ok()) {
    EXPECT_NE(support, "refuse");
    if (support != "refuse") CheckInstances(*grammar, one);
    return;
  }
  EXPECT_NE(support, "exact") << grammar.status().message();
  if (support == "refuse") {
    EXPECT_TRUE(NamesPointer(grammar.status().message(), one.at("pointer")))
        << grammar.status().message();
  }
  const Result<Grammar> relaxed =
      Grammar::FromJsonSchema(SchemaText(line), {.mode = SchemaMode::kRelaxed});
  if (relaxed.ok()) {
    EXPECT_FALSE(relaxed->left_out().empty());
  } else {
    EXPECT_EQ(relaxed.status().code(), ErrorCode::kInvalidArgument) << relaxed.status().message();
  }
}

TEST(GrammarSharedData, JsonSchemas) {
  std::ifstream in(support::SharedData("structured/json_schema.jsonl"));
  int count = 0;
  for (std::string line; std::getline(in, line); ++count) CheckSchema(line);
  EXPECT_GT(count, 300);
}

void CheckHostile(std::string_view kind, const CompileText& compile) {
  int checked = 0;
  for (const boost::json::object& one : SharedCases("hostile.jsonl")) {
    if (TextOf(one.at("kind")) != kind) continue;
    SCOPED_TRACE(TextOf(one.at("id")) + " " + TextOf(one.at("name")));
    ++checked;
    const Result<Grammar> grammar = compile(Joined(one.at("parts").as_array()));
    const std::string expected = TextOf(one.at("expect"));
    if (expected != "either") {
      EXPECT_EQ(grammar.ok(), expected == "accept") << grammar.status().message();
    }
    if (!grammar.ok() || !one.contains("probes")) continue;
    for (const boost::json::value& probe : one.at("probes").as_array()) {
      const boost::json::object& object = probe.as_object();
      const std::string text = object.contains("text") ? TextOf(object.at("text"))
                                                       : Joined(object.at("text_parts").as_array());
      const std::string outcome = Outcome(*grammar, text);
      // What is ambiguous may end with an error of its own.
      if (!object.at("accept").is_bool() || outcome == "too complex") continue;
      EXPECT_EQ(outcome == "accepted", object.at("accept").as_bool()) << outcome;
    }
  }
  EXPECT_GT(checked, 5);
}

TEST(GrammarSharedData, HostileRegularExpressions) {
  CheckHostile("regex", [](std::string_view s) { return Grammar::FromRegex(s); });
}

TEST(GrammarSharedData, HostileGbnf) {
  CheckHostile("gbnf", [](std::string_view s) { return Grammar::FromGbnf(s); });
}

TEST(GrammarSharedData, HostileSchemas) {
  CheckHostile("json_schema", [](std::string_view s) { return Grammar::FromJsonSchema(s); });
}

}  // namespace
}  // namespace skald::grammar
