// Beam search through the engine: against all texts there are, and the pages it takes.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/checked_math.h"
#include "engine/core.h"
#include "engine/model_network.h"
#include "kernels/attention/attention.h"
#include "sim/fake_network.h"
#include "skald/engine.h"
#include "skald/model.h"
#include "skald/transcript.h"
#include "support/virtual_clock.h"

namespace skald::sim {
namespace {

constexpr float kBanned = -std::numeric_limits<float>::infinity();

struct Text {
  std::vector<TokenId> tokens;
  double score = 0;
};

// Takes what a request answers.
class Answers : public EventSink {
 public:
  explicit Answers(const Request& request) : answer(request) {}
  Listening Push(const Event& event) override {
    answer.Add(event);
    return Listening::kGoOn;
  }
  bool HasRoom(int64_t) const override { return true; }
  Transcript answer;
};

engine::TokenChooser MakeChooser(int64_t vocab, std::vector<TokenId> ends, int64_t context) {
  Result<sampling::Sampler> sampler = sampling::Sampler::Create(vocab, kernels::DetectIsa());
  CHECK(sampler.ok());
  return {*std::move(sampler), std::move(ends), context};
}

// A vocabulary of four words and an end; texts of at most three tokens.
constexpr int kWords = 4;
constexpr size_t kLongest = 3;
const std::vector<TokenId> kPrompt = {3, 1, 4, 1, 1};

std::vector<TranscriptSequence> SearchFakeModel(const BeamParams& params, int32_t n,
                                                uint64_t space) {
  constexpr int64_t kPages = 600;
  std::vector<kv::PageId> freed;
  FakeNetwork network(kPages, &freed, Fault::kNone);
  network.SetNamespaceOf([space](const kv::PageId*) { return space; });
  engine::CacheManager cache(kPages);
  cache.pool().RecordFreed(&freed);
  engine::TokenChooser chooser = MakeChooser(kVocab, {kEnd}, 64);
  support::VirtualClock clock;
  support::TimedNetwork timed(&network, &clock);
  const engine::Scheduler scheduler;
  engine::Core core({.context = 64, .max_rows = 128, .max_chunk = 64, .max_running = 128},
                    {.network = timed,
                     .clock = clock,
                     .cache = cache,
                     .scheduler = scheduler,
                     .chooser = chooser});
  Request request{.prompt = kPrompt};
  for (TokenId token = kWords + 1; token < kVocab; ++token) {
    request.sampling.logit_bias.push_back({token, kBanned});
  }
  request.stop.max_tokens = kLongest;
  request.n = n;
  request.beam_search = params;
  request.cache_namespace = space;
  const auto sink = std::make_shared<Answers>(request);
  core.Submit({.id = RequestId{1}, .request = request, .sink = sink});
  while (!core.idle()) core.Step();
  return sink->answer.sequences;
}

// Every text there is, with its score from the definition.
class Exhaustive {
 public:
  Exhaustive(double penalty, uint64_t space) : penalty_(penalty), space_(space) {
    Extend({.tokens = {}});
    std::sort(texts_.begin(), texts_.end(),
              [](const Text& a, const Text& b) { return a.score > b.score; });
  }
  const std::vector<Text>& texts() const { return texts_; }

 private:
  void Extend(const Text& text) {  // at most kLongest deep
    uint64_t number = kStart;
    uint64_t hash = kStart;
    int64_t position = 0;
    const auto append = [&](TokenId token) {
      number = Chain(number, token, position++, space_);
      hash = Take(hash, number);
    };
    for (const TokenId token : kPrompt) append(token);
    for (const TokenId token : text.tokens) append(token);
    std::array<float, kVocab> logits;
    FillLogits(hash, logits);
    double mass = 0;
    for (const float logit : logits) mass += std::exp(static_cast<double>(logit));
    for (TokenId token = 0; token <= kWords; ++token) {
      Text longer = text;  // the score is the sum as long as the text can grow
      longer.tokens.push_back(token);
      longer.score += static_cast<double>(logits[static_cast<size_t>(token)]) - std::log(mass);
      if (token != kEnd && longer.tokens.size() < kLongest) {
        Extend(longer);
        continue;
      }
      longer.score /= std::pow(static_cast<double>(longer.tokens.size()), penalty_);
      texts_.push_back(std::move(longer));
    }
  }

  double penalty_;
  uint64_t space_;
  std::vector<Text> texts_;
};

// With as many beams as there are texts nothing is left out.
TEST(BeamSearch, WithManyBeamsFindsTheBestOfAllTexts) {
  constexpr int32_t kBest = 12;
  for (const double penalty : {0.0, 1.0, 2.0, -0.5}) {
    for (uint64_t space = 0; space < 20; ++space) {
      const std::vector<TranscriptSequence> found =
          SearchFakeModel({.beams = 128, .length_penalty = penalty}, kBest, space);
      const std::vector<Text> all = Exhaustive(penalty, space).texts();
      ASSERT_EQ(all.size(), 1u + 4 + 16 * 5);
      ASSERT_EQ(found.size(), static_cast<size_t>(kBest));
      for (size_t i = 0; i < found.size(); ++i) {
        EXPECT_NEAR(found[i].score, all[i].score, 1e-5);
        // Scores closer than the rounding of log probabilities may change places.
        if (i + 1 < all.size() && all[i].score - all[i + 1].score < 1e-4) break;
        EXPECT_EQ(found[i].tokens, all[i].tokens) << "penalty " << penalty << ", place " << i;
      }
    }
  }
}

class BeamsOnTales : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    Result<Model> model =
        LoadModel({.path = std::string(SKALD_SOURCE_DIR) + "/models/tales/tales.gguf"});
    ASSERT_TRUE(model.ok()) << model.status().message();
    model_ = std::make_unique<Model>(*std::move(model));
  }
  static void TearDownTestSuite() { model_.reset(); }

  static Request Ask(int64_t max_tokens, int32_t beams) {
    Request request{.prompt = *model_->tokenizer().Encode("Once upon a time there was a fox.")};
    request.stop = {.max_tokens = max_tokens, .ignore_eos = true};
    request.beam_search.beams = beams;
    return request;
  }
  static std::unique_ptr<Model> model_;
};
std::unique_ptr<Model> BeamsOnTales::model_;

// The least pages in which sequences can stand: equal beginnings of 32 tokens and their multiples
// share.
int64_t LeastPages(const std::vector<engine::Sequence*>& sequences) {
  std::set<std::vector<TokenId>> beginnings;
  for (const engine::Sequence* sequence : sequences) {
    for (int64_t begin = 0; begin < sequence->computed; begin += kernels::kPageTokens) {
      const int64_t end = std::min(begin + kernels::kPageTokens, sequence->computed);
      beginnings.emplace(sequence->tokens.begin(), sequence->tokens.begin() + end);
    }
  }
  return static_cast<int64_t>(beginnings.size());
}

// Pages that sequences hold when they have `max_tokens` but one; at every step as few as possible.
int64_t PagesAtTheEnd(const Model& model, const Request& request) {
  const engine::ResolvedOptions options = {.context = 1024,
                                           .max_chunk = 64,
                                           .max_rows = 64,
                                           .max_logit_rows = 8,
                                           .max_running = 8,
                                           .page_count = 400,
                                           .threads = 2,
                                           .isa = kernels::DetectIsa()};
  auto network = *engine::ModelNetwork::Create(model.transformer(), options);
  engine::CacheManager cache(options.page_count);
  engine::TokenChooser chooser =
      MakeChooser(model.transformer().network().vocab, {}, options.context);
  support::VirtualClock clock;
  support::TimedNetwork timed(network.get(), &clock);
  const engine::Scheduler scheduler;
  engine::Core core({.context = options.context,
                     .max_rows = options.max_rows,
                     .max_chunk = options.max_chunk,
                     .max_running = options.max_running},
                    {.network = timed,
                     .clock = clock,
                     .cache = cache,
                     .scheduler = scheduler,
                     .chooser = chooser});
  core.Submit({.id = RequestId{1}, .request = request, .sink = std::make_shared<Answers>(request)});
  int64_t pages = 0;
  while (core.Step(), !core.idle()) {
    pages = core.Stats().pages_held;
    EXPECT_EQ(pages, LeastPages(core.running()));
  }
  return pages;
}

// A prompt of 300 tokens and 256 more: what the beams share is most of their past.
TEST_F(BeamsOnTales, EightBeamsTakeLessThanTwiceThePagesOfOne) {
  const auto pages = [](int32_t beams) {
    Request request = Ask(256, beams);
    const std::vector<TokenId> tale = request.prompt;
    while (request.prompt.size() < 300) {
      request.prompt.push_back(tale[request.prompt.size() % tale.size()]);
    }
    return PagesAtTheEnd(*model_, request);
  };
  const int64_t one = pages(0);
  const int64_t eight = pages(8);
  std::printf("pages held: one sequence %lld, eight beams %lld\n", static_cast<long long>(one),
              static_cast<long long>(eight));
  EXPECT_EQ(one, DivCeil<int64_t>(300 + 255, kernels::kPageTokens));
  EXPECT_LT(eight, 2 * one);
}

TEST_F(BeamsOnTales, TheBestTextsComeBestFirstAndBeatTheGreedyOne) {
  Result<Engine> engine = Engine::Create(
      *model_, {.context = 128, .threads = 2, .kv_positions = 1024, .max_running = 8});
  ASSERT_TRUE(engine.ok());
  const auto go_on = [](const TokenEvent&) { return true; };
  Request request = Ask(24, 6);
  request.n = 4;
  const Result<Completion> best = engine->Generate(request, go_on);
  ASSERT_TRUE(best.ok()) << best.status().message();
  ASSERT_EQ(best->others.size(), 3u);
  double last = best->score;
  for (const Alternative& other : best->others) {
    EXPECT_LE(other.score, last);
    EXPECT_NE(other.tokens, best->tokens);
    last = other.score;
  }
  const Result<Completion> greedy = engine->Generate(Ask(24, 1), go_on);
  ASSERT_TRUE(greedy.ok());
  EXPECT_GE(best->score, greedy->score);
  Request plain = Ask(24, 0);
  plain.sampling.temperature = 0;
  EXPECT_EQ(engine->Generate(plain, go_on)->tokens, greedy->tokens);
}

}  // namespace
}  // namespace skald::sim
