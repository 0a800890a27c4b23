#include "grammar/gbnf.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "grammar/test_cases.h"

namespace skald::grammar {
namespace {

std::string Check(std::string_view gbnf, std::string_view text) {
  const Result<Grammar> grammar = Grammar::FromGbnf(gbnf);
  return grammar.ok() ? Outcome(*grammar, text) : grammar.status().message();
}

std::string Refusal(std::string_view gbnf) {
  const Result<Grammar> grammar = Grammar::FromGbnf(gbnf);
  return grammar.ok() ? "taken" : grammar.status().message();
}

TEST(Gbnf, RulesCallOneAnother) {
  constexpr std::string_view kGreeting =
      "root ::= greeting \", \" name \"!\" # a comment\n\ngreeting ::= \"Hello\" | \"Hi\"\n"
      "name ::= [A-Z] [a-z]*\n";
  EXPECT_EQ(Check(kGreeting, "Hi, Ann!"), "accepted");
  EXPECT_EQ(Check(kGreeting, "Hi, ann!"), "viable 4 of 8");
  EXPECT_EQ(Check(kGreeting, "Hi, Ann"), "viable 7 of 7");
}

TEST(Gbnf, RecursionOfAnyKind) {
  EXPECT_EQ(Check("root ::= root \"a\" | \"b\"", "baaa"), "accepted");
  EXPECT_EQ(Check("root ::= e root \"a\" | \"b\"\ne ::= \"x\"?", "xxbaa"), "accepted");
  EXPECT_EQ(Check("root ::= e root \"a\" | \"b\"\ne ::= \"x\"?", "xba"), "accepted");
  EXPECT_EQ(Check("root ::= e root \"a\" | \"b\"\ne ::= \"x\"?", "xxba"), "viable 4 of 4");
  EXPECT_EQ(Check("root ::= \"(\" root \")\" | \"\"", "((()))"), "accepted");
  EXPECT_EQ(Check("root ::= \"(\" root \")\" | \"\"", "(()))"), "viable 4 of 5");
  EXPECT_EQ(Check("root ::= root root | \"a\"", "aaaaaaa"), "accepted");
  EXPECT_EQ(Check("root ::= \"a\" root \"a\" | \"b\" root \"b\" | \"\"", "abba"), "accepted");
  EXPECT_EQ(Check("root ::= \"a\" root \"a\" | \"b\" root \"b\" | \"\"", "abab"), "viable 4 of 4");
}

TEST(Gbnf, EmptyRules) {
  EXPECT_EQ(Check("root ::= e e e \"x\"?\ne ::= \"\" | e", ""), "accepted");
  EXPECT_EQ(Check("root ::= e e e \"x\"?\ne ::= \"\" | e", "x"), "accepted");
  EXPECT_EQ(Check("root ::= a b\na ::= b b\nb ::= \"\" | \"y\" | a", "yyyy"), "accepted");
  EXPECT_EQ(Check("root ::=", ""), "accepted");
}

// Long counts are states of a counter, short ones are written out: both count the same.
TEST(Gbnf, RepeatsWithinItsNumbers) {
  for (const int count : {3, 5000}) {
    const std::string n = std::to_string(count);
    const std::string gbnf = "root ::= (\"ab\" | \"c\"){2," + n + "} \"!\"";
    std::string text;
    for (int i = 0; i < count; ++i) text += i % 2 == 0 ? "ab" : "c";
    EXPECT_EQ(Check(gbnf, text + "!"), "accepted") << n;
    EXPECT_EQ(Check(gbnf, text + "c"),
              "viable " + std::to_string(text.size()) + " of " + std::to_string(text.size() + 1))
        << n;
    EXPECT_EQ(Check(gbnf, "c!"), "viable 1 of 2") << n;
    EXPECT_EQ(Check(gbnf, "cc!"), "accepted") << n;
  }
  EXPECT_EQ(Check("root ::= \"x\"{1000,}", std::string(1000, 'x')), "accepted");
  EXPECT_EQ(Check("root ::= \"x\"{1000,}", std::string(1001, 'x')), "accepted");
  EXPECT_EQ(Check("root ::= \"x\"{1000,}", std::string(999, 'x')), "viable 999 of 999");
}

TEST(Gbnf, RepetitionOfWhatMayBeEmpty) {
  EXPECT_EQ(Check("root ::= (\"a\"*){1000} \"b\"", "b"), "accepted");
  EXPECT_EQ(Check("root ::= (\"a\"*){1000} \"b\"", "aab"), "accepted");
  EXPECT_EQ(Check("root ::= e{1000,2000} \"b\"\ne ::= \"a\"?", "ab"), "accepted");
}

// Right recursion is a list written in another way: it must not pile up contexts.
TEST(Gbnf, LongListsByRightRecursion) {
  const std::string list = [] {
    std::string text = "a";
    for (int i = 0; i < 20'000; ++i) text += ",a";
    return text;
  }();
  EXPECT_EQ(Check("root ::= item \",\" root | item\nitem ::= \"a\"", list), "accepted");
  EXPECT_EQ(Check("root ::= \"a\" rest\nrest ::= \",\" root | \"\"", list), "accepted");
}

TEST(Gbnf, DeepBracketsTakeNoStack) {
  const std::string deep = std::string(300'000, '(') + std::string(300'000, ')');
  EXPECT_EQ(Check("root ::= \"(\" root \")\" | \"\"", deep), "accepted");
}

TEST(Gbnf, CutsWhatCanNeverBeFinished) {
  EXPECT_EQ(Refusal("root ::= \"a\" root"), "no text can satisfy it: nothing can be finished");
  EXPECT_EQ(Check("root ::= \"a\" x | \"b\"\nx ::= \"c\" x", "a"), "viable 0 of 1");
  EXPECT_EQ(Check("root ::= \"a\" x? \"d\"\nx ::= \"c\" x", "ac"), "viable 1 of 2");
  EXPECT_EQ(Check("root ::= \"a\" x{0,1000} \"d\"\nx ::= \"c\" x", "ac"), "viable 1 of 2");
  EXPECT_EQ(Check("root ::= \"a\" [^\\x00-\\U0010FFFF] | \"b\"", "a"), "viable 0 of 1");
}

// What is too ambiguous ends with an error of its own, and no other harm.
TEST(Gbnf, AmbiguityHasABound) {
  constexpr std::string_view kAmbiguous = "root ::= \"a\" root root | \"a\" | \"\"";
  EXPECT_EQ(Check(kAmbiguous, std::string(30, 'a')), "accepted");
  EXPECT_EQ(Check(kAmbiguous, std::string(100'000, 'a')), "too complex");
}

TEST(Gbnf, RefusesWithThePlace) {
  EXPECT_EQ(Refusal("root ::= missing"), "rule 'missing' is not defined");
  EXPECT_EQ(Refusal(""), "there is no rule 'root'");
  EXPECT_EQ(Refusal("a ::= \"b\""), "there is no rule 'root'");
  EXPECT_EQ(Refusal("root ::= (\"a\""), "a group without ) at byte 9");
  EXPECT_EQ(Refusal("root ::= [a-z"), "a class without ] at byte 13");
  EXPECT_EQ(Refusal("root ::= \"a"), "a literal without its end at byte 11");
  EXPECT_EQ(Refusal("root ::= *"),
            "nothing that a rule can hold (literal, class, group or name) at byte 9");
  EXPECT_EQ(Refusal("root ::= \"\\q\""), "an unknown escape at byte 12");
  EXPECT_EQ(Refusal("root ::= \"\\u12\""), "an escape without its 4 digits at byte 12");
  EXPECT_EQ(Refusal("root ::= \"\\ud800\""), "an escape for what is no character at byte 16");
  EXPECT_EQ(Refusal("root = \"a\""), "no ::= behind the name of a rule at byte 5");
  EXPECT_EQ(Refusal("root ::= \"a\"\nroot ::= \"b\""), "a second rule of the same name at byte 13");
  EXPECT_EQ(Refusal("root ::= <think>"),
            "a token <...> by its name is not supported; write <[ID]>, at byte 9");
  EXPECT_EQ(Refusal("root ::= \"a\")"), "no end of the rule at byte 12");
}

}  // namespace
}  // namespace skald::grammar
