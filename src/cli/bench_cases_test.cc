#include "cli/bench_cases.h"

#include <gtest/gtest.h>

namespace skald::cli {
namespace {

std::vector<std::string> Names(const std::vector<BenchCase>& cases) {
  std::vector<std::string> names;
  for (const BenchCase& bench_case : cases) names.push_back(CaseName(bench_case));
  return names;
}

TEST(CasesOf, DefaultsAreOnePrefillAndOneDecode) {
  EXPECT_EQ(Names(CasesOf({})), (std::vector<std::string>{"pp512", "tg128"}));
}

TEST(CasesOf, BatchesMultiplyDecodesOnly) {
  const auto cases = CasesOf(
      {.prompt_tokens = {16, 32}, .decode_tokens = {4}, .batches = {1, 8}, .depths = {0, 100}});
  EXPECT_EQ(Names(cases), (std::vector<std::string>{"pp16", "pp32", "tg4", "tg4 b8", "pp16 @ d100",
                                                    "pp32 @ d100", "tg4 @ d100", "tg4 b8 @ d100"}));
}

TEST(CasesOf, ZeroLengthsGiveNoCase) {
  EXPECT_EQ(Names(CasesOf({.prompt_tokens = {0}})), (std::vector<std::string>{"tg128"}));
  EXPECT_EQ(Names(CasesOf({.decode_tokens = {0}})), (std::vector<std::string>{"pp512"}));
  EXPECT_TRUE(CasesOf({.prompt_tokens = {0}, .decode_tokens = {0}}).empty());
}

TEST(LimitsOf, CoverTheLargestCase) {
  const BenchLimits limits = LimitsOf(CasesOf(
      {.prompt_tokens = {16}, .decode_tokens = {4}, .batches = {1, 8, 2}, .depths = {0, 100}}));
  EXPECT_EQ(limits.batch, 8);
  EXPECT_EQ(limits.positions, 116);
}

TEST(TokensOf, CountsEverySequence) {
  EXPECT_EQ(TokensOf({.prompt_tokens = 512, .depth = 3072}), 512);
  EXPECT_EQ(TokensOf({.decode_tokens = 128, .batch = 8}), 1024);
}

TEST(SpreadOf, TakesTheMiddleOfSortedSamples) {
  const Spread one = SpreadOf({7});
  EXPECT_EQ(one.median, 7);
  EXPECT_EQ(one.min, 7);
  EXPECT_EQ(one.max, 7);
  const Spread odd = SpreadOf({3, 100, 1});
  EXPECT_EQ(odd.median, 3);
  EXPECT_EQ(odd.min, 1);
  EXPECT_EQ(odd.max, 100);
  EXPECT_EQ(SpreadOf({4, 1, 2, 8}).median, 3);
}

}  // namespace
}  // namespace skald::cli
