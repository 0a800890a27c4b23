// Every case of regular expressions and GBNF whose answers other programs computed.

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <string_view>

#include "grammar/test_cases.h"

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

}  // namespace
}  // namespace skald::grammar
