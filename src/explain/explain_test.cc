#include "skald/explain.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "skald/logits.h"
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

ExplainQuestion Everything() {
  ExplainQuestion question = Question();
  question.attention = question.lens = question.experts = question.tensors = true;
  return question;
}

// A tap that changed one bit would change a probability on the way.
void ExpectSameBitsWhenTapped(const std::string& name) {
  const Model model = Golden(name);
  const Explanation without = *ExplainRun(model, Question(), GoOn);
  const Explanation with = *ExplainRun(model, Everything(), GoOn);
  EXPECT_TRUE(without.attention.empty() && without.heads.empty() && without.experts.empty());
  EXPECT_TRUE(without.weights.empty() && without.steps[0].lens.empty());
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
    double sum = row.sink.value_or(0);
    for (const float weight : row.weights) sum += double{weight};
    EXPECT_NEAR(sum, 1, 1e-5);
    EXPECT_LE(row.first_key + std::ssize(row.weights), std::ssize(with.tokens));
  }
}

// Of all families: FamilyBits in tests/golden.
TEST(Explain, ATapChangesNoBit) {
  for (const char* name : {"llama", "deepseek2", "lfm2", "moe", "qwen35", "bert"}) {
    SCOPED_TRACE(name);
    ExpectSameBitsWhenTapped(name);
  }
}

TEST(Explain, ReadsEachLayerBehindEachStep) {
  const Model model = Golden("llama");
  const Explanation explanation = *ExplainRun(model, Everything(), GoOn);
  for (const ExplainedStep& step : explanation.steps) {
    ASSERT_EQ(std::ssize(step.lens), model.info().layer_count);
    const ExplainedChoice& choice = *step.choice;
    EXPECT_EQ(step.lens.back().best, choice.chances.front().token);
    EXPECT_NEAR(step.lens.back().probability, choice.chances.front().probabilities.front(), 1e-6);
  }
}

TEST(Explain, SaysWhichExpertsATokenWentTo) {
  const Model model = Golden("moe");
  const Explanation explanation = *ExplainRun(model, Everything(), GoOn);
  // Of the last layer one row of the prompt goes on; then one a step.
  const int64_t computed = std::ssize(explanation.tokens) - 1;
  int64_t of_first = 0;
  int64_t of_last = 0;
  for (const ExplainedExperts& row : explanation.experts) {
    of_first += int64_t{row.layer == 0};
    of_last += int64_t{row.layer == model.info().layer_count - 1};
    ASSERT_FALSE(row.experts.empty());
    EXPECT_LT(row.experts.back(), row.count);
    EXPECT_EQ(row.weights.size(), row.experts.size());
    EXPECT_LT(row.position, computed);
  }
  EXPECT_EQ(of_first, computed);
  EXPECT_EQ(of_last, std::ssize(explanation.steps));
  EXPECT_TRUE(ExplainRun(Golden("llama"), Everything(), GoOn)->experts.empty());
}

TEST(Explain, HasCardsOfWhatBlocksGaveAndOfWeights) {
  const Explanation explanation = *ExplainRun(Golden("llama"), Everything(), GoOn);
  const Call& step = explanation.steps.front().tree;
  const Call& embedding = step.calls.front();
  ASSERT_TRUE(embedding.card.has_value());
  EXPECT_EQ(embedding.card->shape, embedding.output);
  EXPECT_LT(embedding.card->min, embedding.card->max);
  const Call& head = step.calls.back();
  ASSERT_TRUE(head.card.has_value());
  EXPECT_EQ(head.card->shape, head.output);
  for (const Call& block : step.calls[1].calls) {
    ASSERT_TRUE(block.card.has_value()) << block.name;
    EXPECT_EQ(block.card->shape, block.output) << block.name;
  }
  ASSERT_FALSE(explanation.weights.empty());
  EXPECT_EQ(explanation.weights.front().name, "token_embd.weight");
  int64_t counted = 0;
  for (const int64_t bin : explanation.weights.front().card.bins) counted += bin;
  EXPECT_EQ(counted, explanation.weights.front().card.count);
}

const TensorCard& CardNamed(const std::vector<ExplainedTensor>& cards, std::string_view name) {
  const auto found = std::ranges::find(cards, name, &ExplainedTensor::name);
  EXPECT_NE(found, cards.end()) << name;
  return found->card;
}

// The residual stream behind a layer is the one before it, and what the two blocks gave.
TEST(Explain, ResidualStreamIsTheSumOfWhatBlocksGave) {
  const Explanation explanation = *ExplainRun(Golden("llama"), Everything(), GoOn);
  for (const ExplainedStep& step : explanation.steps) {
    const std::vector<ExplainedTensor> cards = CardsOf(step.tree);
    std::vector<float> stream = CardNamed(cards, "embedding").last;
    for (int64_t layer = 0; layer < explanation.model.layer_count; ++layer) {
      const std::string place = "layer " + std::to_string(layer);
      const TensorCard& behind = CardNamed(cards, place + ": residual stream");
      const TensorCard& attention = CardNamed(cards, place + " attention");
      const TensorCard& feed_forward = CardNamed(cards, place + " gated feed-forward");
      EXPECT_EQ(behind.shape, feed_forward.shape);
      for (size_t i = 0; i < stream.size(); ++i) {
        stream[i] = stream[i] + attention.last[i] + feed_forward.last[i];
      }
      EXPECT_EQ(behind.last, stream) << place;
    }
  }
}

// In the layer and block that they belong to, each of the shape of its product; the values
// themselves: the tests of the blocks.
TEST(Explain, HasCardsOfQueriesKeysAndValues) {
  const Explanation explanation = *ExplainRun(Golden("llama"), Everything(), GoOn);
  for (const ExplainedStep& step : explanation.steps) {
    std::vector<float> before;
    for (const Call& layer : step.tree.calls) {
      if (layer.kind != CallKind::kLayer) continue;
      const Call& block = layer.calls.front();
      const Call& products = *std::ranges::find(block.calls, "matmul qkv", &Call::name);
      ASSERT_EQ(block.tensors.size(), 3u);
      const std::array names = {"query", "key", "value"};
      for (size_t i = 0; i < names.size(); ++i) {
        EXPECT_EQ(block.tensors[i].name, names[i]);
        EXPECT_EQ(block.tensors[i].card.shape, products.calls[i].output);
      }
      EXPECT_NE(block.tensors[1].card.first, block.tensors[2].card.first);
      EXPECT_NE(block.tensors[1].card.first, before) << "a layer of its own";
      before = block.tensors[1].card.first;
    }
  }
}

TEST(Explain, HasCardsOfWhatMixersOfOtherKindsRead) {
  const auto names = [](const std::string& model) {
    std::set<std::string> found;
    const Explanation explanation = *ExplainRun(Golden(model), Everything(), GoOn);
    for (const Call& layer : explanation.steps.front().tree.calls) {
      for (const Call& block : layer.calls) {
        for (const ExplainedTensor& tensor : block.tensors) {
          found.insert(block.name + ": " + tensor.name);
        }
      }
    }
    return found;
  };
  EXPECT_EQ(names("deepseek2"),
            (std::set<std::string>{"latent attention: latent", "latent attention: query"}));
  EXPECT_EQ(names("qwen35"),
            (std::set<std::string>{"attention: key", "attention: query", "attention: value",
                                   "gated delta net: key", "gated delta net: query",
                                   "gated delta net: value"}));
}

// The heads of all ranks stand under their numbers in the whole, with the same bits.
void ExpectHeadsOfTheWhole(const std::string& name, int ranks) {
  ExplainQuestion question = Question();
  question.attention = true;
  const std::string path = std::string(SKALD_GOLDEN_MODELS) + "/" + name + ".gguf";
  const Explanation whole = *ExplainRun(Load(path), question, GoOn);
  const Result<Model> split = LoadModel({.path = path, .threads = 1, .ranks = ranks});
  ASSERT_TRUE(split.ok()) << split.status().message();
  const Explanation parts = *ExplainRun(*split, question, GoOn);
  ASSERT_EQ(parts.attention.size(), whole.attention.size());
  for (size_t i = 0; i < whole.attention.size(); ++i) {
    const ExplainedAttention& row = parts.attention[i];
    const ExplainedAttention& expected = whole.attention[i];
    EXPECT_EQ(std::tie(row.layer, row.head, row.position, row.first_key, row.sink, row.weights),
              std::tie(expected.layer, expected.head, expected.position, expected.first_key,
                       expected.sink, expected.weights));
  }
  EXPECT_EQ(parts.heads.size(), whole.heads.size());
}

TEST(Explain, RanksShowTheHeadsOfTheWhole) {
  for (const char* name : {"llama", "deepseek2", "qwen35", "gpt-oss"}) {
    for (const int ranks : {2, 3}) {
      SCOPED_TRACE(std::string(name) + " of " + std::to_string(ranks));
      ExpectHeadsOfTheWhole(name, ranks);
    }
  }
}

// How likely each token but the first is behind those before it.
std::vector<double> ProbabilitiesOf(const Model& model, const std::vector<TokenId>& text) {
  std::vector<double> probabilities;
  LogitsSession session = *LogitsSession::Create(model, {.context = 64, .threads = 1});
  size_t next = 0;
  EXPECT_TRUE(session
                  .Compute(text, {},
                           [&](std::span<const float> row) {
                             if (++next == text.size()) return Ok();
                             double sum = 0;
                             for (const float logit : row) sum += std::exp(double{logit});
                             const float chosen = row[static_cast<size_t>(text[next])];
                             probabilities.push_back(std::exp(double{chosen}) / sum);
                             return Ok();
                           })
                  .ok());
  return probabilities;
}

TEST(Explain, SaysHowLikelyThePromptWas) {
  const Model model = Golden("llama");
  ExplainQuestion question = Question();
  const Explanation without = *ExplainRun(model, question, GoOn);
  question.prompt_probabilities = question.lens = true;
  question.warm = true;  // changes nothing: all of the prompt is computed
  const Explanation with = *ExplainRun(model, question, GoOn);
  const std::vector<double> expected = ProbabilitiesOf(model, question.prompt);
  EXPECT_EQ(with.cached_tokens, 0);
  EXPECT_FALSE(with.tokens.front().probability);
  for (size_t i = 1; i < question.prompt.size(); ++i) {
    EXPECT_FALSE(without.tokens[i].probability);
    EXPECT_NEAR(*with.tokens[i].probability, expected[i - 1], 1e-9) << i;
  }
  for (size_t i = question.prompt.size(); i < with.tokens.size(); ++i) {
    EXPECT_EQ(with.tokens[i].id, without.tokens[i].id);
    EXPECT_EQ(with.tokens[i].probability, without.tokens[i].probability) << i;
    EXPECT_TRUE(with.tokens[i].probability);
  }
  EXPECT_EQ(with.steps.front().drawn, without.steps.front().drawn);
  ASSERT_FALSE(with.steps.front().lens.empty());
  EXPECT_EQ(with.steps.front().lens.back().best, with.steps.front().choice->chances.front().token);
  EXPECT_TRUE(ExplainRun(Golden("bert"), question, GoOn).ok());
}

TEST(Explain, RefusesAttentionOverALongText) {
  ExplainQuestion question = Question();
  question.attention = true;
  question.prompt.assign(kMaxTappedTokens, 3);
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

TEST(Explain, SaysWhatStatesTakeAndWhereCopiesStay) {
  const Explanation explanation = *ExplainRun(Golden("qwen35"), Question(), GoOn);
  EXPECT_GT(explanation.memory.state_layers, 0);
  EXPECT_GT(explanation.memory.state_bytes, 0);
  EXPECT_GT(explanation.memory.full_layers, 0);
  EXPECT_EQ(explanation.memory.window_layers, 0);
  EXPECT_EQ(ExplainRun(Golden("llama"), Question(), GoOn)->memory.state_bytes, 0);
}

// A window of 6 positions, pages of 32: once a row to come does not see a page it goes.
TEST(ExplainSharedData, SaysWhenWindowsLetGoOfPages) {
  const Model model = Load(support::SharedData("golden/families/") + "gpt-oss.gguf");
  ExplainQuestion question = Question();
  while (question.prompt.size() < 70) question.prompt.push_back(7);
  question.engine.max_chunk = 16;
  question.engine.max_running = 1;  // more sequences of so short a context would keep all
  const Explanation explanation = *ExplainRun(model, question, GoOn);
  EXPECT_EQ(explanation.memory.window, 6);
  ASSERT_EQ(explanation.pages.size(), 3u);
  ASSERT_TRUE(explanation.pages[0].window_left.has_value());
  // Rows 32 to 47 are step 2 and still see 27 to 31; those of step 3 do not.
  EXPECT_EQ(*explanation.pages[0].window_left, 3);
  EXPECT_FALSE(explanation.pages[2].window_left.has_value());
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
