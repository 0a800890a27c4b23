#include "engine/ngram_proposer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace skald::engine {
namespace {

// Letters are tokens.
std::vector<TokenId> Tokens(std::string_view text) { return {text.begin(), text.end()}; }
std::string Text(const std::vector<TokenId>& tokens) { return {tokens.begin(), tokens.end()}; }

class NgramProposerTest : public testing::Test {
 protected:
  // What is guessed behind `text`, which goes on from the last call with the same sequence.
  std::string Guess(std::string_view text, int64_t most, Sequence& sequence) {
    sequence.tokens = Tokens(text);
    std::vector<TokenId> guess;
    const DraftWish wish = {.sequence = &sequence, .most = most, .tokens = &guess};
    proposer_.Propose({&wish, 1}, 0);
    return Text(guess);
  }
  std::string Guess(std::string_view text, int64_t most) { return Guess(text, most, sequence_); }

  kv::PagePool pool_{0};
  Sequence sequence_{nullptr, 0, kv::PageTable(&pool_, 0)};
  Sequence other_{nullptr, 0, kv::PageTable(&pool_, 0)};
  NgramProposer proposer_;
};

TEST_F(NgramProposerTest, GuessesWhatFollowedTheLastTokensBefore) {
  EXPECT_EQ(Guess("the cat sat. the c", 6), "at sat");
}

TEST_F(NgramProposerTest, HasNoGuessWithoutARepetition) {
  EXPECT_EQ(Guess("", 4), "");
  EXPECT_EQ(Guess("a", 4), "");
  EXPECT_EQ(Guess("aa", 4), "");
  EXPECT_EQ(Guess("abcdef", 4), "");
}

TEST_F(NgramProposerTest, TheLongerRepetitionCountsBeforeTheLater) {
  // "he" came last before "r", "the " before "cat".
  EXPECT_EQ(Guess("the cat, e rat the ", 3), "cat");
  EXPECT_EQ(Guess("the cat, e rat he ", 3, other_), "rat");
}

TEST_F(NgramProposerTest, TheLatestOfEqualRepetitionsCounts) {
  EXPECT_EQ(Guess("ab1 ab2 ab", 1), "2");
}

TEST_F(NgramProposerTest, ARoundTextGoesOnRoundAndRound) {
  EXPECT_EQ(Guess("xyzxyz", 7), "xyzxyzx");
  EXPECT_EQ(Guess("zzz", 5, other_), "zzzzz");
}

TEST_F(NgramProposerTest, LearnsAsTheTextGrows) {
  EXPECT_EQ(Guess("ab", 2), "");
  EXPECT_EQ(Guess("abcd", 2), "");
  EXPECT_EQ(Guess("abcdab", 2), "cd");
}

TEST_F(NgramProposerTest, SequencesHaveIndicesOfTheirOwnWhichAreUsedAgain) {
  EXPECT_EQ(Guess("abcab", 1), "c");
  EXPECT_EQ(Guess("xbab", 1, other_), "");
  proposer_.Forget(sequence_);
  EXPECT_EQ(Guess("12", 1), "");
  EXPECT_EQ(Guess("12ab", 1), "");
  EXPECT_EQ(Guess("12ab12", 1), "a");
}

// Whatever it forgets, what it says has followed the same tokens before.
TEST_F(NgramProposerTest, LongTextsNeverGiveAGuessThatDidNotFollow) {
  std::vector<TokenId> text;
  uint32_t state = 1;
  int64_t guesses = 0;
  for (int i = 0; i < 40000; ++i) {
    state = state * 1664525 + 1013904223;
    text.push_back(static_cast<TokenId>((state >> 16) % 200));
    sequence_.tokens = text;
    if (i % 16 != 0) continue;
    std::vector<TokenId> guess;
    const DraftWish wish = {.sequence = &sequence_, .most = 1, .tokens = &guess};
    proposer_.Propose({&wish, 1}, 0);
    if (guess.empty()) continue;
    ++guesses;
    bool found = false;
    for (size_t at = 2; at < text.size() && !found; ++at) {
      found = text[at] == guess[0] && text[at - 1] == text.back() &&
              text[at - 2] == text[text.size() - 2];
    }
    EXPECT_TRUE(found) << "at " << i;
  }
  EXPECT_GT(guesses, 100);
}

}  // namespace
}  // namespace skald::engine
