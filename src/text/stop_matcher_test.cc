#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "skald/tokenizer.h"

namespace skald {
namespace {

struct Passed {
  std::string text;
  int stop_index = -1;
};

Passed PushAll(const std::vector<std::string>& stops, const std::vector<std::string>& pieces) {
  Result<StopMatcher> matcher = StopMatcher::Create(stops);
  EXPECT_TRUE(matcher.ok());
  Passed passed;
  for (const std::string& piece : pieces) {
    const StopMatcher::Output output = matcher->Push(piece);
    passed.text += output.text;
    passed.stop_index = output.stop_index;
  }
  passed.text += matcher->Flush();
  return passed;
}

// The text before the stop string that ends first (of those, the longest), by trying all.
Passed Naive(const std::vector<std::string>& stops, const std::string& text) {
  for (size_t end = 1; end <= text.size(); ++end) {
    int best = -1;
    for (size_t i = 0; i < stops.size(); ++i) {
      if (std::string_view(text).substr(0, end).ends_with(stops[i]) &&
          (best < 0 || stops[i].size() > stops[static_cast<size_t>(best)].size())) {
        best = static_cast<int>(i);
      }
    }
    if (best >= 0) return {text.substr(0, end - stops[static_cast<size_t>(best)].size()), best};
  }
  return {text, -1};
}

TEST(StopMatcherTest, WithoutStopStringsEverythingPassesAtOnce) {
  Result<StopMatcher> matcher = StopMatcher::Create({});
  ASSERT_TRUE(matcher.ok());
  EXPECT_EQ(matcher->Push("hello").text, "hello");
  EXPECT_EQ(matcher->Flush(), "");
}

TEST(StopMatcherTest, HoldsBackWhatMayBecomeAStopString) {
  const std::vector<std::string> stops = {"\nUser:"};
  Result<StopMatcher> matcher = StopMatcher::Create(stops);
  ASSERT_TRUE(matcher.ok());
  EXPECT_EQ(matcher->Push("fine\nUs").text, "fine");
  EXPECT_EQ(matcher->Push("ually\nUser").text, "\nUsually");
  const StopMatcher::Output end = matcher->Push(": more");
  EXPECT_EQ(end.text, "");
  EXPECT_EQ(end.stop_index, 0);
  EXPECT_EQ(matcher->Push("after").text, "");
  EXPECT_EQ(matcher->Push("after").stop_index, 0);
  EXPECT_EQ(matcher->Flush(), "");
  matcher->Reset();
  EXPECT_EQ(matcher->Push("again").text, "again");
}

TEST(StopMatcherTest, FlushReturnsWhatWasHeldBack) {
  EXPECT_EQ(PushAll({"<end>"}, {"text <en"}).text, "text <en");
}

TEST(StopMatcherTest, TheStopStringThatEndsFirstWinsThenTheLongest) {
  EXPECT_EQ(PushAll({"abcd", "bc"}, {"xabcd"}).stop_index, 1);
  EXPECT_EQ(PushAll({"abcd", "bc"}, {"xabcd"}).text, "xa");
  EXPECT_EQ(PushAll({"bc", "abc"}, {"xabcd"}).stop_index, 1);
  EXPECT_EQ(PushAll({"bc", "abc"}, {"xabcd"}).text, "x");
}

TEST(StopMatcherTest, EverySplitOfTheTextGivesTheSame) {
  const std::vector<std::string> stops = {"aab", "ba\xC3\xA9", "aaaa"};
  for (const std::string text : {"aaab", "xaabyy", "aaaaa", "bba\xC3\xA9z", "bababa", ""}) {
    const Passed expected = Naive(stops, text);
    for (size_t first = 0; first <= text.size(); ++first) {
      for (size_t second = first; second <= text.size(); ++second) {
        const Passed passed = PushAll(
            stops,
            {text.substr(0, first), text.substr(first, second - first), text.substr(second)});
        EXPECT_EQ(passed.text, expected.text);
        EXPECT_EQ(passed.stop_index, expected.stop_index);
      }
    }
  }
}

TEST(StopMatcherTest, RefusesStopStringsThatCannotWork) {
  const auto message = [](const std::vector<std::string>& stops) {
    const Result<StopMatcher> matcher = StopMatcher::Create(stops);
    EXPECT_FALSE(matcher.ok());
    return matcher.status().message();
  };
  EXPECT_EQ(message({"a", ""}), "stop string 1 is empty: it would stop everything");
  EXPECT_EQ(message({"\xC3"}), "stop string 0 is not valid UTF-8");
  EXPECT_EQ(message({std::string(4097, 'a')}),
            "stop string 0 is too long: at most 4096 bytes, found 4097");
  EXPECT_EQ(message(std::vector<std::string>(257, "a")),
            "too many stop strings: at most 256, found 257");
  const std::vector<std::string> largest(256, std::string(4096, 'a'));
  EXPECT_TRUE(StopMatcher::Create(largest).ok());
}

}  // namespace
}  // namespace skald
