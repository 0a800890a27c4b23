// Log probabilities of prompts: those that decode gives for the same tokens, to the last bit.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "skald/engine.h"
#include "skald/model.h"
#include "skald/transcript.h"

namespace skald {
namespace {

constexpr int32_t kTop = 4;

bool Continue(const TokenEvent&) { return true; }

class PromptLogprobsTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    Result<Model> model =
        LoadModel({.path = std::string(SKALD_GOLDEN_MODELS "/") + GetParam() + ".gguf"});
    ASSERT_TRUE(model.ok()) << model.status().message();
    model_ = std::make_unique<Model>(*std::move(model));
  }

  Engine Make(EngineOptions options) const {
    options.context = 64;
    options.threads = options.threads > 0 ? options.threads : 1;
    Result<Engine> engine = Engine::Create(*model_, options);
    EXPECT_TRUE(engine.ok()) << engine.status().message();
    return *std::move(engine);
  }

  static Transcript Run(Engine& engine, Request request) {
    Transcript answer(request);
    const auto events = std::make_shared<EventQueue>();
    const Result<RequestId> id = engine.Submit(std::move(request), events);
    EXPECT_TRUE(id.ok()) << id.status().message();
    while (!answer.end) answer.Add(events->Next());
    return answer;
  }

  // Five tokens, and what the model writes behind them.
  Transcript Written() const {
    Engine engine = Make({.max_chunk = 1});
    Request request{.prompt = {5, 9, 3, 11, 7}, .sampling = {.temperature = 0}};
    request.sampling.top_logprobs = kTop;
    request.stop = {.max_tokens = 20, .ignore_eos = true};
    return Run(engine, std::move(request));
  }

  static Request Scored(const std::vector<TokenId>& output) {
    Request request{.prompt = {5, 9, 3, 11, 7}, .prompt_logprobs = kTop};
    request.prompt.insert(request.prompt.end(), output.begin(), output.end());
    request.stop.max_tokens = 0;
    return request;
  }

  std::unique_ptr<Model> model_;
};

void ExpectSame(const skald::PromptLogprobs& scored, const TranscriptSequence& written) {
  const size_t first = scored.tokens.size() - written.tokens.size();
  for (size_t i = 0; i < written.tokens.size(); ++i) {
    EXPECT_EQ(scored.tokens[first + i].logprob, written.logprobs[i]) << i;
    EXPECT_EQ(scored.tokens[first + i].rank, 1) << i;  // the likeliest was taken
    const auto top = scored.TopOf(first + i);
    ASSERT_EQ(top.size(), written.top[i].size());
    for (size_t k = 0; k < top.size(); ++k) {
      EXPECT_EQ(top[k].token, written.top[i][k].token);
      EXPECT_EQ(top[k].logprob, written.top[i][k].logprob);
    }
  }
}

TEST_P(PromptLogprobsTest, AreThoseOfDecodeHoweverThePromptIsCut) {
  const Transcript written = Written();
  const std::vector<TokenId>& output = written.best().tokens;
  for (const EngineOptions& options :
       {EngineOptions{}, EngineOptions{.max_chunk = 3, .max_running = 1},
        EngineOptions{.max_chunk = 7, .threads = 2, .max_running = 2}}) {
    Engine engine = Make(options);
    for (int turn = 0; turn < 2; ++turn) {  // the second time K and V are cached
      const Transcript scored = Run(engine, Scored(output));
      ASSERT_NE(scored.prompt_logprobs, nullptr);
      ASSERT_EQ(scored.prompt_logprobs->tokens.size(), output.size() + 4);
      ExpectSame(*scored.prompt_logprobs, written.best());
      EXPECT_EQ(scored.cached_tokens, 0) << "the cache has no logits";
      EXPECT_EQ(scored.output_tokens, 0);
      EXPECT_EQ(scored.end->reason, FinishReason::kLength);
    }
  }
}

// Of a network that was split the head has its rows in all ranks, and the first has the logits.
TEST_P(PromptLogprobsTest, AreTheSameOfTwoRanks) {
  const Transcript written = Written();
  Result<Model> split =
      LoadModel({.path = std::string(SKALD_GOLDEN_MODELS "/") + GetParam() + ".gguf", .ranks = 2});
  ASSERT_TRUE(split.ok()) << split.status().message();
  *model_ = *std::move(split);
  for (const int64_t chunk : {3, 64}) {
    Engine engine = Make({.max_chunk = chunk, .max_running = 2});
    Request request = Scored(written.best().tokens);
    request.stop = {.max_tokens = 2, .ignore_eos = true};
    const Transcript scored = Run(engine, std::move(request));
    ASSERT_NE(scored.prompt_logprobs, nullptr);
    ExpectSame(*scored.prompt_logprobs, written.best());
    EXPECT_EQ(scored.best().tokens.size(), 2u);
  }
}

TEST_P(PromptLogprobsTest, ChangeNoTokenOfTheAnswer) {
  Engine engine = Make({.max_chunk = 4});
  Request request{.prompt = {5, 9, 3, 11, 7}, .n = 2};
  request.stop = {.max_tokens = 8, .ignore_eos = true};
  const Transcript plain = Run(engine, request);
  request.prompt_logprobs = 0;
  const Transcript scored = Run(engine, request);
  for (size_t i = 0; i < 2; ++i)
    EXPECT_EQ(scored.sequences[i].tokens, plain.sequences[i].tokens) << i;
  ASSERT_NE(scored.prompt_logprobs, nullptr);
  EXPECT_EQ(scored.prompt_logprobs->tokens.size(), 4u);
  EXPECT_TRUE(scored.prompt_logprobs->top.empty());
  // Behind it others find what it computed.
  request.prompt_logprobs = {};
  EXPECT_EQ(Run(engine, request).cached_tokens, 4);
}

TEST_P(PromptLogprobsTest, OfOneTokenAreNone) {
  Engine engine = Make({});
  Request request{.prompt = {5}, .prompt_logprobs = 2};
  request.stop = {.max_tokens = 2, .ignore_eos = true};
  const Result<Completion> done = engine.Generate(request, Continue);
  ASSERT_TRUE(done.ok()) << done.status().message();
  ASSERT_NE(done->prompt_logprobs, nullptr);
  EXPECT_TRUE(done->prompt_logprobs->tokens.empty());
  EXPECT_EQ(done->tokens.size(), 2u);
}

INSTANTIATE_TEST_SUITE_P(Golden, PromptLogprobsTest, testing::Values("llama", "qwen3moe"),
                         [](const auto& instance) { return std::string(instance.param); });

}  // namespace
}  // namespace skald
