#include "grammar/regex.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "grammar/test_cases.h"

namespace skald::grammar {
namespace {

std::string Check(std::string_view regex, std::string_view text) {
  const Result<Grammar> grammar = Grammar::FromRegex(regex);
  return grammar.ok() ? Outcome(*grammar, text) : grammar.status().message();
}

std::string Refusal(std::string_view regex) {
  const Result<Grammar> grammar = Grammar::FromRegex(regex);
  return grammar.ok() ? "taken" : grammar.status().message();
}

TEST(Regex, MatchesTheWholeText) {
  EXPECT_EQ(Check("abc", "abc"), "accepted");
  EXPECT_EQ(Check("abc", "ab"), "viable 2 of 2");
  EXPECT_EQ(Check("abc", "abcd"), "viable 3 of 4");
  EXPECT_EQ(Check("", ""), "accepted");
  EXPECT_EQ(Check("", "a"), "viable 0 of 1");
  EXPECT_EQ(Check("(a|ab)(c|bcd)", "abcd"), "accepted");
}

TEST(Regex, RepeatsWithinItsNumbers) {
  EXPECT_EQ(Check("a{2,3}", "a"), "viable 1 of 1");
  EXPECT_EQ(Check("a{2,3}", "aa"), "accepted");
  EXPECT_EQ(Check("a{2,3}", "aaa"), "accepted");
  EXPECT_EQ(Check("a{2,3}", "aaaa"), "viable 3 of 4");
  EXPECT_EQ(Check("(ab){2,}", "ababab"), "accepted");
  EXPECT_EQ(Check("a{0}b", "b"), "accepted");
  EXPECT_EQ(Check("a{0}b", "ab"), "viable 0 of 2");
  EXPECT_EQ(Check("a+?b*?", "aab"), "accepted");
}

TEST(Regex, AssertionsBindWhereverTheyStand) {
  EXPECT_EQ(Check("^a|b$", "a"), "accepted");
  EXPECT_EQ(Check("^a|b$", "ab"), "viable 1 of 2");
  EXPECT_EQ(Check("^$", ""), "accepted");
  EXPECT_EQ(Check("$^", ""), "accepted");
  EXPECT_EQ(Check("a^b", "ab"), "no text can satisfy it: nothing can be finished");
  EXPECT_EQ(Check("a$b", "ab"), "no text can satisfy it: nothing can be finished");
  EXPECT_EQ(Check("(^a)+", "a"), "accepted");
  EXPECT_EQ(Check("(^a)+", "aa"), "viable 1 of 2");
  EXPECT_EQ(Check("(a|^)b", "b"), "accepted");
  EXPECT_EQ(Check("(a$|b)+", "bba"), "accepted");
  EXPECT_EQ(Check("(a$|b)+", "bab"), "viable 2 of 3");
}

TEST(Regex, ClassesAndEscapes) {
  EXPECT_EQ(Check(R"([\]\-\\^a]+)", "]-\\^a"), "accepted");
  EXPECT_EQ(Check("[a-]", "-"), "accepted");
  EXPECT_EQ(Check(R"([\w.+-]+)", "a_9.+-"), "accepted");
  EXPECT_EQ(Check(R"(\cJ\0[\b])", std::string_view("\n\0\b", 3)), "accepted");
  EXPECT_EQ(Check(R"(\u{1F600}\ud83d\ude00)", "\U0001F600\U0001F600"), "accepted");
  EXPECT_EQ(Check("[^\\d]", "5"), "viable 0 of 1");
  EXPECT_EQ(Check("[\\D]", "\u00E9"), "accepted");
}

TEST(Regex, BlanksAreThoseOfEveryReader) {
  EXPECT_EQ(Check("\\s", " "), "accepted");
  EXPECT_EQ(Check("\\s", "\u00A0"), "viable 0 of 2");
  EXPECT_EQ(Check("\\S", "\u00A0"), "viable 1 of 2");
  EXPECT_EQ(Check("\\S", "\x1C"), "viable 0 of 1");
  EXPECT_EQ(Check(".", "\u2028"), "viable 2 of 3");
}

// Each byte of a text can be completed to a character: nothing overlong, no surrogate, no end of
// the range passed.
TEST(Regex, CharactersAreWellFormedUtf8) {
  EXPECT_EQ(Check("[^x]", "\xC0\x80"), "viable 0 of 2");
  EXPECT_EQ(Check("[^x]", "\xE0\x9F\xBF"), "viable 1 of 3");
  EXPECT_EQ(Check("[^x]", "\xED\xA0\x80"), "viable 1 of 3");
  EXPECT_EQ(Check("[^x]", "\xF4\x90\x80\x80"), "viable 1 of 4");
  EXPECT_EQ(Check("[^x]", "\xF4\x8F\xBF\xBF"), "accepted");
  EXPECT_EQ(Check("[\\u07ff-\\u0801]", "\u07FF"), "accepted");
  EXPECT_EQ(Check("[\\u07ff-\\u0801]", "\u0801"), "accepted");
  EXPECT_EQ(Check("[\\u07ff-\\u0801]", "\u0802"), "viable 2 of 3");
  EXPECT_EQ(Check("[\\ud7ff-\\ue000]", "\uD7FF"), "accepted");
}

TEST(Regex, RefusesByName) {
  EXPECT_EQ(Refusal("x(?=a)"), "look-ahead (?= is not supported, at byte 1");
  EXPECT_EQ(Refusal("(?<!a)b"), "look-behind (?<! is not supported, at byte 0");
  EXPECT_EQ(Refusal("(a)\\1"), "a reference back to a group is not supported, at byte 5");
  EXPECT_EQ(Refusal("\\bx"), "a word boundary \\b or \\B is not supported, at byte 2");
  EXPECT_EQ(Refusal("\\p{L}"), "\\p is not supported, at byte 2");
  EXPECT_EQ(Refusal("a++"), "a possessive repetition is not supported, at byte 2");
  EXPECT_EQ(Refusal("(?>a)"), "an atomic group (?> is not supported, at byte 0");
  EXPECT_EQ(Refusal("[]a]"),
            "[] or [^], which readers take for different things, is not supported, at byte 1");
  EXPECT_EQ(Refusal("[[:alpha:]]"),
            "a POSIX class such as [[:alpha:]] is not supported, at byte 1");
}

TEST(Regex, RefusesWhatIsMalformedWithItsPlace) {
  EXPECT_EQ(Refusal("(ab"), "a group without ) at byte 0");
  EXPECT_EQ(Refusal("ab)"), "a closing parenthesis without an opening one at byte 2");
  EXPECT_EQ(Refusal("[a-"), "a class without ] at byte 3");
  EXPECT_EQ(Refusal("a**"), "nothing to repeat at byte 2");
  EXPECT_EQ(Refusal("^*"), "nothing to repeat at byte 1");
  EXPECT_EQ(Refusal("x{,3}"), "a brace that is no repetition (write \\{ or {0,n}) at byte 1");
  EXPECT_EQ(Refusal("{"), "a brace that is no repetition (write \\{ or \\}) at byte 0");
  EXPECT_EQ(Refusal("x{3,2}"), "a repetition upside down at byte 1");
  EXPECT_EQ(Refusal("[b-a]"), "a range upside down at byte 4");
  EXPECT_EQ(Refusal("\\q"), "an unknown escape at byte 2");
  EXPECT_EQ(Refusal("\\ud83d"), "half of a surrogate pair at byte 6");
  EXPECT_EQ(Refusal("\\u{110000}"), "an escape for what is no character at byte 10");
  EXPECT_EQ(Refusal("a\xFF"), "no UTF-8 at byte 1");
}

}  // namespace
}  // namespace skald::grammar
