#include "skald/explain.h"

#include <gtest/gtest.h>

#include <string>

#include "support/shared_data.h"

namespace skald {
namespace {

Model Load(const std::string& path) {
  Result<Model> model = LoadModel({.path = path, .threads = 1});
  EXPECT_TRUE(model.ok()) << path << ": " << model.status().message();
  return *std::move(model);
}

Model Golden(const std::string& name) {
  return Load(std::string(SKALD_GOLDEN_MODELS) + "/" + name + ".gguf");
}

ExplainQuestion Question() {
  return {.prompt = {3, 1, 4, 1, 5},
          .sampling = {.seed = 9},
          .max_tokens = 3,
          .engine = {.threads = 1}};
}

bool GoOn() { return true; }

// Every time that was taken stands in the tree beside the work that took it: a part that the walk
// over the work and the forward pass do not both know shows as an operation with one of them alone.
void ExpectTimesBesideWork(const Call& call) {
  if (call.kind == CallKind::kOperation) {
    EXPECT_GT(*call.seconds, 0) << call.layer << " " << call.name;
    EXPECT_GT(call.work.bytes + call.macs(), 0) << call.layer << " " << call.name;
  }
  for (const Call& inner : call.calls) ExpectTimesBesideWork(inner);
}

// Whether all tokens that were left stand among those listed.
bool AreAllListed(const ExplainedChoice& choice) {
  int64_t left = 0;
  for (const ExplainedChance& chance : choice.chances) {
    left += int64_t{chance.probabilities.back() > 0};
  }
  return left == choice.filters.back().left;
}

void ExpectTimesOf(const Model& model) {
  const Explanation explanation = *ExplainRun(model, Question(), GoOn);
  EXPECT_EQ(explanation.steps.size(), model.info().generates ? 3u : 1u);
  for (const ExplainedStep& step : explanation.steps) ExpectTimesBesideWork(step.tree);
}

TEST(Explain, TimesStandBesideTheirWork) {
  for (const char* name : {"llama", "deepseek2", "lfm2", "moe", "qwen35", "bert"}) {
    SCOPED_TRACE(name);
    ExpectTimesOf(Golden(name));
  }
}

// Kinds of parts and blocks that no model of the compact set has.
TEST(ExplainSharedData, TimesStandBesideTheirWork) {
  for (const char* name : {"gemma3n", "gemma4-moe", "falcon-h1", "kimi-linear",
                           "nemotron_h_moe-latent", "stablelm-parallel", "gemma-embedding"}) {
    SCOPED_TRACE(name);
    ExpectTimesOf(Load(support::SharedData("golden/families/") + name + ".gguf"));
  }
}

TEST(Explain, WatchesTheAnswerAndChangesNoToken) {
  const Model model = Golden("llama");
  const ExplainQuestion question = Question();
  const Explanation explanation = *ExplainRun(model, question, GoOn);
  Engine engine = *Engine::Create(model, {.threads = 1});
  std::vector<TokenId> tokens = question.prompt;
  const Request request = {
      .prompt = tokens, .sampling = question.sampling, .stop = {.max_tokens = 3}};
  ASSERT_TRUE(engine
                  .Generate(request,
                            [&](const TokenEvent& event) {
                              if (event.token != kNoToken) tokens.push_back(event.token);
                              return true;
                            })
                  .ok());
  ASSERT_EQ(explanation.tokens.size(), tokens.size());
  for (size_t i = 0; i < tokens.size(); ++i) EXPECT_EQ(explanation.tokens[i].id, tokens[i]);
  EXPECT_EQ(explanation.tokens[4].origin, TokenOrigin::kComputed);
  EXPECT_EQ(explanation.tokens[5].origin, TokenOrigin::kDrawn);

  ASSERT_EQ(explanation.steps.size(), 3u);
  EXPECT_TRUE(explanation.steps[0].is_prefill);
  EXPECT_EQ(explanation.steps[0].rows, 5);
  EXPECT_EQ(explanation.steps[0].drawn, tokens[5]);
  EXPECT_FALSE(explanation.steps[1].is_prefill);
  EXPECT_EQ(explanation.steps[1].first_position, 5);
  EXPECT_EQ(explanation.steps[2].drawn, tokens[7]);
}

// A tap that changed one bit would change a probability on the way.
void ExpectSameBitsWithAttention(const std::string& name) {
  const Model model = Golden(name);
  ExplainQuestion question = Question();
  const Explanation without = *ExplainRun(model, question, GoOn);
  question.attention = true;
  const Explanation with = *ExplainRun(model, question, GoOn);
  EXPECT_TRUE(without.attention.empty());
  EXPECT_FALSE(with.attention.empty());
  ASSERT_EQ(with.steps.size(), without.steps.size());
  for (size_t i = 0; i < with.steps.size(); ++i) {
    ASSERT_EQ(with.steps[i].drawn, without.steps[i].drawn);
    if (!with.steps[i].choice) continue;
    const auto& chances = with.steps[i].choice->chances;
    ASSERT_EQ(chances.size(), without.steps[i].choice->chances.size());
    for (size_t c = 0; c < chances.size(); ++c) {
      EXPECT_EQ(chances[c].probabilities, without.steps[i].choice->chances[c].probabilities);
    }
  }
  for (const ExplainedAttention& row : with.attention) {
    double sum = 0;
    for (const float weight : row.weights) sum += double{weight};
    EXPECT_GT(sum, 0);
    EXPECT_LT(sum, 1 + 1e-5);
    EXPECT_LE(row.first_key + std::ssize(row.weights), std::ssize(with.tokens));
  }
}

TEST(Explain, ATapOfAttentionChangesNoBit) {
  for (const char* name : {"llama", "deepseek2", "lfm2", "moe", "qwen35"}) {
    SCOPED_TRACE(name);
    ExpectSameBitsWithAttention(name);
  }
}

TEST(Explain, RefusesAttentionOverALongText) {
  ExplainQuestion question = Question();
  question.attention = true;
  question.prompt.assign(kMaxAttentionTokens, 3);
  EXPECT_EQ(ExplainRun(Golden("llama"), question, GoOn).status().code(),
            ErrorCode::kInvalidArgument);
}

// The filters shown are those of the engine's own record, and the race has its winner.
TEST(Explain, ShowsTheChoiceThatTheEngineMade) {
  const Model model = Golden("llama");
  const auto params = [](SamplingParams changed) {
    changed.seed = 9;
    return changed;
  };
  const std::vector<SamplingParams> all = {
      params({}),
      params({.temperature = 0}),
      params({.truncation = {.top_k = 0, .top_p = 0.8, .min_p = 0}}),
      params({.temperature = 1.5,
              .truncation = {.top_k = 30, .top_p = 1, .min_p = 0.01, .typical_p = 0.9},
              .penalties = {.repetition = 1.3}}),
      params({.mirostat = {.version = 2, .tau = 3}}),
      params({.truncation = {.top_k = 20}, .order = SamplingOrder::kLlamaCpp})};
  for (const SamplingParams& sampling : all) {
    ExplainQuestion question = Question();
    question.sampling = sampling;
    const Explanation explanation = *ExplainRun(model, question, GoOn);
    for (const ExplainedStep& step : explanation.steps) {
      ASSERT_TRUE(step.choice.has_value());
      const ExplainedChoice& choice = *step.choice;
      EXPECT_EQ(choice.filters.back().left, choice.recorded_candidates);
      const ExplainedChance* first = nullptr;
      for (const ExplainedChance& chance : choice.chances) {
        if (chance.token == choice.drawn) {
          EXPECT_EQ(chance.probabilities.back(), choice.recorded_probability);
        }
        const bool wins = chance.race && (first == nullptr || *chance.race < *first->race);
        if (wins) first = &chance;
      }
      // Only among all that are left; beyond those listed somebody else may have won.
      if (first != nullptr && AreAllListed(choice)) {
        EXPECT_EQ(first->token, choice.drawn);
      }
    }
  }
}

TEST(Explain, SaysWhatTheCacheHad) {
  ExplainQuestion question = Question();
  question.warm = true;
  const Explanation explanation = *ExplainRun(Golden("llama"), question, GoOn);
  EXPECT_EQ(explanation.cached_tokens, 4);
  EXPECT_EQ(explanation.tokens[3].origin, TokenOrigin::kCached);
  EXPECT_EQ(explanation.tokens[4].origin, TokenOrigin::kComputed);
  ASSERT_EQ(explanation.steps.size(), 3u);
  EXPECT_EQ(explanation.steps[0].rows, 1);
  // Of a page that others may have: a copy to write behind its tokens, or the page itself.
  ASSERT_EQ(explanation.pages.size(), 1u);
  EXPECT_NE(explanation.pages[0].source, PageSource::kTaken);
}

TEST(Explain, ListsThePagesOfTheText) {
  ExplainQuestion question = Question();
  while (question.prompt.size() < 70) question.prompt.push_back(7);
  const Explanation explanation = *ExplainRun(Golden("llama"), question, GoOn);
  ASSERT_EQ(explanation.pages.size(), 3u);
  EXPECT_EQ(explanation.pages[2].first_position, 64);
  EXPECT_EQ(explanation.pages[2].source, PageSource::kTaken);
}

TEST(Explain, CutsLongPromptsAsTheEngineDoes) {
  ExplainQuestion question = Question();
  question.engine.max_chunk = 2;
  const Explanation explanation = *ExplainRun(Golden("llama"), question, GoOn);
  ASSERT_EQ(explanation.steps.size(), 5u);
  EXPECT_EQ(explanation.steps[1].first_position, 2);
  EXPECT_EQ(explanation.steps[1].logit_rows, 0);
  EXPECT_EQ(explanation.steps[1].drawn, kNoToken);
  EXPECT_EQ(explanation.steps[2].logit_rows, 1);
}

TEST(Explain, ShowsWhatAnEmbeddingTakes) {
  const Model model = Golden("bert");
  ExplainQuestion question = Question();
  const Explanation explanation = *ExplainRun(model, question, GoOn);
  ASSERT_EQ(explanation.steps.size(), 1u);
  EXPECT_EQ(explanation.steps[0].logit_rows, 0);
  EXPECT_EQ(explanation.steps[0].tree.output.front(), 5);
  EXPECT_EQ(explanation.tokens.size(), 5u);
  ExpectTimesBesideWork(explanation.steps[0].tree);
}

TEST(Explain, RefusesWhatItCannotShow) {
  const Model model = Golden("llama");
  ExplainQuestion question = Question();
  question.max_tokens = kMaxExplainTokens + 1;
  EXPECT_EQ(ExplainRun(model, question, GoOn).status().code(), ErrorCode::kInvalidArgument);
  question = Question();
  question.prompt.clear();
  EXPECT_EQ(ExplainRun(model, question, GoOn).status().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(ExplainRun(model, Question(), [] { return false; }).status().code(),
            ErrorCode::kCancelled);
}

TEST(Explain, IsOneJsonObject) {
  const std::string json = ExplainJson(*ExplainRun(Golden("llama"), Question(), GoOn));
  EXPECT_TRUE(json.starts_with("{\"model\":{\"name\":")) << json.substr(0, 60);
  for (const char* part : {"\"cached_tokens\":0", "\"kind\":\"prefill\"", "\"kind\":\"decode\"",
                           "\"name\":\"blk.0.attn_q.weight\"",
                           "\"operations\":", "\"seconds\":", "\"filters\":", "\"pages\":["}) {
    EXPECT_NE(json.find(part), std::string::npos) << part;
  }
}

}  // namespace
}  // namespace skald
