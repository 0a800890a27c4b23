// Whatever guesses a draft makes, the tokens that come out have the target's distribution, and the
// rule keeps as many guesses as it can: chi-square tests on small vocabularies, and the proof that
// they would see a rule that is slightly wrong.
#include "sampling/rejection.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "sampling/chi_square.h"

namespace skald::sampling {
namespace {

constexpr int kVocab = 12;
constexpr int kDraws = 100'000;
const Weighing kPlain = {};

RandomKey KeyAt(int position) {
  return {.seed = 3, .sequence = 1, .position = static_cast<uint64_t>(position)};
}

// A distribution as a sampler has it before the draw.
std::vector<Candidate> Candidates(const std::vector<float>& logits) {
  std::vector<Candidate> candidates;
  for (size_t token = 0; token < logits.size(); ++token) {
    if (std::isinf(logits[token])) continue;
    candidates.push_back({.logit = logits[token], .token = static_cast<TokenId>(token)});
  }
  Weigh(candidates, kPlain);
  return candidates;
}

Distribution Shares(const std::vector<Candidate>& candidates) {
  Distribution shares(kVocab);
  long double total = 0;
  for (const Candidate& candidate : candidates) total += static_cast<long double>(candidate.mass);
  for (const Candidate& candidate : candidates) {
    shares[static_cast<size_t>(candidate.token)] = static_cast<long double>(candidate.mass) / total;
  }
  return shares;
}

constexpr float kNever = -INFINITY;

// Two that differ in shape, in what they leave out, and in what they like best.
std::vector<Candidate> Target() {
  return Candidates({1, 2, kNever, 0.5f, 3, 2.5f, kNever, 1.5f, 0, -1, 2, 1});
}
std::vector<Candidate> Draft() {
  return Candidates({2, 2, 1, 0, 2, 3.5f, kNever, kNever, 1, -1, 0, 1});
}

// How a token comes about, given a target and a guess; `Rule` below is the right one.
using Rule = std::function<TokenId(std::vector<Candidate> target, const Guess&, const RandomKey&)>;

TokenId RightRule(std::vector<Candidate> target, const Guess& guess, const RandomKey& key) {
  return KeepOrRedraw(target, kPlain, guess, key);
}

struct Tally {
  std::vector<int> counts = std::vector<int>(kVocab);
  int kept = 0;
};

// Guesses drawn from `draft`, with the numbers of their positions.
Tally DrawMany(const Rule& rule, const std::vector<Candidate>& target,
               const std::vector<Candidate>& draft) {
  Tally tally;
  for (int i = 0; i < kDraws; ++i) {
    std::vector<Candidate> chances = draft;
    const Guess guess = {.token = Draw(chances, kPlain, KeyAt(i)), .chances = chances};
    const TokenId token = rule(target, guess, KeyAt(i));
    ++tally.counts[static_cast<size_t>(token)];
    tally.kept += int{token == guess.token};
  }
  return tally;
}

TEST(Rejection, TokensHaveTheDistributionOfTheTarget) {
  const Tally tally = DrawMany(RightRule, Target(), Draft());
  EXPECT_TRUE(LooksLike(tally.counts, Shares(Target())));
  EXPECT_FALSE(LooksLike(tally.counts, Shares(Draft())));
}

// As often as any rule can: the probability that both have in common.
TEST(Rejection, GuessesAreKeptAsOftenAsPossible) {
  const Distribution p = Shares(Target());
  const Distribution q = Shares(Draft());
  double common = 0;
  for (size_t i = 0; i < kVocab; ++i) common += static_cast<double>(std::min(p[i], q[i]));
  const int kept = DrawMany(RightRule, Target(), Draft()).kept;
  EXPECT_GT(common, 0.5);
  EXPECT_LT(common, 0.8);
  EXPECT_NEAR(kept, kDraws * common, 5 * std::sqrt(kDraws * common * (1 - common)));
}

TEST(Rejection, ACertainGuessIsKeptAsOftenAsTheTargetHasIt) {
  const Distribution p = Shares(Target());
  for (const TokenId guessed : {4, 9, 2}) {
    Tally tally;
    for (int i = 0; i < kDraws; ++i) {
      const TokenId token = RightRule(Target(), {.token = guessed}, KeyAt(i));
      ++tally.counts[static_cast<size_t>(token)];
    }
    EXPECT_TRUE(LooksLike(tally.counts, p)) << guessed;
  }
}

TEST(Rejection, ADraftLikeTheTargetIsAlwaysRight) {
  EXPECT_EQ(DrawMany(RightRule, Target(), Target()).kept, kDraws);
}

TEST(Rejection, TheOrderOfCandidatesDoesNotMatter) {
  std::vector<Candidate> reversed = Target();
  std::reverse(reversed.begin(), reversed.end());
  for (int i = 0; i < 1000; ++i) {
    std::vector<Candidate> chances = Draft();
    const Guess guess = {.token = Draw(chances, kPlain, KeyAt(i)), .chances = chances};
    EXPECT_EQ(RightRule(Target(), guess, KeyAt(i)), RightRule(reversed, guess, KeyAt(i)));
  }
}

TEST(Rejection, AnOnlyCandidateReplacesEveryOtherGuess) {
  const std::vector<Candidate> only = {{.logit = 1, .token = 7}};
  EXPECT_EQ(RightRule(only, {.token = 7}, KeyAt(0)), 7);
  EXPECT_EQ(RightRule(only, {.token = 5}, KeyAt(0)), 7);
}

// Each of these is a mistake that has been made elsewhere.
TEST(Rejection, TheTestSeesRulesThatAreSlightlyWrong) {
  const std::vector<std::pair<const char*, Rule>> mistakes = {
      {"redraws from p",
       [](std::vector<Candidate> target, const Guess& guess, const RandomKey& key) {
         if (RightRule(target, guess, key) == guess.token) return guess.token;
         return Draw(target, kPlain, KeyAt(static_cast<int>(key.position) + kDraws));
       }},
      {"redraws from p without the guess",
       [](std::vector<Candidate> target, const Guess& guess, const RandomKey& key) {
         if (RightRule(target, guess, key) == guess.token) return guess.token;
         std::erase_if(target, [&](const Candidate& each) { return each.token == guess.token; });
         return Draw(target, kPlain, KeyAt(static_cast<int>(key.position) + kDraws));
       }},
      {"redraws with the numbers of the guess",
       [](std::vector<Candidate> target, const Guess& guess, RandomKey key) {
         key.sequence -= kRedrawStream;
         return RightRule(std::move(target), guess, key);
       }},
      {"keeps with a number of the guess",
       [](std::vector<Candidate> target, const Guess& guess, RandomKey key) {
         key.sequence -= kKeepStream;
         return RightRule(std::move(target), guess, key);
       }},
      {"keeps two guesses in a hundred too many",
       [](std::vector<Candidate> target, const Guess& guess, const RandomKey& key) {
         if (key.position % 50 == 0) return guess.token;
         return RightRule(std::move(target), guess, key);
       }},
  };
  for (const auto& [name, rule] : mistakes) {
    EXPECT_FALSE(LooksLike(DrawMany(rule, Target(), Draft()).counts, Shares(Target()))) << name;
  }
}

}  // namespace
}  // namespace skald::sampling
