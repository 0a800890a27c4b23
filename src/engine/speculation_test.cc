// Speculation through the public engine: the same tokens, in fewer passes.

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "skald/engine.h"
#include "skald/model.h"

namespace skald {
namespace {

class SpeculationTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    Result<Model> model =
        LoadModel({.path = std::string(SKALD_SOURCE_DIR) + "/models/tales/tales.gguf"});
    ASSERT_TRUE(model.ok()) << model.status().message();
    model_ = std::make_unique<Model>(*std::move(model));
  }
  static void TearDownTestSuite() { model_.reset(); }

  static Request Ask(int64_t max_tokens) {
    Request request{.prompt = *model_->tokenizer().Encode("Once upon a time there was a fox.")};
    request.sampling.seed = 4;
    request.stop = {.max_tokens = max_tokens, .ignore_eos = true};
    return request;
  }

  // The answer of an engine with these options, and what its statistics say.
  struct Answer {
    Completion completion;
    EngineStats stats;
  };
  static Answer Run(const SpeculationOptions& speculation, const Request& request) {
    Result<Engine> engine =
        Engine::Create(*model_, {.context = 256, .threads = 2, .speculation = speculation});
    EXPECT_TRUE(engine.ok()) << engine.status().message();
    Result<Completion> done = engine->Generate(request, [](const TokenEvent&) { return true; });
    EXPECT_TRUE(done.ok());
    // Statistics are those of the last step.
    EngineStats stats = engine->Stats();
    while (stats.finished == EngineStats().finished) stats = engine->Stats();
    return {*std::move(done), stats};
  }

  static std::unique_ptr<Model> model_;
};
std::unique_ptr<Model> SpeculationTest::model_;

TEST_F(SpeculationTest, TheAnswerDoesNotDependOnWhoGuesses) {
  for (const double temperature : {0.0, 0.8}) {
    Request request = Ask(120);
    request.sampling.temperature = temperature;
    request.sampling.penalties = {.repetition = 1.1};
    request.n = 3;
    const Answer alone = Run({}, request);
    EXPECT_EQ(alone.stats.draft_tokens, 0);
    for (const Speculation kind : {Speculation::kNgram, Speculation::kDraft, Speculation::kChain}) {
      const Answer answer =
          Run({.kind = kind, .draft = *model_, .max_draft = 5, .min_draft = 3}, request);
      EXPECT_EQ(answer.completion.tokens, alone.completion.tokens);
      for (size_t i = 0; i < 2; ++i) {
        EXPECT_EQ(answer.completion.others[i].tokens, alone.completion.others[i].tokens);
      }
      EXPECT_GT(answer.stats.draft_tokens, 0);
      // N-grams may know nothing of a text that never repeats itself.
      EXPECT_LE(answer.stats.passes, alone.stats.passes - (kind == Speculation::kNgram ? 0 : 1));
    }
  }
}

// The draft has the same weights, random numbers and rules: it is always right.
TEST_F(SpeculationTest, AModelThatDraftsForItselfIsAlwaysRight) {
  const Answer answer = Run(
      {.kind = Speculation::kDraft, .draft = *model_, .max_draft = 4, .min_draft = 4}, Ask(101));
  EXPECT_EQ(answer.stats.draft_tokens_accepted, answer.stats.draft_tokens);
  // One token of the prompt's pass, then five a pass.
  EXPECT_EQ(answer.stats.passes, 21);
  EXPECT_EQ(answer.stats.output_tokens, 101);
}

TEST_F(SpeculationTest, ARequestCanDoWithoutOrWithFewer) {
  const SpeculationOptions four = {
      .kind = Speculation::kDraft, .draft = *model_, .max_draft = 4, .min_draft = 4};
  Request request = Ask(41);
  request.max_draft = 0;
  EXPECT_EQ(Run(four, request).stats.draft_tokens, 0);
  request.max_draft = 1;
  EXPECT_EQ(Run(four, request).stats.passes, 21);
}

TEST_F(SpeculationTest, StopTokensEndTheTextInsideADraft) {
  Request request = Ask(60);
  const Answer alone = Run({}, request);
  request.stop.stop_tokens = {alone.completion.tokens[20]};
  const auto expected = Run({}, request).completion.tokens;
  const Answer answer =
      Run({.kind = Speculation::kDraft, .draft = *model_, .max_draft = 8, .min_draft = 8}, request);
  EXPECT_EQ(answer.completion.tokens, expected);
  EXPECT_EQ(FinishReasonName(answer.completion.reason), "stop");
}

TEST_F(SpeculationTest, MistakesAreNamed) {
  const auto refused = [](const SpeculationOptions& speculation) {
    const Result<Engine> engine = Engine::Create(*model_, {.speculation = speculation});
    return engine.ok() ? std::string("accepted") : engine.status().message();
  };
  EXPECT_EQ(refused({.kind = Speculation::kDraft}),
            "speculation with a draft model needs one, found none");
  EXPECT_EQ(refused({.kind = Speculation::kNgram, .max_draft = 0}),
            "max draft is 0, expected 1 to 64");
  EXPECT_EQ(refused({.kind = Speculation::kNgram, .max_draft = 4, .min_draft = 5}),
            "min draft is 5, expected 0 to 4");
}

// What speculation brings the model that comes with the source: drafts of a fixed length, so that
// the number of passes is the same everywhere. docs/performance.md has more figures.
TEST_F(SpeculationTest, WithItsDraftTheBundledModelTakesAThirdOfThePasses) {
  const Result<Model> draft =
      LoadModel({.path = std::string(SKALD_SOURCE_DIR) + "/models/tales/tales-draft.gguf"});
  ASSERT_TRUE(draft.ok()) << draft.status().message();
  for (const auto rule : {SpeculationRule::kExact, SpeculationRule::kRejection}) {
    int64_t tokens = 0;
    int64_t passes = 0;
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      Request request = Ask(200);
      request.sampling.temperature = 0.8;
      request.sampling.seed = seed;
      request.stop.ignore_eos = false;
      const Answer answer = Run({.kind = Speculation::kDraft,
                                 .rule = rule,
                                 .draft = *draft,
                                 .max_draft = 4,
                                 .min_draft = 4},
                                request);
      tokens += answer.stats.output_tokens;
      passes += answer.stats.passes;
    }
    EXPECT_GE(tokens, 3 * passes);
    EXPECT_GT(tokens, 300);
  }
}

TEST_F(SpeculationTest, ADraftOfAnotherVocabularyIsRefused) {
  const Result<Model> other = LoadModel({.path = SKALD_GOLDEN_MODELS "/qwen2.gguf"});
  ASSERT_TRUE(other.ok()) << other.status().message();
  const Result<Engine> engine =
      Engine::Create(*model_, {.speculation = {.kind = Speculation::kDraft, .draft = *other}});
  ASSERT_FALSE(engine.ok());
  EXPECT_NE(engine.status().message().find("the vocabulary of the model"), std::string::npos);
}

// The bytes of a token can be the same, and its meaning another.
TEST_F(SpeculationTest, ADraftWhoseTokensAreOfAnotherTypeIsRefused) {
  std::ifstream file(std::string(SKALD_SOURCE_DIR) + "/models/tales/tales-draft.gguf",
                     std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const std::string key = "tokenizer.ggml.token_type";
  const size_t at = bytes.find(key);
  ASSERT_NE(at, std::string::npos);
  // Behind the key: its type, that of the elements, their number; then four bytes for each.
  constexpr size_t kToken = 300;
  char& type = bytes[at + key.size() + 4 + 4 + 8 + 4 * kToken];
  ASSERT_EQ(type, 1);  // normal
  type = 4;            // defined by the user
  const std::string path = testing::TempDir() + "another-type.gguf";
  std::ofstream(path, std::ios::binary) << bytes;
  const Result<Model> other = LoadModel({.path = path});
  std::remove(path.c_str());
  ASSERT_TRUE(other.ok()) << other.status().message();
  const Result<Engine> engine =
      Engine::Create(*model_, {.speculation = {.kind = Speculation::kDraft, .draft = *other}});
  ASSERT_FALSE(engine.ok());
  EXPECT_NE(engine.status().message().find("its token 300 is"), std::string::npos)
      << engine.status().message();
}

}  // namespace
}  // namespace skald
