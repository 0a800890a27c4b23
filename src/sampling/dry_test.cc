#include "sampling/dry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "base/exact_math.h"

namespace skald::sampling {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
using Tokens = std::vector<TokenId>;

std::vector<float> Applied(const Dry& dry, const Tokens& prompt, const Tokens& output,
                           std::vector<float> logits) {
  std::vector<int32_t> counts(logits.size());
  ApplyDry(dry, {.prompt = prompt, .output = output, .counts = counts}, logits);
  EXPECT_EQ(counts, std::vector<int32_t>(logits.size())) << "the scratch is not clean";
  return logits;
}

// The definition (numerics 3.9), token by token and length by length.
std::vector<float> Defined(const Dry& dry, const Tokens& prompt, const Tokens& output,
                           std::vector<float> logits) {
  Tokens text = prompt;
  text.insert(text.end(), output.begin(), output.end());
  if (dry.last_n >= 0 && text.size() > static_cast<size_t>(dry.last_n)) {
    text.erase(text.begin(), text.end() - dry.last_n);
  }
  std::vector<int64_t> longest(logits.size());
  const auto size = static_cast<int64_t>(text.size());
  for (int64_t next = 1; next < size; ++next) {
    int64_t n = 0;
    const auto goes_on = [&] {
      const TokenId last = text[static_cast<size_t>(size - 1 - n)];
      return n < std::min(next, kMaxDryRepeat) && text[static_cast<size_t>(next - 1 - n)] == last &&
             std::find(dry.breakers.begin(), dry.breakers.end(), last) == dry.breakers.end();
    };
    while (goes_on()) ++n;
    int64_t& most = longest[static_cast<size_t>(text[static_cast<size_t>(next)])];
    most = std::max(most, n);
  }
  for (size_t token = 0; token < logits.size(); ++token) {
    if (longest[token] < dry.allowed_length || std::isinf(logits[token])) continue;
    const double exponent = std::min(
        static_cast<double>(longest[token] - dry.allowed_length) * ExactLog(dry.base), 60.0);
    logits[token] = static_cast<float>(double{logits[token]} - dry.multiplier * ExactExp(exponent));
  }
  return logits;
}

// The example of the method's author: "... a b c ... a b" makes c less likely.
TEST(Dry, LowersWhatWouldGoOnWithARepetition) {
  const Dry dry = {.multiplier = 0.5, .base = 2};
  EXPECT_EQ(Applied(dry, {1, 2, 3, 0, 1, 2}, {}, {1, 1, 1, 1, 1}),
            (std::vector<float>{1, 1, 1, 0.5f, 1}));
  // One token more, twice the penalty; the longest repetition counts.
  EXPECT_EQ(Applied(dry, {1, 2, 3, 4, 2, 3, 0, 1}, {2, 3}, {1, 1, 1, 1, 1}),
            (std::vector<float>{0.5f, 1, 1, 1, 0}));
  EXPECT_EQ(Applied({.multiplier = 1, .allowed_length = 3}, {1, 2, 3, 0, 1, 2}, {}, {1, 1, 1, 1}),
            (std::vector<float>{1, 1, 1, 1}));
}

TEST(Dry, NoRepetitionReachesOverABreaker) {
  const Tokens text = {7, 1, 2, 3, 0, 7, 1, 2};
  const auto lowered = [&](const Tokens& breakers) {
    return Applied({.multiplier = 1, .base = 2, .breakers = breakers}, text, {},
                   {0, 0, 0, 0, 0, 0, 0, 0})[3];
  };
  EXPECT_EQ(lowered({}), -2);
  EXPECT_EQ(lowered({7}), -1);
  EXPECT_EQ(lowered({0, 1}), 0);
  EXPECT_EQ(lowered({2}), 0);
}

TEST(Dry, KeepsInfinitiesAndStaysFinite) {
  const Dry dry = {.multiplier = 100, .base = 100};
  const Tokens text(2000, 1);
  EXPECT_EQ(Applied(dry, text, {}, {0, kInf}), (std::vector<float>{0, kInf}));
  EXPECT_EQ(Applied(dry, text, {}, {0, -kInf}), (std::vector<float>{0, -kInf}));
  EXPECT_TRUE(std::isfinite(Applied(dry, text, {}, {0, -3e38f})[1]));
  EXPECT_LT(Applied(dry, text, {}, {0, 5})[1], -1e25f);
}

// Few words, so that repetitions are long, overlap, and break off everywhere; some longer than what
// counts.
TEST(Dry, IsWhatIsDefined) {
  std::mt19937 random(1);
  int lowered = 0;
  for (int round = 0; round < 1500; ++round) {
    const size_t vocab = 2 + random() % 4;
    Tokens text(round % 300 == 0 ? 1600 : random() % 60);
    const size_t period = 1 + random() % 12;
    for (size_t i = 0; i < text.size(); ++i) {
      const bool fresh = i < period || random() % 64 == 0;
      text[i] = fresh ? static_cast<TokenId>(random() % vocab) : text[i - period];
    }
    const auto cut = text.begin() + static_cast<int64_t>(random() % (text.size() + 1));
    Dry dry = {.multiplier = 0.8,
               .base = random() % 2 == 0 ? 1.0 : 1.05,
               .allowed_length = static_cast<int32_t>(1 + random() % 4),
               .last_n = random() % 2 == 0 ? -1 : static_cast<int32_t>(random() % 40)};
    if (random() % 3 == 0) dry.breakers = {static_cast<TokenId>(random() % vocab)};
    const std::vector<float> logits(vocab, 1.5f);
    const auto found = Applied(dry, {text.begin(), cut}, {cut, text.end()}, logits);
    lowered += found != logits ? 1 : 0;
    ASSERT_EQ(found, Defined(dry, {text.begin(), cut}, {cut, text.end()}, logits)) << round;
  }
  EXPECT_GT(lowered, 700);
}

}  // namespace
}  // namespace skald::sampling
