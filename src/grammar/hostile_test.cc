// What is written to hurt costs what its bytes allow, and no more; costs are compared between an
// input and one of four times its size, so that they hold on any machine.

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "grammar/test_cases.h"
#include "support/cost.h"

namespace skald::grammar {
namespace {

std::string Times(std::string_view unit, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += unit;
  return text;
}

// Compiling: a bounded number of steps, whatever comes; memory in proportion to the states.
void CheckBounded(std::string_view name, bool gbnf, const std::string& source) {
  const test::Cost cost = test::CostOf([&] {
    static_cast<void>(gbnf ? Grammar::FromGbnf(source).ok() : Grammar::FromRegex(source).ok());
  });
  EXPECT_LT(cost.peak_bytes, int64_t{160} << 20) << name;
#if defined(SKALD_SANITIZED) || !defined(NDEBUG)
  EXPECT_LT(cost.cpu_seconds, 60) << name;
#else
  EXPECT_LT(cost.cpu_seconds, 3) << name;
#endif
}

TEST(Hostile, CompilingIsBounded) {
  CheckBounded("optional, then the same", false, "(a?){2000}a{2000}");
  CheckBounded("nested counts", false, "((((a{0,99}){0,99}){0,99}){0,99})");
  CheckBounded("a count of a million", false, "(ab?c?){1000000000}");
  CheckBounded("empty, a thousand million times", false, "(){1000000000}");
  CheckBounded("an exponential subset", false, "(a|b)*a(a|b){300}");
  CheckBounded("an exponential subset of sets", false, "[^a]*a([^b]|c){2000}");
  CheckBounded("parentheses", false, Times("(", 8000) + Times(")", 8000));
  CheckBounded("stars", false, Times("(", 60) + "a" + Times(")*", 60));
  CheckBounded("classes", false, Times("[^\\u4e00\\u4e02]", 1000));
  CheckBounded("alternatives", false, Times("ab|", 5000));
  CheckBounded("alternatives repeated", false, "(" + Times("ab|", 5000) + "c)*");
  CheckBounded("alternatives copied", false, "(" + Times("ab|", 1000) + "c){1000}");
  CheckBounded("anchors", false, Times("(^|$)*", 2500));
  CheckBounded("rules", true, "root ::= " + Times("(\"a\"?)* ", 20'000));
  CheckBounded("a count of counts", true,
               "root ::= " + Times("(", 60) + "\"a\"" + Times("){3}", 60));
  CheckBounded("nullable rules", true,
               "root ::= " + Times("e ", 50'000) + "\ne ::= e e e | \"\" | \"x\"");
  CheckBounded("literals", true, "root ::= " + Times("\"aaaaaaaab\" | ", 15'000) + "\"c\"");
}

// Sets of states that double with each letter are given up early, not at the most there may be.
TEST(Hostile, AnExponentialSubsetCostsLittle) {
  for (const int letters : {9, 14, 30}) {
    CompileBudget budget;
    const int64_t before = budget.steps;
    const std::string regex = "(a|b)*a" + Times("(a|b)", letters);
    ASSERT_TRUE(Grammar::FromRegex(regex, &budget).ok());
    EXPECT_LT(before - budget.steps, 1'500 * letters) << letters;
  }
}

std::string ManyProperties(int count) {
  std::string schema = "{\"type\":\"object\",\"properties\":{";
  for (int i = 0; i < count; ++i)
    schema += "\"property" + std::to_string(i) + "\":{\"type\":\"string\"},";
  return schema + "\"z\":{}},\"required\":[\"z\"],\"additionalProperties\":false}";
}

TEST(Hostile, CompilingSchemasIsBounded) {
  const auto check = [](std::string_view name, const std::string& schema) {
    const test::Cost cost =
        test::CostOf([&] { static_cast<void>(Grammar::FromJsonSchema(schema).ok()); });
    EXPECT_LT(cost.peak_bytes, int64_t{160} << 20) << name;
#if defined(SKALD_SANITIZED) || !defined(NDEBUG)
    EXPECT_LT(cost.cpu_seconds, 60) << name;
#else
    EXPECT_LT(cost.cpu_seconds, 3) << name;
#endif
  };
  check("choices multiplied",
        "{\"allOf\":[" + Times("{\"anyOf\":[{\"minimum\":1},{\"maximum\":5},{}]},", 40) + "{}]}");
  check("properties", ManyProperties(4000));
  check("a pattern of sets", "{\"pattern\":\"^([^a]|a)*a([^b]|c){900}$\",\"maxLength\":4000}");
  check("patterns multiplied", "{\"allOf\":[" + Times("{\"pattern\":\"a.{9}b\"},", 30) + "{}]}");
  check("keys and patterns",
        "{\"patternProperties\":{\"a.{12}$\":{},\"b.{12}$\":{},\"c.{12}$\":{}}}");
  check("many choices",
        "{\"anyOf\":[" + Times("{\"type\":\"object\",\"required\":[\"a\"]},", 4000) + "{}]}");
  check("one of many", "{\"oneOf\":[" + Times("{\"const\":1},", 9000) + "{}]}");
  check("a long reference", "{\"$ref\":\"#" + Times("/a", 100'000) + "\"}");
  check("a range of fractions",
        "{\"type\":\"number\",\"minimum\":0." + Times("123456789", 50) + ",\"maximum\":1e300}");
  check("a product of remainders",
        "{\"type\":\"integer\",\"multipleOf\":997,\"minimum\":12345678901}");
}

// An object of many keys: each is compared with all before, and that costs little.
TEST(Hostile, ManyKeys) {
  const Result<Grammar> grammar = Grammar::FromJsonSchema("{\"type\":\"object\"}");
  ASSERT_TRUE(grammar.ok());
  const auto cost = [&](int keys) {
    std::string text = "{\"first\":0";
    for (int i = 0; i < keys; ++i) text += ",\"k" + std::to_string(i) + "\":1";
    return test::LeastCostOf(2, [&] {
      EXPECT_EQ(CheckText(*grammar, text + ",\"first").verdict, GrammarVerdict::kIncomplete);
      EXPECT_EQ(CheckText(*grammar, text + ",\"first\"").verdict, GrammarVerdict::kDead);
    });
  };
  const test::Cost small = cost(2'000);
  const test::Cost large = cost(8'000);
  EXPECT_LT(large.cpu_seconds, 8 * small.cpu_seconds + 0.05);
}

// Reading: linear in the text.
void CheckLinear(std::string_view name, const Result<Grammar>& grammar, std::string_view unit) {
  ASSERT_TRUE(grammar.ok()) << name << ": " << grammar.status().message();
  const auto cost = [&](int count) {
    const std::string text = Times(unit, count);
    return test::LeastCostOf(3, [&] { static_cast<void>(CheckText(*grammar, text)); });
  };
  const test::Cost small = cost(2'000);
  const test::Cost large = cost(8'000);
  EXPECT_LT(large.cpu_seconds, 8 * small.cpu_seconds + 0.05) << name;
  EXPECT_LT(large.total_bytes, 5 * small.total_bytes + (1 << 16)) << name;
}

TEST(Hostile, ReadingIsLinear) {
  CheckLinear("(a?){n}a{n}", Grammar::FromRegex("(a?){1000}a{1000}"), "a");
  CheckLinear("(a+)+b", Grammar::FromRegex("(a+)+b"), "a");
  CheckLinear("exponential subset", Grammar::FromRegex("(a|b)*a(a|b){100}"), "ab");
  CheckLinear("left recursion", Grammar::FromGbnf("root ::= root \"a\" | \"a\""), "a");
  CheckLinear("hidden left recursion",
              Grammar::FromGbnf("root ::= e root \"a\" | \"a\"\ne ::= \"\" | e e"), "a");
  CheckLinear("right recursion", Grammar::FromGbnf("root ::= \"a\" root | \"a\""), "a");
  CheckLinear("brackets", Grammar::FromGbnf("root ::= \"(\" root \")\" | \"\""), "(");
  CheckLinear("nested stars", Grammar::FromGbnf("root ::= ((\"a\"*)*)* \"b\""), "a");
}

}  // namespace
}  // namespace skald::grammar
