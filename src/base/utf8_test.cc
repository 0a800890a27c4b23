#include "base/utf8.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace skald {
namespace {

using Kind = Utf8Sequence::Kind;

void Expect(std::string_view bytes, Kind kind, int length, uint32_t code_point = 0) {
  const Utf8Sequence sequence = ReadUtf8(bytes);
  EXPECT_EQ(sequence.kind, kind) << testing::PrintToString(std::string(bytes));
  EXPECT_EQ(sequence.length, length) << testing::PrintToString(std::string(bytes));
  EXPECT_EQ(sequence.code_point, code_point) << testing::PrintToString(std::string(bytes));
}

TEST(ReadUtf8Test, ReadsBothSidesOfEachLengthBoundary) {
  for (const uint32_t code_point :
       {0x0u, 0x7Fu, 0x80u, 0x7FFu, 0x800u, 0xD7FFu, 0xE000u, 0xFFFFu, 0x10000u, 0x10FFFFu}) {
    std::string bytes;
    AppendUtf8(code_point, &bytes);
    Expect(bytes, Kind::kWellFormed, static_cast<int>(bytes.size()), code_point);
    for (size_t length = 1; length < bytes.size(); ++length) {
      Expect(bytes.substr(0, length), Kind::kIncomplete, static_cast<int>(length));
    }
  }
}

TEST(ReadUtf8Test, RefusesOverlongFormsSurrogatesAndBeyondTheLastCodePoint) {
  Expect("\x80", Kind::kIllFormed, 1);
  Expect("\xC0\x80", Kind::kIllFormed, 1);
  Expect("\xC1\xBF", Kind::kIllFormed, 1);
  Expect("\xE0\x9F\xBF", Kind::kIllFormed, 1);
  Expect("\xED\xA0\x80", Kind::kIllFormed, 1);
  Expect("\xF0\x8F\xBF\xBF", Kind::kIllFormed, 1);
  Expect("\xF4\x90\x80\x80", Kind::kIllFormed, 1);
  Expect("\xF5\x80\x80\x80", Kind::kIllFormed, 1);
  Expect("\xFF", Kind::kIllFormed, 1);
}

TEST(ReadUtf8Test, TakesTheMaximalSubpartOfAnInterruptedSequence) {
  Expect(
      "\xE2\x96"
      "a",
      Kind::kIllFormed, 2);
  Expect(
      "\xF0\x9F\x98"
      "a",
      Kind::kIllFormed, 3);
  Expect("\xF0\x9F\xF0", Kind::kIllFormed, 2);
}

TEST(AppendRepairedTest, ReplacesEachMaximalSubpartOnce) {
  // The example of the Unicode Standard, table 3-8.
  std::string repaired;
  EXPECT_EQ(AppendRepaired("\x61\xF1\x80\x80\xE1\x80\xC2\x62\x80\x63\x80\xBF\x64", &repaired), 0u);
  const std::string r(kReplacementCharacter);
  EXPECT_EQ(repaired, "a" + r + r + r + "b" + r + "c" + r + r + "d");
}

TEST(AppendRepairedTest, LeavesAnIncompleteEndToTheCaller) {
  std::string repaired;
  EXPECT_EQ(AppendRepaired("ok\xF0\x9F\x98", &repaired), 3u);
  EXPECT_EQ(repaired, "ok");
}

TEST(WellFormedPrefixTest, EndsBeforeTheFirstDefect) {
  EXPECT_EQ(WellFormedPrefix(""), 0u);
  EXPECT_EQ(WellFormedPrefix("abc"), 3u);
  EXPECT_EQ(WellFormedPrefix("\xC3\xA9\xC3"), 2u);
  EXPECT_EQ(WellFormedPrefix("\xFFz"), 0u);
}

}  // namespace
}  // namespace skald
