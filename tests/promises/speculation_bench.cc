// skald_spec_bench MODEL [TOKENS [THREADS]]: what speculation brings and costs on a model, with a
// proposer of known acceptance. Each guess is right with that probability, whatever the text.
//
// Plain decode and each acceptance take turns, three times; the middle of the three counts.

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/rng.h"
#include "engine/core.h"
#include "engine/model_network.h"
#include "skald/model.h"

namespace skald {
namespace {

constexpr int64_t kPrompt = 64;
constexpr int64_t kDraft = 4;
constexpr int kRounds = 3;

// The answer of plain decode, each token changed with probability 1 - acceptance.
class ScriptedProposer : public engine::Proposer {
 public:
  ScriptedProposer(const std::vector<TokenId>& answer, double acceptance, int64_t vocab)
      : answer_(answer), acceptance_(acceptance), vocab_(vocab) {}

  int64_t Propose(std::span<const engine::DraftWish> wishes, int64_t) override {
    for (const engine::DraftWish& wish : wishes) {
      for (int64_t i = 0; i < wish.most; ++i) {
        const size_t at = wish.sequence->output().size() + static_cast<size_t>(i);
        if (at >= answer_.size()) return 0;
        const bool right = UniformDouble({.seed = 1, .position = guesses_++}, 0) < acceptance_;
        wish.tokens->push_back(static_cast<TokenId>((answer_[at] + int64_t{!right}) % vocab_));
      }
    }
    return 0;
  }
  void Forget(const engine::Sequence&) override {}

 private:
  const std::vector<TokenId>& answer_;
  const double acceptance_;
  const int64_t vocab_;
  uint64_t guesses_ = 0;
};

class Recorder : public EventSink {
 public:
  Listening Push(const Event& event) override {
    if (const auto* next = event.As<TokenEvent>()) tokens.push_back(next->token);
    return Listening::kGoOn;
  }
  bool HasRoom(int64_t) const override { return true; }
  std::vector<TokenId> tokens;
};

struct Run {
  std::vector<TokenId> tokens;
  double seconds = 0;  // of decode
  double tokens_per_pass = 0;
  double accepted = 0;  // share of the guesses
};

class Bench {
 public:
  Bench(const Model& model, int64_t tokens, int threads)
      : model_(model),
        tokens_(tokens),
        options_({.context = kPrompt + tokens + 1,
                  .max_chunk = kPrompt,
                  .max_rows = kPrompt + kDraft,
                  .max_logit_rows = 1 + kDraft,
                  .max_running = 1,
                  .page_count = (kPrompt + tokens) / 32 + 3,
                  .most_draft = kDraft,
                  .max_draft_rows = kDraft,
                  .threads = threads,
                  .isa = kernels::DetectIsa()}),
        network_(*engine::ModelNetwork::Create(model.transformer(), options_)) {}

  Run Decode(engine::Proposer* proposer) {
    const int64_t vocab = model_.transformer().network().vocab;
    Result<sampling::Sampler> sampler = sampling::Sampler::Create(vocab, kernels::DetectIsa());
    CHECK(sampler.ok());
    engine::CacheManager cache(options_.page_count);
    engine::TokenChooser chooser(*std::move(sampler), {}, options_.context);
    engine::Core core({.context = options_.context,
                       .max_rows = options_.max_rows,
                       .max_chunk = options_.max_chunk,
                       .max_running = 1,
                       .most_draft = kDraft,
                       .max_draft_rows = kDraft},
                      {.network = *network_,
                       .clock = clock_,
                       .cache = cache,
                       .scheduler = scheduler_,
                       .chooser = chooser,
                       .proposer = proposer});
    Request request;
    for (int64_t i = 0; i < kPrompt; ++i) {
      request.prompt.push_back(static_cast<TokenId>((7 + 13 * i) % std::min<int64_t>(vocab, 500)));
    }
    request.stop = {.max_tokens = tokens_, .ignore_eos = true};
    const auto sink = std::make_shared<Recorder>();
    core.Submit({.id = RequestId{1}, .request = std::move(request), .sink = sink});
    while (!core.idle()) core.Step();
    const EngineStats stats = core.Stats();
    const auto guessed = static_cast<double>(std::max<int64_t>(1, stats.draft_tokens));
    return {.tokens = sink->tokens,
            .seconds = stats.tbt_seconds.sum_seconds(),
            .tokens_per_pass =
                static_cast<double>(stats.output_tokens) / static_cast<double>(stats.passes),
            .accepted = static_cast<double>(stats.draft_tokens_accepted) / guessed};
  }

 private:
  const Model& model_;
  const int64_t tokens_;
  const engine::ResolvedOptions options_;
  const engine::RealClock clock_;
  const engine::Scheduler scheduler_;
  std::unique_ptr<engine::ModelNetwork> network_;
};

// Each of these in a round; plain decode is the first.
constexpr std::array<double, 4> kAcceptances = {-1, 0, 0.75, 1};

int Main(const std::string& path, int64_t tokens, int threads) {
  const Result<Model> model = LoadModel({.path = path});
  if (!model.ok()) {
    std::fprintf(stderr, "%s\n", model.status().message().c_str());
    return 1;
  }
  Bench bench(*model, tokens, threads);
  const std::vector<TokenId> answer = bench.Decode(nullptr).tokens;
  std::array<std::vector<double>, kAcceptances.size()> seconds;
  std::array<Run, kAcceptances.size()> last;
  for (int round = 0; round < kRounds; ++round) {
    for (size_t i = 0; i < kAcceptances.size(); ++i) {
      ScriptedProposer proposer(answer, kAcceptances[i], model->transformer().network().vocab);
      last[i] = bench.Decode(i == 0 ? nullptr : &proposer);
      CHECK(last[i].tokens == answer);
      seconds[i].push_back(last[i].seconds);
    }
  }
  for (size_t i = 0; i < kAcceptances.size(); ++i) {
    for (auto* list : {&seconds[0], &seconds[i]}) std::sort(list->begin(), list->end());
    const double middle = seconds[i][kRounds / 2];
    const std::string name =
        i == 0 ? "plain" : std::to_string(static_cast<int>(100 * kAcceptances[i])) + " % right";
    std::printf("%-12s %8.2f tok/s  %5.2f x  %5.2f tokens a pass  %3.0f %% of guesses accepted\n",
                name.c_str(), static_cast<double>(tokens - 1) / middle,
                seconds[0][kRounds / 2] / middle, last[i].tokens_per_pass, 100 * last[i].accepted);
  }
  return 0;
}

int64_t Number(const char* text) {
  int64_t value = 0;
  std::from_chars(text, text + std::strlen(text), value);
  return value;
}

}  // namespace
}  // namespace skald

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: skald_spec_bench MODEL [TOKENS [THREADS]]\n");
    return 2;
  }
  const int64_t tokens = argc > 2 ? skald::Number(argv[2]) : 256;
  const int64_t threads = argc > 3 ? skald::Number(argv[3]) : skald::AvailableCores();
  return skald::Main(argv[1], std::max<int64_t>(2, tokens), static_cast<int>(threads));
}
