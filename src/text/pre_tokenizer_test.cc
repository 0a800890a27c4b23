#include "text/pre_tokenizer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace skald::text {
namespace {

using Pieces = std::vector<std::string>;

Pieces Split(std::string_view name, std::string_view text) {
  const auto rule = FindPreTokenizerRule(name);
  EXPECT_TRUE(rule.ok()) << rule.status().message();
  const Result<PreTokenizer> pre_tokenizer = PreTokenizer::Create(**rule);
  EXPECT_TRUE(pre_tokenizer.ok()) << pre_tokenizer.status().message();
  Pace pace;
  const auto pieces = pre_tokenizer->Split(text, pace);
  EXPECT_TRUE(pieces.ok()) << pieces.status().message();
  return {pieces->begin(), pieces->end()};
}

TEST(PreTokenizerTest, Gpt2KeepsASpaceWithTheWordAndTheLastOfARun) {
  EXPECT_EQ(Split("gpt-2", "Hello  world's 123 !?\n\n x"),
            (Pieces{"Hello", " ", " world", "'s", " 123", " !?", "\n\n", " x"}));
  EXPECT_EQ(Split("gpt-2", "a   "), (Pieces{"a", "   "}));
}

TEST(PreTokenizerTest, LlamaTakesDigitsByThreesAndQwenOneByOne) {
  EXPECT_EQ(Split("llama-bpe", "12345 x"), (Pieces{"123", "45", " x"}));
  EXPECT_EQ(Split("qwen2", "123 x"), (Pieces{"1", "2", "3", " x"}));
  EXPECT_EQ(Split("smollm", " 12ab"), (Pieces{" ", "1", "2", "ab"}));
}

TEST(PreTokenizerTest, LlamaTakesPunctuationWithTheNewlinesAfterIt) {
  EXPECT_EQ(Split("llama-bpe", "I'LL go;\n\n  end"),
            (Pieces{"I", "'LL", " go", ";\n\n", " ", " end"}));
}

TEST(PreTokenizerTest, DefaultCutsInSeveralPasses) {
  EXPECT_EQ(Split("default", "a+b 12345!"), (Pieces{"a", "+", "b", " ", "123", "45", "!"}));
  EXPECT_EQ(Split("", "a+b"), Split("default", "a+b"));
}

TEST(PreTokenizerTest, DeepseekCutsAtNewlinesScriptsAndDigits) {
  EXPECT_EQ(Split("deepseek-llm", "ab\ncd 12 \xE4\xB8\xAD\xE6\x96\x87!"),
            (Pieces{"ab", "\n", "cd", " ", "12", " ", "\xE4\xB8\xAD\xE6\x96\x87", "!"}));
  EXPECT_EQ(Split("deepseek-v3", "x 1234\xE4\xB8\xAD!a"),
            (Pieces{"x", " ", "123", "4", "\xE4\xB8\xAD", "!a"}));
}

TEST(PreTokenizerTest, MongolianVowelSeparatorIsNoSpace) {
  // U+180E was white space before Unicode 6.3, and PCRE2 still says so for \s.
  EXPECT_EQ(Split("llama-bpe", "\xE1\xA0\x8E"), (Pieces{"\xE1\xA0\x8E"}));
  EXPECT_EQ(Split("gpt-2", "  \xE1\xA0\x8E"), (Pieces{" ", " \xE1\xA0\x8E"}));
  EXPECT_EQ(Split("gpt-2", "  \xC2\xA0"), (Pieces{"  \xC2\xA0"}));  // U+00A0 is one
}

TEST(PreTokenizerTest, IllFormedBytesArePiecesOfTheirOwn) {
  EXPECT_EQ(Split("gpt-2", "ab\xFF\xE2\x96 cd\xF0\x9F"),
            (Pieces{"ab", "\xFF", "\xE2\x96", " cd", "\xF0\x9F"}));
  EXPECT_EQ(Split("gpt-2", ""), Pieces{});
}

TEST(PreTokenizerTest, PiecesAreTheWholeTextForEveryKnownName) {
  const auto unknown = FindPreTokenizerRule("no-such");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.status().code(), ErrorCode::kUnsupported);
  const std::string& message = unknown.status().message();
  const std::string start = "pre-tokenizer 'no-such' is not known; known are ";
  ASSERT_EQ(message.substr(0, start.size()), start);
  const std::string text =
      "Mixed TEXT, 12345 \xC3\x89t\xC3\xA9 \xE4\xB8\xAD\xE6\x96\x87\r\n\t we'll <|x|> \xFF  $+=\n ";
  int names = 0;
  for (size_t at = start.size(); at < message.size(); ++names) {
    const size_t end = std::min(message.find(", ", at), message.size());
    std::string joined;
    for (const std::string& piece : Split(message.substr(at, end - at), text)) {
      EXPECT_NE(piece, "");
      joined += piece;
    }
    EXPECT_EQ(joined, text);
    at = end + 2;
  }
  EXPECT_GE(names, 40);
}

TEST(PatternForPcre2Test, SpellsOutWhiteSpaceInsideAndOutsideClasses) {
  const Result<std::string> inside = PatternForPcre2(R"([^\s\p{L}]\[\s])");
  ASSERT_TRUE(inside.ok());
  EXPECT_EQ(inside->substr(0, 10), R"([^\x09-\x0)");
  EXPECT_NE(inside->find(R"(\p{L}]\[[\x09)"), std::string::npos);
}

TEST(PatternForPcre2Test, RefusesWhatPcre2WouldMisread) {
  EXPECT_FALSE(PatternForPcre2(R"([\p{L}&&[^\p{Han}]]+)").ok());
  EXPECT_FALSE(PatternForPcre2(R"([\S])").ok());
  EXPECT_FALSE(PatternForPcre2(R"([\p{Han}]+)").ok());
  EXPECT_FALSE(PatternForPcre2(R"(\P{Latin})").ok());
  EXPECT_TRUE(PatternForPcre2("a&&b").ok());
  EXPECT_TRUE(PatternForPcre2(R"([\p{sc:Han}\p{Lu}\P{N}]+)").ok());
}

}  // namespace
}  // namespace skald::text
