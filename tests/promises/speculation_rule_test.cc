// What each rule of speculation promises of the engine's texts, on a vocabulary of four with a
// draft model that is often wrong: `exact` gives the very tokens of the run without speculation,
// `rejection` texts of the same distribution. Each text has four tokens; the chi-square tests are
// on whole texts, so that a token which depended on those before in a wrong way would show.

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "base/check.h"
#include "engine/core.h"
#include "engine/ngram_proposer.h"
#include "sampling/chi_square.h"
#include "sim/draft_model.h"
#include "sim/fake_network.h"
#include "support/virtual_clock.h"

namespace skald::sim {
namespace {

constexpr int64_t kTokens = 4;  // of a text
constexpr int kWords = 4;       // of kVocab: 1 to 4, the others are banned
constexpr size_t kTexts = 256;
constexpr uint64_t kSeeds = 20'000;
const std::vector<TokenId> kPrompt = {1, 2, 1, 2, 3, 1};

Request Ask(uint64_t seed) {
  Request request{.prompt = kPrompt};
  request.sampling = {.temperature = 1.25, .truncation = {.top_k = 3, .top_p = 1, .min_p = 0}};
  request.sampling.seed = seed;
  for (TokenId token = 0; token < kVocab; ++token) {
    if (token >= 1 && token <= kWords) continue;
    request.sampling.logit_bias.push_back({token, -std::numeric_limits<float>::infinity()});
  }
  request.stop = {.max_tokens = kTokens, .ignore_eos = true};
  return request;
}

// Collects the tokens of all requests, by seed.
class Texts : public EventSink {
 public:
  explicit Texts(std::vector<TokenId>* text) : text_(*text) {}
  Listening Push(const Event& event) override {
    if (const auto* next = event.As<TokenEvent>()) text_.push_back(next->token);
    return Listening::kGoOn;
  }
  bool HasRoom(int64_t) const override { return true; }

 private:
  std::vector<TokenId>& text_;
};

struct Outcome {
  std::vector<std::vector<TokenId>> texts;
  double acceptance = 0;
};

Outcome RunSeeds(SpeculationRule rule, engine::Proposer* proposer) {
  constexpr int64_t kPages = 64;
  std::vector<kv::PageId> freed;
  FakeNetwork network(kPages, &freed, Fault::kNone);
  network.SetNamespaceOf([](const kv::PageId*) { return uint64_t{0}; });
  engine::CacheManager cache(kPages);
  cache.pool().RecordFreed(&freed);
  Result<sampling::Sampler> sampler = sampling::Sampler::Create(kVocab, kernels::DetectIsa());
  CHECK(sampler.ok());
  engine::TokenChooser chooser(*std::move(sampler), {kEnd}, 32, rule);
  support::VirtualClock clock;
  support::TimedNetwork timed(&network, &clock);
  const engine::Scheduler scheduler;
  engine::Core core({.context = 32,
                     .max_rows = 64,
                     .max_chunk = 32,
                     .max_running = 8,
                     .least_draft = 3,
                     .most_draft = 3,
                     .max_draft_rows = 24},
                    {.network = timed,
                     .clock = clock,
                     .cache = cache,
                     .scheduler = scheduler,
                     .chooser = chooser,
                     .proposer = proposer});
  Outcome outcome{.texts = std::vector<std::vector<TokenId>>(kSeeds)};
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    core.Submit({.id = RequestId{seed},
                 .request = Ask(seed),
                 .sink = std::make_shared<Texts>(&outcome.texts[seed])});
    if (seed % 8 == 7) {
      while (!core.idle()) core.Step();
    }
  }
  while (!core.idle()) core.Step();
  const EngineStats stats = core.Stats();
  outcome.acceptance = static_cast<double>(stats.draft_tokens_accepted) /
                       static_cast<double>(std::max<int64_t>(1, stats.draft_tokens));
  return outcome;
}

DraftModel MakeDraft() { return DraftModel({.page_count = 64, .max_rows = 64, .context = 32}); }

// Exact probabilities of the next token, from the definition.
std::array<long double, kWords> NextShares(std::span<const TokenId> tokens) {
  uint64_t number = kStart;
  uint64_t hash = kStart;
  for (size_t i = 0; i < tokens.size(); ++i) {
    number = Chain(number, tokens[i], static_cast<int64_t>(i), 0);
    hash = Take(hash, number);
  }
  std::array<float, kVocab> logits;
  FillLogits(hash, logits);
  std::array<long double, kWords> shares;
  size_t least = 0;  // top-k of 3: the least likely, of equals the last, goes
  for (size_t i = 0; i < kWords; ++i) {
    shares[i] = std::exp(static_cast<long double>(logits[i + 1]) / 1.25L);
    if (shares[i] <= shares[least]) least = i;
  }
  shares[least] = 0;
  long double sum = 0;
  for (const long double share : shares) sum += share;
  for (long double& share : shares) share /= sum;
  return shares;
}

size_t IndexOf(std::span<const TokenId> text) {
  size_t index = 0;
  for (const TokenId token : text) index = index * kWords + static_cast<size_t>(token - 1);
  return index;
}

sampling::Distribution Expected() {
  sampling::Distribution expected(kTexts);
  for (size_t index = 0; index < kTexts; ++index) {
    std::vector<TokenId> tokens = kPrompt;
    long double probability = 1;
    for (size_t place = kTexts / kWords; place > 0; place /= kWords) {
      const size_t word = index / place % kWords;
      probability *= NextShares(tokens)[word];
      tokens.push_back(static_cast<TokenId>(word) + 1);
    }
    expected[index] = probability;
  }
  return expected;
}

bool HaveTheDistribution(const std::vector<std::vector<TokenId>>& texts) {
  std::vector<int> counts(kTexts);
  for (const std::vector<TokenId>& text : texts) ++counts[IndexOf(text)];
  return sampling::LooksLike(counts, Expected());
}

TEST(SpeculationRule, ExactGivesTheTokensThatComeWithout) {
  const Outcome plain = RunSeeds(SpeculationRule::kExact, nullptr);
  DraftModel draft = MakeDraft();
  const Outcome guessed = RunSeeds(SpeculationRule::kExact, &draft);
  EXPECT_EQ(draft.Check(), "");
  EXPECT_EQ(plain.texts, guessed.texts);
  EXPECT_TRUE(HaveTheDistribution(plain.texts));
}

TEST(SpeculationRule, RejectionKeepsTheDistributionAndMoreGuesses) {
  DraftModel exact_draft = MakeDraft();
  DraftModel draft = MakeDraft();
  const Outcome exact = RunSeeds(SpeculationRule::kExact, &exact_draft);
  const Outcome rejection = RunSeeds(SpeculationRule::kRejection, &draft);
  EXPECT_EQ(draft.Check(), "");
  EXPECT_TRUE(HaveTheDistribution(rejection.texts));
  EXPECT_NE(rejection.texts, exact.texts);
  EXPECT_GT(rejection.acceptance, exact.acceptance);
  std::printf("guesses kept: exact %.3f, rejection %.3f\n", exact.acceptance, rejection.acceptance);
}

TEST(SpeculationRule, RejectionKeepsTheDistributionWithGuessesThatAreCertain) {
  engine::NgramProposer proposer;
  const Outcome outcome = RunSeeds(SpeculationRule::kRejection, &proposer);
  EXPECT_GT(outcome.acceptance, 0.05);
  EXPECT_TRUE(HaveTheDistribution(outcome.texts));
}

TEST(SpeculationRule, TheSameGuessesGiveTheSameText) {
  DraftModel first = MakeDraft();
  DraftModel second = MakeDraft();
  EXPECT_EQ(RunSeeds(SpeculationRule::kRejection, &first).texts,
            RunSeeds(SpeculationRule::kRejection, &second).texts);
}

// A draft that names as chances what it did not draw from.
class LyingProposer : public engine::Proposer {
 public:
  explicit LyingProposer(engine::Proposer* honest) : honest_(*honest) {}
  int64_t Propose(std::span<const engine::DraftWish> wishes, int64_t catch_up_rows) override {
    const int64_t caught_up = honest_.Propose(wishes, catch_up_rows);
    for (const engine::DraftWish& wish : wishes) {
      for (sampling::Candidate& each : wish.chances->candidates) {
        each.mass += sampling::kFullMass / 8;
      }
    }
    return caught_up;
  }
  void Forget(const engine::Sequence& sequence) override { honest_.Forget(sequence); }

 private:
  engine::Proposer& honest_;
};

TEST(SpeculationRule, TheTestSeesChancesThatAreSlightlyWrong) {
  DraftModel draft = MakeDraft();
  LyingProposer lying(&draft);
  EXPECT_FALSE(HaveTheDistribution(RunSeeds(SpeculationRule::kRejection, &lying).texts));
}

}  // namespace
}  // namespace skald::sim
