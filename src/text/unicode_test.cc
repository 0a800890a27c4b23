#include "text/unicode.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/utf8.h"
#include "support/cost.h"

namespace skald::text {
namespace {

std::string Nfc(std::string_view text) {
  Pace pace;
  const auto normalized = NormalizedC(text, &pace);
  EXPECT_TRUE(normalized.ok()) << normalized.status().message();
  return *normalized;
}

std::string Utf8(const std::vector<uint32_t>& code_points) {
  std::string text;
  for (const uint32_t code_point : code_points) AppendUtf8(code_point, &text);
  return text;
}

std::string Nfc(const std::vector<uint32_t>& code_points) { return Nfc(Utf8(code_points)); }

// Lines of NormalizationTest.txt, and what people meet.
TEST(NormalizedCTest, ComposesAndOrders) {
  EXPECT_EQ(Nfc(std::string("plain text, 123\n")), "plain text, 123\n");
  EXPECT_EQ(Nfc({'e', 0x301}), Utf8({0xE9}));
  EXPECT_EQ(Nfc({0xE9}), Utf8({0xE9}));
  EXPECT_EQ(Nfc({0x1E0A, 0x323}), Utf8({0x1E0C, 0x307}));  // marks are put in order first
  EXPECT_EQ(Nfc({'D', 0x307, 0x323}), Utf8({0x1E0C, 0x307}));
  EXPECT_EQ(Nfc({0x212B}), Utf8({0xC5}));                    // a singleton: angstrom
  EXPECT_EQ(Nfc({0x958}), Utf8({0x915, 0x93C}));             // excluded from composition
  EXPECT_EQ(Nfc({0x1100, 0x1161, 0x11A8}), Utf8({0xAC01}));  // Hangul
  EXPECT_EQ(Nfc({0xAC00, 0x11A8}), Utf8({0xAC01}));
  EXPECT_EQ(Nfc({0xF900}), Utf8({0x8C48}));
  EXPECT_EQ(Nfc({0x9C7, 0x9BE}), Utf8({0x9CB}));  // a spacing mark composes
  EXPECT_EQ(Nfc({0x1D157, 0x1D165}), Utf8({0x1D157, 0x1D165}));
  EXPECT_EQ(Nfc({'a', 0x315, 0x300, 0x5AE, 0x62B}), Utf8({0xE0, 0x5AE, 0x315, 0x62B}));
  EXPECT_EQ(Nfc({0x301, 'a'}), Utf8({0x301, 'a'}));  // a mark with nothing before it
  EXPECT_EQ(Nfc(std::string()), "");
}

TEST(NormalizedCTest, BytesThatAreNoUtf8StayAndSeparate) {
  EXPECT_EQ(Nfc(std::string("e\xFF\xCC\x81")), "e\xFF\xCC\x81");
  EXPECT_EQ(Nfc(std::string("e\xCC\x81\xE4\xB8")), "\xC3\xA9\xE4\xB8");
}

TEST(NormalizedCTest, TwiceIsOnce) {
  uint64_t random = 5;
  for (int round = 0; round < 2000; ++round) {
    std::vector<uint32_t> code_points;
    for (int i = 0; i < 12; ++i) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      const auto kind = (random >> 33) % 4;
      const auto draw = static_cast<uint32_t>(random >> 36);
      if (kind == 0) code_points.push_back(0x300 + draw % 0x70);
      if (kind == 1) code_points.push_back(0x1100 + draw % 0x100);
      if (kind == 2) code_points.push_back('A' + draw % 58);
      if (kind == 3) code_points.push_back(draw % 0xD800);
    }
    const std::string once = Nfc(code_points);
    ASSERT_EQ(Nfc(once), once) << round;
  }
}

TEST(NormalizedCTest, AlternatingMarksAreNotQuadratic) {
  const auto seconds = [](size_t marks) {
    std::string text = "a";
    for (size_t i = 0; i < marks; ++i) text += i % 2 == 0 ? "\xCC\x81" : "\xCC\xA3";
    return test::LeastCostOf(3, [&] { EXPECT_EQ(Nfc(text).size(), 2 * marks + 1); }).cpu_seconds;
  };
  EXPECT_LT(seconds(1 << 16), 12 * seconds(1 << 14) + 0.05);
}

TEST(UnicodeTest, Properties) {
  EXPECT_TRUE(IsWhiteSpace(0x3000) && IsWhiteSpace(0x85) && IsWhiteSpace(0x2028));
  EXPECT_FALSE(IsWhiteSpace(0x180E) || IsWhiteSpace(0x200B));
  EXPECT_TRUE(IsPunctuation(0x3002) && !IsPunctuation('+'));
  EXPECT_TRUE(IsControl(0xAD) && IsControl(0xE000) && IsControl(1) && !IsControl(0x378));
  EXPECT_TRUE(IsNonspacingMark(0x301) && !IsNonspacingMark(0x93F));
  std::vector<uint32_t> lower;
  AppendLowerCase(0x130, &lower);
  AppendLowerCase(0x3A3, &lower);
  EXPECT_EQ(lower, (std::vector<uint32_t>{'i', 0x307, 0x3C3}));
}

}  // namespace
}  // namespace skald::text
