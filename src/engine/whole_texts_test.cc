// The engine with a model that reads a text both ways: it embeds texts whole, and nothing of one is
// of use to another.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "skald/engine.h"
#include "skald/logits.h"
#include "skald/model.h"
#include "skald/transcript.h"
#include "support/soon.h"

namespace skald {
namespace {

class WholeTexts : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    Result<Model> model = LoadModel({.path = SKALD_GOLDEN_MODELS "/bert.gguf"});
    ASSERT_TRUE(model.ok()) << model.status().message();
    model_ = std::make_unique<Model>(*std::move(model));
  }
  static void TearDownTestSuite() { model_.reset(); }

  static Engine Make(const EngineOptions& options) {
    Result<Engine> engine = Engine::Create(*model_, options);
    EXPECT_TRUE(engine.ok()) << engine.status().message();
    return *std::move(engine);
  }

  // The text number `number`, of other tokens behind the same first ones.
  static Request Text(int64_t length, int64_t number) {
    Request request{.prompt = {}, .pooling = Pooling::kFirst};
    for (int64_t i = 0; i < length; ++i) {
      request.prompt.push_back(static_cast<TokenId>(i < 40 ? 5 + i : 5 + (i * number) % 200));
    }
    request.prompt.back() = static_cast<TokenId>(5 + number);
    return request;
  }

  static std::vector<float> Embed(Engine& engine, Request request) {
    const Result<Embedding> embedding = engine.Embed(std::move(request));
    EXPECT_TRUE(embedding.ok()) << embedding.status().message();
    if (!embedding.ok()) return {};
    EXPECT_EQ(embedding->cached_tokens, 0);
    return embedding->values;
  }

  static std::unique_ptr<Model> model_;
};
std::unique_ptr<Model> WholeTexts::model_;

TEST_F(WholeTexts, TheModelSaysWhatItIs) {
  EXPECT_FALSE(model_->info().generates);
  EXPECT_EQ(model_->info().pooling, Pooling::kFirst);
}

TEST_F(WholeTexts, VectorsAreTheSameAloneAndTogether) {
  constexpr int64_t kTexts = 24;
  const auto length = [](int64_t i) { return 1 + (i * 37) % 96; };
  std::vector<std::vector<float>> alone;
  for (int64_t i = 0; i < kTexts; ++i) {
    Engine engine = Make({.threads = 1, .isa = "scalar", .max_running = 1});
    alone.push_back(Embed(engine, Text(length(i), i)));
  }
  Engine engine = Make({.max_chunk = 3, .threads = 2, .max_running = 5});
  std::vector<std::shared_ptr<EventQueue>> queues;
  for (int64_t i = 0; i < kTexts; ++i) {
    queues.push_back(std::make_shared<EventQueue>());
    ASSERT_TRUE(engine.Submit(Text(length(i), i), queues.back()).ok());
  }
  for (size_t i = 0; i < queues.size(); ++i) {
    Transcript answer({});
    while (!answer.end) {
      const Event event = queues[i]->Next();
      answer.Add(event);
      EXPECT_FALSE(event.Is<ChunkEvent>()) << "a text was cut";
    }
    EXPECT_EQ(answer.embedding, alone[i]) << i;
  }
}

TEST_F(WholeTexts, TheEndOfATextChangesItsFirstToken) {
  Engine engine = Make({});
  EXPECT_NE(Embed(engine, Text(60, 1)), Embed(engine, Text(60, 2)));
}

TEST_F(WholeTexts, NothingIsKeptOrFoundAgain) {
  Engine engine = Make({});
  const std::vector<float> first = Embed(engine, Text(90, 3));
  EXPECT_EQ(engine.Stats().pages_cached, 0);
  // The answer comes before the step is over that gives its pages back.
  EXPECT_TRUE(Soon([&] { return engine.Stats().pages_free == engine.Stats().pages_total; }));
  EXPECT_EQ(Embed(engine, Text(90, 3)), first);
  EXPECT_EQ(engine.Stats().prompt_tokens_cached, 0);
}

// Pages for two of the texts at a time: the others wait.
TEST_F(WholeTexts, WaitForPages) {
  Engine roomy = Make({});
  Engine narrow = Make({.kv_positions = 6 * 32, .max_running = 8});
  std::vector<std::shared_ptr<EventQueue>> queues;
  for (int64_t i = 0; i < 8; ++i) {
    queues.push_back(std::make_shared<EventQueue>());
    ASSERT_TRUE(narrow.Submit(Text(70 + i, i), queues.back()).ok());
  }
  for (int64_t i = 0; i < 8; ++i) {
    Transcript answer({});
    while (!answer.end) answer.Add(queues[static_cast<size_t>(i)]->Next());
    EXPECT_EQ(answer.embedding, Embed(roomy, Text(70 + i, i)));
  }
}

TEST_F(WholeTexts, LongerThanTheContextAreRefusedWithTheNumbers) {
  Engine engine = Make({.context = 40, .max_chunk = 8});
  EXPECT_FALSE(Embed(engine, Text(40, 1)).empty());
  const Result<Embedding> embedding = engine.Embed(Text(41, 1));
  ASSERT_FALSE(embedding.ok());
  EXPECT_EQ(embedding.status().message(), "the prompt has 41 tokens, the context has room for 40");
}

TEST_F(WholeTexts, NothingIsGenerated) {
  Engine engine = Make({});
  Request request = Text(5, 1);
  request.pooling = Pooling::kNone;
  constexpr const char* kWhy = "this model embeds texts; it does not generate";
  const auto done = engine.Generate(request, [](const TokenEvent&) { return true; });
  EXPECT_EQ(done.status().message(), kWhy);
  request.beam_search.beams = 2;
  EXPECT_EQ(engine.Submit(request, std::make_shared<EventQueue>()).status().message(), kWhy);
  EXPECT_EQ(LogitsSession::Create(*model_, {}).status().message(), kWhy);
}

TEST_F(WholeTexts, AreNoDrafts) {
  EngineOptions options;
  options.speculation = {.kind = Speculation::kDraft, .draft = *model_};
  Result<Model> target = LoadModel({.path = SKALD_GOLDEN_MODELS "/llama.gguf"});
  ASSERT_TRUE(target.ok());
  const Result<Engine> engine = Engine::Create(*target, options);
  ASSERT_FALSE(engine.ok());
  EXPECT_EQ(engine.status().message(), "the draft model embeds texts; it does not generate");
}

}  // namespace
}  // namespace skald
