#include "text/byte_automaton.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "text/byte_level.h"

namespace skald::text {
namespace {

// After each byte, the longest pattern that ends there, by trying all.
std::vector<int32_t> NaiveMatches(const std::vector<std::string_view>& patterns,
                                  std::string_view text) {
  std::vector<int32_t> matches;
  for (size_t end = 1; end <= text.size(); ++end) {
    int32_t best = ByteAutomaton::kNoPattern;
    for (size_t i = 0; i < patterns.size(); ++i) {
      if (text.substr(0, end).ends_with(patterns[i]) &&
          (best < 0 || patterns[i].size() > patterns[static_cast<size_t>(best)].size())) {
        best = static_cast<int32_t>(i);
      }
    }
    matches.push_back(best);
  }
  return matches;
}

void Check(const std::vector<std::string_view>& patterns, std::string_view text) {
  const ByteAutomaton automaton(patterns);
  std::vector<int32_t> matches;
  ByteAutomaton::State state = ByteAutomaton::kRoot;
  for (const char c : text) {
    state = automaton.Step(state, static_cast<uint8_t>(c));
    matches.push_back(automaton.Match(state));
  }
  EXPECT_EQ(matches, NaiveMatches(patterns, text)) << text;
}

TEST(ByteAutomatonTest, WithoutPatternsStaysInTheRoot) {
  const ByteAutomaton automaton;
  EXPECT_EQ(automaton.Step(ByteAutomaton::kRoot, 'a'), ByteAutomaton::kRoot);
  EXPECT_EQ(automaton.Match(ByteAutomaton::kRoot), ByteAutomaton::kNoPattern);
  EXPECT_EQ(automaton.Depth(ByteAutomaton::kRoot), 0);
}

TEST(ByteAutomatonTest, FindsTheLongestPatternThatEndsAtEachByte) {
  Check({"he", "she", "his", "hers"}, "ushers and his");
  Check({"a", "aa", "aaa"}, "aaaaabaa");
  Check({"abab", "bab", "b"}, "abababab");
  Check({std::string_view("\0\xFF", 2), "\xFF"}, std::string_view("\0\xFF\xFF\0\xFF", 5));
}

TEST(ByteAutomatonTest, DepthIsTheLongestSuffixThatBeginsAPattern) {
  const ByteAutomaton automaton(std::vector<std::string_view>{"abcd", "bce"});
  ByteAutomaton::State state = ByteAutomaton::kRoot;
  std::vector<int32_t> depths;
  for (const char c : std::string("abcebc")) {
    state = automaton.Step(state, static_cast<uint8_t>(c));
    depths.push_back(automaton.Depth(state));
  }
  EXPECT_EQ(depths, (std::vector<int32_t>{1, 2, 3, 3, 1, 2}));
}

TEST(ByteAutomatonTest, OfEqualPatternsTheFirstCounts) {
  const ByteAutomaton automaton(std::vector<std::string_view>{"x", "ab", "ab"});
  ByteAutomaton::State state = automaton.Step(ByteAutomaton::kRoot, 'a');
  state = automaton.Step(state, 'b');
  EXPECT_EQ(automaton.Match(state), 1);
}

TEST(ByteAutomatonTest, EqualsTheNaiveSearchOnRandomPatterns) {
  uint64_t random = 1;
  const auto next = [&random](uint64_t bound) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    return (random >> 33) % bound;
  };
  for (int round = 0; round < 300; ++round) {
    std::vector<std::string> owned(1 + next(6));
    for (std::string& pattern : owned) {
      for (size_t i = 1 + next(5); i > 0; --i) pattern += static_cast<char>('a' + next(2));
    }
    std::vector<std::string_view> patterns;
    for (const std::string& pattern : owned) {
      bool known = false;
      for (const std::string_view other : patterns) known = known || other == pattern;
      if (!known) patterns.push_back(pattern);
    }
    std::string text;
    for (int i = 0; i < 60; ++i) text += static_cast<char>('a' + next(2));
    Check(patterns, text);
  }
}

TEST(ByteLevelTest, EveryByteHasItsOwnCharacterAndBack) {
  for (int byte = 0; byte < 256; ++byte) {
    std::string decoded;
    ASSERT_TRUE(
        AppendByteLevelDecoded(ByteLevelCharacter(static_cast<unsigned char>(byte)), &decoded));
    EXPECT_EQ(decoded, std::string(1, static_cast<char>(byte)));
  }
  EXPECT_EQ(ByteLevelCharacter(' '), "\xC4\xA0");   // U+0120
  EXPECT_EQ(ByteLevelCharacter('\n'), "\xC4\x8A");  // U+010A
  EXPECT_EQ(ByteLevelCharacter('!'), "!");
}

TEST(ByteLevelTest, TextThatSpellsNoBytesIsRefusedWhole) {
  std::string decoded = "before";
  EXPECT_FALSE(AppendByteLevelDecoded("ab c", &decoded));          // a raw space
  EXPECT_FALSE(AppendByteLevelDecoded("\xEF\xBD\x9C", &decoded));  // U+FF5C
  EXPECT_FALSE(AppendByteLevelDecoded("\xC5\x84", &decoded));      // U+0144, one past the last
  EXPECT_FALSE(AppendByteLevelDecoded("a\xFF", &decoded));
  EXPECT_EQ(decoded, "before");
}

}  // namespace
}  // namespace skald::text
