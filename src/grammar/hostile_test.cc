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
