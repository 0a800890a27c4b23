#include "cli/constraint_args.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace skald::cli {
namespace {

// What the flags make of `text`; what is wrong with them, if anything is.
std::string Check(const ConstraintArgs& args, const std::string& text) {
  const auto grammar = ReadGrammar(args);
  if (!grammar.ok()) return grammar.status().message();
  if (!grammar->has_value()) return "none";
  return CheckText(**grammar, text).verdict == GrammarVerdict::kAccepted ? "accepted" : "refused";
}

std::string WriteFile(const std::string& name, const std::string& text) {
  const std::string path = testing::TempDir() + name;
  std::ofstream(path) << text;
  return path;
}

TEST(ConstraintArgs, AreNoneWithoutAFlag) { EXPECT_EQ(Check({}, ""), "none"); }

TEST(ConstraintArgs, EachSaysWhatATextMustBe) {
  EXPECT_EQ(Check({.regex = "a+"}, "aa"), "accepted");
  EXPECT_EQ(Check({.regex = "a+"}, "ab"), "refused");
  EXPECT_EQ(Check({.grammar = R"(root ::= "x"*)"}, "xx"), "accepted");
  EXPECT_EQ(Check({.json_schema = R"( {"type": "integer"})"}, "12"), "accepted");
  EXPECT_EQ(Check({.json_schema = R"( {"type": "integer"})"}, "x"), "refused");
  EXPECT_EQ(Check({.json_schema = "true"}, "[]"), "accepted");
}

TEST(ConstraintArgs, FilesHoldASchemaOrAGrammar) {
  const std::string schema = WriteFile("schema.json", R"({"const": 7})");
  EXPECT_EQ(Check({.json_schema = schema}, "7"), "accepted");
  EXPECT_EQ(Check({.json_schema = schema}, "8"), "refused");
  const std::string gbnf = WriteFile("x.gbnf", "root ::= \"x\"\n");
  EXPECT_EQ(Check({.grammar_file = gbnf}, "x"), "accepted");
}

TEST(ConstraintArgs, ErrorsNameTheFlagOrTheFile) {
  EXPECT_TRUE(Check({.regex = "(a"}, "").starts_with("--regex: "));
  EXPECT_TRUE(Check({.grammar = "root ::= other"}, "").starts_with("--grammar: "));
  EXPECT_TRUE(Check({.json_schema = R"({"type": 3})"}, "").starts_with("--json-schema: "));
  EXPECT_NE(Check({.json_schema = "no/such.json"}, "").find("no/such.json"), std::string::npos);
  EXPECT_EQ(Check({.grammar = "root ::= \"x\"", .regex = "x"}, ""),
            "two forms of the text: give one of --json-schema, --grammar, --grammar-file and "
            "--regex");
}

}  // namespace
}  // namespace skald::cli
