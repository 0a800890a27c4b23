#include "cli/proof_report.h"

#include <gtest/gtest.h>

namespace skald::cli {
namespace {

ProofReport TwoRuns() {
  const std::string hash = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
  const ProofRow first = {.name = "scalar",
                          .note = "",
                          .ran = true,
                          .tokens_sha256 = hash,
                          .logits_sha256 = hash,
                          .seconds = 0.25};
  ProofRow second = first;
  second.name = "avx2";
  return {.model = "tales",
          .prompt_tokens = 9,
          .answer_tokens = 3,
          .seed = 7,
          .rows = {first, second, {.name = "amx", .note = "this CPU lacks it"}}};
}

TEST(ProofReport, HasALineForEachRun) {
  const ProofReport report = TwoRuns();
  EXPECT_EQ(ProofLine(report.rows[1]),
            "avx2           0123456789abcdef  0123456789abcdef   250 ms\n");
  EXPECT_EQ(ProofLine(report.rows[2]),
            "amx            not run                                      this CPU lacks it\n");
  EXPECT_EQ(ProofVerdict(report),
            "2 runs, the same bits: prompt of 9 tokens, answer of 3, seed 7\n");
  EXPECT_EQ(CountDifferent(report), 0);
}

TEST(ProofReport, NamesTheFirstDifferentLogit) {
  ProofReport report = TwoRuns();
  report.rows[1].difference = ProofDifference{.row = 2,
                                              .token = 5,
                                              .expected = 1.5f,
                                              .found = -0.0f,
                                              .expected_token = 5,
                                              .found_token = 6};
  EXPECT_EQ(ProofLine(report.rows[1]),
            "avx2           0123456789abcdef  0123456789abcdef   250 ms  DIFFERS\n");
  EXPECT_EQ(ProofVerdict(report),
            "avx2: first different at token 2 of the answer: logit of token id 5 is -0 "
            "(0x80000000), expected 1.5 (0x3fc00000); drawn 6, expected 5\n");
  EXPECT_EQ(CountDifferent(report), 1);
  EXPECT_NE(ProofJson(report).find(
                R"("difference":{"row":2,"token":5,"expected":1.5,"found":-0,"expected_token":5,)"),
            std::string::npos)
      << ProofJson(report);
}

// A sampler that draws otherwise from the same logits.
TEST(ProofReport, NamesAnAnswerThatEndsEarlier) {
  ProofReport report = TwoRuns();
  report.rows[1].difference = ProofDifference{.row = 1, .expected_token = 4};
  EXPECT_EQ(ProofVerdict(report),
            "avx2: first different at token 1 of the answer; drawn the end, expected 4\n");
}

}  // namespace
}  // namespace skald::cli
