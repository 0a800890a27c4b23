#include "chat/search.h"

#include <gtest/gtest.h>

#include <string>

#include "support/cost.h"

namespace skald::chat {
namespace {

// Every needle and text over few letters, against the library's own search.
TEST(NeedleTest, FindsWhatANaiveSearchFinds) {
  uint64_t random = 1;
  const auto word = [&random](size_t length, uint64_t letters) {
    std::string text;
    for (size_t i = 0; i < length; ++i) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      text += static_cast<char>('a' + (random >> 33) % letters);
    }
    return text;
  };
  for (int round = 0; round < 20'000; ++round) {
    const uint64_t letters = 1 + static_cast<uint64_t>(round % 3);
    std::string needle = word(1 + static_cast<size_t>(round % 7), letters);
    if (round % 2 == 0) needle += needle + needle + word(12, letters) + needle;  // over 16 bytes
    std::string text = word(40, letters) + needle.substr(1) + needle + word(9, letters) + needle +
                       needle.substr(0, needle.size() - 1);
    if (round % 5 == 0) text = word(60, letters);
    const Needle searched(needle);
    ASSERT_EQ(searched.FindLast(text), text.rfind(needle)) << needle << " in " << text;
    for (size_t from = 0; from <= text.size() + 1; from += 7)
      ASSERT_EQ(searched.Find(text, from), text.find(needle, from)) << needle << " in " << text;
  }
}

TEST(NeedleTest, AllBytesAreLetters) {
  const std::string needle = std::string("\xFF\0\x80", 3) + std::string(20, '\xFF') + "\x01";
  const std::string text = std::string(30, '\xFF') + needle + std::string(30, '\0');
  EXPECT_EQ(Needle(needle).Find(text, 0), 30U);
  EXPECT_EQ(Needle(needle).FindLast(text), 30U);
  EXPECT_EQ(Needle(needle).Find(text.substr(0, 30 + needle.size() - 1), 0), std::string::npos);
  EXPECT_EQ(Needle("a").Find("", 0), std::string::npos);
  EXPECT_EQ(Needle("a").FindLast(""), std::string::npos);
}

// Inputs on which a naive search compares half of the needle at each place.
TEST(NeedleTest, FourTimesTheTextTakesFourTimesTheTime) {
  const auto seconds = [](size_t size) {
    const std::string text(size, 'a');
    const std::string half(size / 2, 'a');
    const std::string needles[] = {"b" + half, half + "b", half + "b" + half};
    return test::LeastCostOf(3,
                             [&] {
                               for (const std::string& needle : needles) {
                                 EXPECT_EQ(Needle(needle).Find(text, 0), std::string::npos);
                                 EXPECT_EQ(Needle(needle).FindLast(text), std::string::npos);
                               }
                             })
        .cpu_seconds;
  };
  EXPECT_LT(seconds(1 << 20), 8 * seconds(1 << 18) + 0.01);
}

}  // namespace
}  // namespace skald::chat
