// The engine with models that rank: a score for each pair of texts, through the same steps as
// embeddings.

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "kernels/pack/panel.h"
#include "model/transformer.h"
#include "skald/engine.h"
#include "skald/model.h"
#include "skald/transcript.h"

namespace skald {
namespace {

constexpr const char* kFirstTexts[] = {"the", "an inner thing", "where there is a hen"};
constexpr const char* kSecondTexts[] = {"there", "a barn is where the hens are", "in"};

class Rank : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    Result<Model> model =
        LoadModel({.path = std::string(SKALD_GOLDEN_MODELS "/") + GetParam() + ".gguf"});
    ASSERT_TRUE(model.ok()) << model.status().message();
    model_ = std::make_unique<Model>(*std::move(model));
  }

  Request Pair(const std::string& query, const std::string& document) const {
    const Result<PairTokens> pair = model_->EncodePair(query, document);
    EXPECT_TRUE(pair.ok()) << pair.status().message();
    return {.prompt = pair->tokens,
            .pooling = *model_->info().rank_pooling,
            .score = true,
            .second_text = pair->second_text};
  }

  std::vector<Request> Pairs() const {
    std::vector<Request> pairs;
    for (const char* first : kFirstTexts) {
      for (const char* second : kSecondTexts) pairs.push_back(Pair(first, second));
    }
    return pairs;
  }

  static std::vector<float> Ask(Engine& engine, const Request& request) {
    const Result<Embedding> answer = engine.Embed(request);
    EXPECT_TRUE(answer.ok()) << answer.status().message();
    return answer.ok() ? answer->values : std::vector<float>{};
  }

  std::unique_ptr<Model> model_;
};

TEST_P(Rank, ScoresAreTheSameAloneAndTogether) {
  const std::vector<Request> pairs = Pairs();
  std::vector<std::vector<float>> alone;
  for (const Request& pair : pairs) {
    Engine engine = *Engine::Create(*model_, {.threads = 1, .isa = "scalar", .max_running = 1});
    alone.push_back(Ask(engine, pair));
    ASSERT_EQ(alone.back().size(), 1u);
    EXPECT_TRUE(std::isfinite(alone.back()[0]));
  }
  for (size_t i = 1; i < alone.size(); ++i) EXPECT_NE(alone[i], alone[0]) << i;
  Engine engine = *Engine::Create(*model_, {.max_chunk = 3, .threads = 2, .max_running = 5});
  for (const char* round : {"new", "cached"}) {
    SCOPED_TRACE(round);
    std::vector<std::shared_ptr<EventQueue>> queues;
    for (const Request& pair : pairs) {
      queues.push_back(std::make_shared<EventQueue>());
      ASSERT_TRUE(engine.Submit(pair, queues.back()).ok());
    }
    for (size_t i = 0; i < queues.size(); ++i) {
      Transcript answer(pairs[i]);
      while (!answer.end) answer.Add(queues[i]->Next());
      EXPECT_EQ(answer.embedding, alone[i]) << i;
    }
  }
}

// A pair beside an embedding of the same tokens, in one step: neither changes the other.
TEST_P(Rank, StandsBesideEmbeddings) {
  Request pair = Pair("the hen", "there");
  Request text = pair;
  text.score = false;
  Engine engine = *Engine::Create(*model_, {.threads = 1});
  const std::vector<float> score = Ask(engine, pair);
  const std::vector<float> vector = Ask(engine, text);
  EXPECT_EQ(vector.size(), static_cast<size_t>(engine.embedding_width()));
  std::vector<std::shared_ptr<EventQueue>> queues;
  for (int i = 0; i < 6; ++i) {
    queues.push_back(std::make_shared<EventQueue>());
    ASSERT_TRUE(engine.Submit(i % 2 == 0 ? pair : text, queues.back()).ok());
  }
  for (size_t i = 0; i < queues.size(); ++i) {
    Transcript answer(pair);
    while (!answer.end) answer.Add(queues[i]->Next());
    EXPECT_EQ(answer.embedding, i % 2 == 0 ? score : vector) << i;
  }
}

TEST_P(Rank, ARequestMustFitTheModel) {
  Engine engine = *Engine::Create(*model_, {});
  const auto refusal = [&](const Request& request) {
    const Result<Embedding> answer = engine.Embed(request);
    return answer.ok() ? std::string("taken") : answer.status().message();
  };
  Request pair = Pair("a", "b");
  EXPECT_EQ(refusal(pair), "taken");
  pair.pooling = Pooling::kMean;
  EXPECT_NE(refusal(pair).find("the pooling of a score is mean, expected "), std::string::npos);
  pair = Pair("a", "b");
  const auto length = static_cast<int64_t>(pair.prompt.size());
  for (const int64_t wrong : {int64_t{-1}, length + 1}) {
    pair.second_text = wrong;
    EXPECT_EQ(refusal(pair), "second_text is " + std::to_string(wrong) + ", expected 0 to " +
                                 std::to_string(length) + ", the tokens of the prompt");
  }
}

// Files of decoders that rank may lack the head that generates.
TEST_P(Rank, NothingIsGenerated) {
  EXPECT_FALSE(model_->info().generates);
  Engine engine = *Engine::Create(*model_, {});
  const Result<Completion> answer = engine.Generate({.prompt = {5, 6}}, {});
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.status().message(), "this model ranks texts; it does not generate");
}
INSTANTIATE_TEST_SUITE_P(Models, Rank, testing::Values("bert-rank", "qwen3-rank"));

// The kinds of tokens of BERT: those of the second text have another.
TEST(RankOfBert, TheSecondTextIsOfAnotherKind) {
  const Model model = *LoadModel({.path = SKALD_GOLDEN_MODELS "/bert-rank.gguf"});
  Engine engine = *Engine::Create(model, {});
  Request pair = {
      .prompt = model.EncodePair("the", "hen")->tokens, .pooling = Pooling::kFirst, .score = true};
  const std::vector<float> one_text = engine.Embed(pair)->values;
  pair.second_text = model.EncodePair("the", "hen")->second_text;
  EXPECT_NE(engine.Embed(pair)->values, one_text);
}

// Yes less no of the last token's state, which the vector is when it has its length.
TEST(RankOfADecoder, IsTheDifferenceOfItsTwoAnswers) {
  const Model model = *LoadModel({.path = SKALD_GOLDEN_MODELS "/qwen3-rank.gguf"});
  Engine engine = *Engine::Create(model, {});
  Request pair = {
      .prompt = model.EncodePair("the", "hen")->tokens, .pooling = Pooling::kLast, .score = true};
  const double score = engine.Embed(pair)->values.front();
  pair.score = false;
  const std::vector<float> unit = engine.Embed(pair)->values;
  const model::RankHead& head = model.transformer().network().rank_head;
  std::vector<float> yes(unit.size()), no(unit.size());
  kernels::UnpackRow(head.output, 0, yes.data());
  kernels::UnpackRow(head.output, 1, no.data());
  double difference = 0, length = 0;
  for (size_t i = 0; i < unit.size(); ++i) {
    difference += (double{yes[i]} - double{no[i]}) * double{unit[i]};
  }
  // RMSNorm gives every state a length that its weights fix but for the direction.
  length = score / difference;
  EXPECT_GT(length, 5);
  EXPECT_LT(length, 20);
}

TEST(RankOfNone, AModelWithoutAHeadGivesNoScores) {
  const Model model = *LoadModel({.path = SKALD_GOLDEN_MODELS "/bert.gguf"});
  Engine engine = *Engine::Create(model, {});
  const Result<Embedding> answer =
      engine.Embed({.prompt = {5, 6}, .pooling = Pooling::kFirst, .score = true});
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.status().code(), ErrorCode::kUnsupported);
  EXPECT_EQ(answer.status().message(), "this model does not rank texts: it gives no scores");
}

}  // namespace
}  // namespace skald
