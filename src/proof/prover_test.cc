#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "proof/row_recorder.h"
#include "skald/proof.h"

namespace skald {
namespace {

const Model& Tales() {
  static const Model model =
      *LoadModel({.path = SKALD_SOURCE_DIR "/models/tales/tales.gguf", .threads = 1});
  return model;
}

ProofQuestion SmallQuestion() {
  // More than a page, so that one who needs all pages does not fit beside it.
  std::string text;
  for (int i = 0; i < 4; ++i)
    text += "Once upon a time a fox went down to the sea to look for the moon. ";
  return {.prompt = *Tales().tokenizer().Encode(text),
          .sampling = {.seed = 5},
          .max_tokens = 6,
          .threads = 1,
          .load = {.path = Tales().info().path, .threads = 1}};
}

const ProofCase& CaseOf(const std::vector<ProofCase>& cases, ProofSetting setting) {
  return *std::find_if(cases.begin(), cases.end(),
                       [&](const ProofCase& way) { return way.setting == setting; });
}

TEST(Prover, FindsTheSameBitsOnEveryWay) {
  const ProofQuestion question = SmallQuestion();
  Prover prover = *Prover::Create(Tales(), question);
  const std::vector<ProofCase> cases = ProofCases(Tales(), question);
  std::string logits;
  for (const ProofCase& way : cases) {
    const ProofRow row = *prover.Run(way);
    EXPECT_EQ(row.ran, way.not_run.empty()) << row.name;
    if (!row.ran) continue;
    if (logits.empty()) logits = row.logits_sha256;
    EXPECT_EQ(row.logits_sha256, logits) << row.name;
    EXPECT_FALSE(row.difference.has_value()) << row.name;
  }
  EXPECT_EQ(prover.answer().size(), 6u);
}

// Else the table would say of runs what did not happen in them.
TEST(Prover, GoesTheWaysThatItNames) {
  ProofQuestion question = SmallQuestion();
  question.max_tokens = 24;  // more than are drawn before somebody who reads none is paused
  Prover prover = *Prover::Create(Tales(), question);
  const std::vector<ProofCase> cases = ProofCases(Tales(), question);
  const auto note = [&](ProofSetting setting) { return prover.Run(CaseOf(cases, setting))->note; };
  EXPECT_EQ(note(ProofSetting::kPreempted), "gave its pages away, times: 1");
  const std::string all = std::to_string(question.prompt.size());
  EXPECT_EQ(note(ProofSetting::kCached), std::to_string(question.prompt.size() - 1) + " of " + all +
                                             " prompt tokens from the cache");
  const std::string guesses = note(ProofSetting::kSpeculative);
  EXPECT_TRUE(guesses.ends_with(" guesses kept") && guesses.front() != '0') << guesses;
  EXPECT_EQ(note(ProofSetting::kCrowded), "8 others in the same steps");
}

TEST(Prover, TakesAPromptOfOneToken) {
  ProofQuestion question = SmallQuestion();
  question.prompt = {0};
  Prover prover = *Prover::Create(Tales(), question);
  const std::vector<ProofCase> cases = ProofCases(Tales(), question);
  ASSERT_TRUE(prover.Run(cases.back()).ok());
  const ProofRow row = *prover.Run(CaseOf(cases, ProofSetting::kCrowded));
  EXPECT_TRUE(row.ran && !row.difference.has_value());
}

TEST(Prover, ShowsThePlantedDifference) {
  const ProofQuestion question = SmallQuestion();
  Prover prover = *Prover::Create(Tales(), question);
  ASSERT_FALSE(prover.Run(ProofCases(Tales(), question).back())->difference.has_value());
  const ProofRow row = *prover.Run(PlantedFault(question));
  ASSERT_TRUE(row.difference.has_value());
  EXPECT_EQ(row.difference->row, 0);
  EXPECT_NE(row.difference->token, kNoToken);
  EXPECT_NE(row.difference->expected, row.difference->found);
  EXPECT_NEAR(row.difference->expected, row.difference->found, 0.1);
}

TEST(Prover, RefusesWhatHasNoAnswer) {
  ProofQuestion question = SmallQuestion();
  question.max_tokens = kMaxProofTokens + 1;
  EXPECT_EQ(Prover::Create(Tales(), question).status().message(),
            "the answer has 257 tokens, expected 1 to 256");
  question.prompt.clear();
  EXPECT_EQ(Prover::Create(Tales(), question).status().message(), "the prompt is empty");
}

TEST(RowRecorder, FindsTheFirstBitThatDiffers) {
  proof::RowRecorder first(nullptr);
  first.See(0, std::vector<float>{1, 2});
  first.See(1, std::vector<float>{0, 4});
  const proof::AnswerBits bits = first.TakeBits({7, 8});
  proof::RowRecorder other(&bits);
  other.See(0, std::vector<float>{1, 2});
  other.See(1, std::vector<float>{-0.0f, 5});
  const std::optional<ProofDifference> at = other.Difference(std::vector<TokenId>{7, 9});
  ASSERT_TRUE(at.has_value());
  EXPECT_EQ(at->row, 1);
  EXPECT_EQ(at->token, 0);
  EXPECT_TRUE(std::signbit(at->found) && !std::signbit(at->expected));
  EXPECT_EQ(at->expected_token, 8);
  EXPECT_EQ(at->found_token, 9);
}

TEST(RowRecorder, FindsTokensThatDifferFromTheSameLogits) {
  proof::RowRecorder first(nullptr);
  first.See(0, std::vector<float>{1, 2});
  const proof::AnswerBits bits = first.TakeBits({7});
  proof::RowRecorder other(&bits);
  other.See(0, std::vector<float>{1, 2});
  EXPECT_FALSE(other.Difference(std::vector<TokenId>{7}).has_value());
  EXPECT_EQ(other.Difference(std::vector<TokenId>{6})->found_token, 6);
  EXPECT_EQ(other.Difference(std::vector<TokenId>{7, 7})->row, 1);
  EXPECT_EQ(other.Difference(std::vector<TokenId>{})->found_token, kNoToken);
}

}  // namespace
}  // namespace skald
