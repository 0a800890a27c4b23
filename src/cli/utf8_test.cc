#include "cli/utf8.h"

#include <gtest/gtest.h>

#include <string>

#include "cli/environment.h"

namespace skald::cli {
namespace {

constexpr const char* kFffd = "\xEF\xBF\xBD";

TEST(ValidUtf8, KeepsEachLengthAtBothEnds) {
  // U+0000, 7F | U+80, 7FF | U+800, FFFF | U+10000, 10FFFF, and both sides of the surrogates
  const std::string text(
      "\0\x7F\xC2\x80\xDF\xBF\xE0\xA0\x80\xEF\xBF\xBF\xF0\x90\x80\x80\xF4\x8F\xBF\xBF"
      "\xED\x9F\xBF\xEE\x80\x80",
      26);
  EXPECT_EQ(ValidUtf8(text), text);
}

TEST(ValidUtf8, ReplacesOverlongFormsSurrogatesAndTooLargeOnes) {
  const auto replaced = [](int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += kFffd;
    return text;
  };
  EXPECT_EQ(ValidUtf8("\xC0\x80"), replaced(2));
  EXPECT_EQ(ValidUtf8("\xE0\x9F\xBF"), replaced(3));
  EXPECT_EQ(ValidUtf8("\xED\xA0\x80"), replaced(3));
  EXPECT_EQ(ValidUtf8("\xF0\x8F\xBF\xBF"), replaced(4));
  EXPECT_EQ(ValidUtf8("\xF4\x90\x80\x80"), replaced(4));
  EXPECT_EQ(ValidUtf8("\xF5"), replaced(1));
  EXPECT_EQ(ValidUtf8("\x80"), replaced(1));
}

TEST(ValidUtf8, ReplacesACutSequenceOnce) {
  EXPECT_EQ(ValidUtf8("\xF0\x9F\x98"), kFffd);
  EXPECT_EQ(ValidUtf8("\xF0\x9F\x98x"), std::string(kFffd) + "x");
  EXPECT_EQ(ValidUtf8("\xE2\x82\xE2\x82\xAC"), std::string(kFffd) + "\xE2\x82\xAC");
}

TEST(TerminalText, ShowsControlCharactersButNewlineAndTab) {
  EXPECT_EQ(TerminalText("a\n\tb"), "a\n\tb");
  EXPECT_EQ(TerminalText("\x1b[31m\r\x7f"), "\\x1B[31m\\x0D\\x7F");
  EXPECT_EQ(TerminalText("\xC2\x9B!"), "\\xC2\\x9B!");
  EXPECT_EQ(TerminalText("\xC2\xA0\xFF"), "\xC2\xA0\\xFF");
}

TEST(TerminalLine, HasNoLineBreaks) { EXPECT_EQ(TerminalLine("a\nb\tc\rd"), "a\\nb\\tc\\rd"); }

TEST(DisplayWidth, CountsCharacters) {
  EXPECT_EQ(DisplayWidth(""), 0u);
  EXPECT_EQ(DisplayWidth("abc"), 3u);
  EXPECT_EQ(DisplayWidth("gr\xC3\xBC\xC3\x9F"), 4u);
}

TEST(DisplayWidth, CountsColumns) {
  UseUtf8Locale();
  EXPECT_EQ(DisplayWidth("\u65E5\u672C"), 4u);  // wide
  EXPECT_EQ(DisplayWidth("e\u0301"), 1u);       // combining
  EXPECT_EQ(DisplayWidth("\U0001F98A!"), 3u);   // emoji
}

}  // namespace
}  // namespace skald::cli
