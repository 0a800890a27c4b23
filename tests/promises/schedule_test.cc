// Promise 1 on the engine with real models: whatever runs beside a request, whatever is cached and
// however often it is preempted, whatever is guessed ahead, its tokens and the bits of its logits,
// or of its embedding, are those of the request alone: scalar kernels, one thread, an engine that
// has seen nothing else.
// Pages are filled with NaN before they are used again.
//
// A few schedules, for CI, the same in every run: the time is virtual. Others with --gtest_shuffle
// --gtest_repeat=100.

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/check.h"
#include "base/rng.h"
#include "engine/core.h"
#include "engine/runner.h"
#include "model/transformer.h"
#include "skald/model.h"
#include "support/family_models.h"
#include "support/shared_data.h"
#include "support/virtual_clock.h"

namespace skald {
namespace {

using engine::Core;

// Tokens and logits of all sequences: by request, sequence, place in the output.
using Key = std::tuple<uint64_t, int32_t, size_t>;
struct Chosen {
  TokenId token = kNoToken;
  std::vector<float> logits;
};
using Record = std::map<Key, Chosen>;

constexpr int64_t kContext = 160;

// A TokenChooser that writes down what it is shown.
class RecordingChooser : public engine::TokenChooser {
 public:
  RecordingChooser(sampling::Sampler sampler, std::vector<TokenId> end_tokens,
                   engine::MaskRule masks)
      : TokenChooser(std::move(sampler), std::move(end_tokens), kContext, SpeculationRule::kExact,
                     masks) {}

  Result<engine::ChosenToken> Choose(const engine::Sequence& sequence,
                                     std::span<const float> logits) override {
    Result<engine::ChosenToken> chosen = TokenChooser::Choose(sequence, logits);
    if (!chosen.ok()) {  // its mask is not there yet
      CHECK(chosen.status().code() == ErrorCode::kCancelled);
      return chosen;
    }
    record[{static_cast<uint64_t>(sequence.request->id), sequence.index,
            sequence.output().size()}] = {.token = chosen->token,
                                          .logits = {logits.begin(), logits.end()}};
    return chosen;
  }

  Record record;
};

// Poisons what is freed before it is used again.
class PoisoningNetwork : public engine::Network {
 public:
  PoisoningNetwork(const Model& model, const engine::ResolvedOptions& options)
      : network_(*engine::MakeRunner(model, options)) {}

  void CopyPage(const kv::PageCopy& copy) override {
    // Who replaces a page lets go of its window page: it is copied before others write there.
    std::erase(freed_windows, copy.window_from);
    PoisonFreed();
    network_->CopyPage(copy);
  }
  int64_t PageBytes(kv::PageGroup group) const override { return network_->PageBytes(group); }
  void SavePage(const kv::PageParts& parts, std::span<std::byte> bytes) override {
    network_->SavePage(parts, bytes);
  }
  void LoadPage(const kv::PageParts& parts, std::span<const std::byte> bytes) override {
    PoisonFreed();
    network_->LoadPage(parts, bytes);
  }
  int64_t StateBytes() const override { return network_->StateBytes(); }
  void SaveState(kv::StateId state, int64_t begin, std::span<std::byte> bytes) override {
    network_->SaveState(state, begin, bytes);
  }
  void LoadState(kv::StateId state, int64_t begin, std::span<const std::byte> bytes) override {
    network_->LoadState(state, begin, bytes);
  }
  void CopyState(const kv::StateCopy& copy) override { network_->CopyState(copy); }
  void Forward(const model::StepBatch& batch) override {
    PoisonFreed();
    network_->Forward(batch);
  }
  std::span<const float> Logits(int64_t index) const override { return network_->Logits(index); }
  std::span<const float> Hidden(int64_t index) const override { return network_->Hidden(index); }
  void TurnToLogits(int64_t first, int64_t count) override { network_->TurnToLogits(first, count); }
  float Score(std::span<const float> state) override { return network_->Score(state); }

  std::vector<kv::PageId> freed;
  std::vector<kv::PageId> freed_windows;
  const kv::StatePool* states = nullptr;  // those that nobody holds are poisoned as well

 private:
  void PoisonFreed() {
    for (const kv::PageId page : freed) network_->Poison(kv::PageGroup::kFull, page);
    for (const kv::PageId page : freed_windows) network_->Poison(kv::PageGroup::kWindow, page);
    freed.clear();
    freed_windows.clear();
    for (kv::StateId state = 0; states != nullptr && state < states->total_count(); ++state) {
      if (!states->is_held(state)) network_->PoisonState(state);
    }
  }
  std::unique_ptr<engine::Runner> network_;
};

// Writes embeddings down, as the logits of no token.
class RecordingSink : public EventSink {
 public:
  explicit RecordingSink(Record* record) : record_(*record) {}
  Listening Push(const Event& event) override {
    if (const auto* vector = event.As<EmbeddingEvent>()) {
      record_[{static_cast<uint64_t>(event.request), 0, 0}] = {.logits = vector->values};
    }
    return Listening::kGoOn;
  }
  bool HasRoom(int64_t) const override { return true; }

 private:
  Record& record_;
};

int64_t Draw(uint64_t seed, uint32_t index, int64_t low, int64_t high) {
  return low + static_cast<int64_t>(UniformDouble({.seed = seed}, index) *
                                    static_cast<double>(high - low + 1));
}

// Guesses what the request alone has answered, one token in four of it changed.
class ScriptedProposer : public engine::Proposer {
 public:
  ScriptedProposer(const Record& answers, int64_t vocab) : answers_(answers), vocab_(vocab) {}

  int64_t Propose(std::span<const engine::DraftWish> wishes, int64_t) override {
    for (const engine::DraftWish& wish : wishes) {
      const engine::Sequence& sequence = *wish.sequence;
      for (int64_t i = 0; i < wish.most; ++i) {
        const auto found =
            answers_.find({static_cast<uint64_t>(sequence.request->id), sequence.index,
                           sequence.output().size() + static_cast<size_t>(i)});
        if (found == answers_.end()) break;
        const bool wrong = Draw(0, guesses_++, 0, 3) == 0;
        wish.tokens->push_back(
            static_cast<TokenId>((found->second.token + int64_t{wrong}) % vocab_));
      }
    }
    return 0;
  }
  void Forget(const engine::Sequence&) override {}

 private:
  const Record& answers_;
  const int64_t vocab_;
  uint32_t guesses_ = 0;
};

// Masks come some steps after they were asked for.
class LateMasks : public engine::MaskMaker {
 public:
  explicit LateMasks(uint64_t seed) : seed_(seed) {}

  void Begin(std::shared_ptr<engine::MaskJob> job) override { jobs_.push_back(std::move(job)); }
  // Before a step.
  void MakeSome(uint32_t step) {
    std::erase_if(jobs_, [&](const auto& job) {
      if (Draw(seed_, 1000 + step, 0, 2) > 0) return false;
      grammar::MaskBudget any;
      job->status = job->state.MakeMask(&any);
      job->is_done = true;
      return true;
    });
  }

 private:
  const uint64_t seed_;
  std::vector<std::shared_ptr<engine::MaskJob>> jobs_;
};

// Drafts of a step, of all sequences together.
constexpr int64_t kMaxDraftRows = 12;

// Requests, when they come, and what became of them.
struct Crowd {
  std::map<uint64_t, Request> requests;
  uint64_t seed = 0;
  const Record* answers = nullptr;  // to guess
};
struct Outcome {
  Record record;
  EngineStats stats;
};

Outcome RunAll(const Model& model, const engine::ResolvedOptions& options, const Crowd& crowd) {
  PoisoningNetwork network(model, options);
  engine::CacheManager cache(
      options.page_count, options.state_slots,
      options.whole_texts ? engine::Sharing::kNone : engine::Sharing::kPrefixes, options.windows);
  cache.pool().RecordFreed(&network.freed);
  cache.pool().windows().RecordFreed(&network.freed_windows);
  network.states = &cache.states();
  for (kv::PageId page = 0; page < options.page_count; ++page) network.freed.push_back(page);
  for (kv::PageId page = 0; page < options.window_page_count(); ++page) {
    network.freed_windows.push_back(page);
  }
  support::VirtualClock clock;
  // Of some machine: where a row costs little beside a step, prompts come in large chunks.
  support::TimedNetwork timed(&network, &clock,
                              {.row = 1e-5 * static_cast<double>(Draw(crowd.seed, 905, 1, 50))});
  const engine::Scheduler scheduler;
  Result<sampling::Sampler> sampler =
      sampling::Sampler::Create(model.transformer().network().vocab, kernels::DetectIsa());
  CHECK(sampler.ok());
  const auto ends = model.tokenizer().end_of_generation_ids();
  // Alone each token has its mask, in a crowd where it tells.
  RecordingChooser chooser(
      *std::move(sampler), {ends.begin(), ends.end()},
      crowd.answers == nullptr ? engine::MaskRule::kAlways : engine::MaskRule::kWhereItTells);
  LateMasks masks(crowd.seed);
  std::optional<ScriptedProposer> proposer;
  if (crowd.answers != nullptr && !cache.has_states()) {
    proposer.emplace(*crowd.answers, model.transformer().network().vocab);
  }
  Core core(
      {.context = kContext,
       .max_rows = options.max_rows,
       .max_chunk = options.max_chunk,
       .max_running = options.max_running,
       .least_draft = Draw(crowd.seed, 904, 0, 4),
       .most_draft = 4,
       .max_draft_rows = kMaxDraftRows,
       .prompts = options.whole_texts ? engine::PromptRule::kWhole : engine::PromptRule::kInChunks,
       .mask_steps = Draw(crowd.seed, 908, 0, 20)},
      {.network = timed,
       .clock = clock,
       .cache = cache,
       .scheduler = scheduler,
       .chooser = chooser,
       .proposer = proposer ? &*proposer : nullptr,
       .masks = crowd.answers != nullptr ? &masks : nullptr});
  auto next = crowd.requests.begin();
  for (uint32_t step = 0; next != crowd.requests.end() || !core.idle(); ++step) {
    while (next != crowd.requests.end() && (core.idle() || Draw(crowd.seed, step, 0, 3) == 0)) {
      core.Submit({.id = RequestId{next->first},
                   .request = next->second,
                   .sink = std::make_shared<RecordingSink>(&chooser.record)});
      ++next;
    }
    masks.MakeSome(step);
    core.Step();
  }
  return {std::move(chooser.record), core.Stats()};
}

// Three sequences that begin together and need ten pages at the end: more than a crowd ever has, so
// some of them are preempted, whatever the rest of the schedule is.
void MakeHungry(uint64_t seed, Request* request) {
  request->prompt.resize(std::min<size_t>(request->prompt.size(), 60));
  request->stop.max_tokens = Draw(seed, 906, 97, 100);
}

// Texts of few letters, without end, of which many masks are walks. The tokens of families.txt
// spell nothing: to a mask each of them is a byte here.
Constraint FewLetters(const Tokenizer& tokenizer) {
  const auto grammar = Grammar::FromGbnf(R"(root ::= ([a-k ] | "the " | ".\n" | "x" root "y")*)");
  CHECK(grammar.ok());
  const auto constraint = Constraint::Create(*grammar, Vocabulary::FromTokenizer(tokenizer));
  if (constraint.ok()) return *constraint;
  constexpr std::string_view kBytes = "abcdefghijk the.\nxyz";
  std::vector<std::string_view> tokens(static_cast<size_t>(tokenizer.vocab_size()));
  for (size_t id = 3; id < tokens.size(); ++id) tokens[id] = kBytes.substr(id % kBytes.size(), 1);
  const auto letters = Constraint::Create(*grammar, Vocabulary::FromBytes(tokens));
  CHECK(letters.ok());
  return *letters;
}

// Prompts that share beginnings of random lengths; three are kept to `constraint`. A model that
// only embeds is asked for vectors.
std::map<uint64_t, Request> DrawRequests(const Model& model, uint64_t seed,
                                         const Constraint& constraint) {
  const int64_t vocab = model.transformer().network().vocab;
  const bool generates = model.info().generates;
  std::map<uint64_t, Request> requests;
  for (uint32_t i = 0; i < 8; ++i) {
    const uint64_t trunk = 100 + static_cast<uint64_t>(Draw(seed, 10 * i, 0, 1));
    const int64_t shared = Draw(seed, 10 * i + 1, 0, 70);
    const int64_t length = shared + Draw(seed, 10 * i + 2, 1, 40);
    Request request;
    for (int64_t p = 0; p < length; ++p) {
      const uint64_t source = p < shared ? trunk : seed + 1000 * i;
      request.prompt.push_back(
          static_cast<TokenId>(Draw(source, static_cast<uint32_t>(p), 3, vocab - 1)));
    }
    request.sampling.seed = i;
    request.stop = {.max_tokens = Draw(seed, 10 * i + 3, 1, 40), .ignore_eos = true};
    request.n = i % 3 == 0 ? 3 : 1;
    if (generates && (i == 2 || i == 3 || i == 4)) request.constraint = constraint;
    if (generates && i == 0) MakeHungry(seed, &request);
    if (i % 4 == 1 || !generates) request.pooling = i < 4 ? Pooling::kMean : Pooling::kLast;
    if (!generates) request.n = 1;
    requests[i] = std::move(request);
  }
  return requests;
}

void ExpectSame(const Record& expected, const Record& found) {
  ASSERT_EQ(expected.size(), found.size());
  for (const auto& [key, chosen] : expected) {
    const uint64_t request = std::get<0>(key);
    const auto other = found.find(key);
    ASSERT_TRUE(other != found.end()) << "request " << request;
    ASSERT_EQ(chosen.token, other->second.token) << "request " << request;
    ASSERT_EQ(std::memcmp(chosen.logits.data(), other->second.logits.data(),
                          chosen.logits.size() * sizeof(float)),
              0)
        << "request " << request << " token " << std::get<2>(key);
  }
}

// The crowds run on so many ranks, the requests alone on one.
void CheckModel(const std::string& path, uint64_t schedules, kernels::KvTypes types = {},
                int ranks = 1, const Endless& endless = {}) {
  Result<Model> model = LoadModel({.path = path, .endless = endless});
  ASSERT_TRUE(model.ok()) << model.status().message();
  Result<Model> split = LoadModel({.path = path, .ranks = ranks, .endless = endless});
  ASSERT_TRUE(split.ok()) << split.status().message();
  const bool whole_texts = model::NeedsWholeTexts(model->transformer().network());
  const kv::KvLayout layout = model::KvLayoutOf(model->transformer().network(), types);
  const bool windowed = layout.window > 0 && layout.window < kContext;
  const bool has_states = model::StateFloatsOf(model->transformer().network()) > 0;
  const engine::ResolvedOptions plain = {.context = kContext,
                                         .max_chunk = whole_texts ? kContext : 64,
                                         .max_rows = whole_texts ? kContext : 64,
                                         .max_logit_rows = 3,
                                         .max_running = 3,
                                         .page_count = 20,
                                         .state_slots = has_states ? 3 : 0,
                                         .whole_texts = whole_texts,
                                         .threads = 1,
                                         .kv_types = types};
  const Constraint constraint = FewLetters(model->tokenizer());
  EngineStats sum;
  int64_t cached_tokens = 0;
  // GoogleTest draws a new seed for every run, shuffled or not.
  const int drawn =
      testing::GTEST_FLAG(shuffle) ? testing::UnitTest::GetInstance()->random_seed() : 0;
  const uint64_t first = 1 + schedules * static_cast<uint64_t>(drawn);
  for (uint64_t seed = first; seed < first + schedules; ++seed) {
    Crowd crowd{.requests = DrawRequests(*model, seed, constraint), .seed = seed};
    engine::ResolvedOptions crowded = plain;
    if (!whole_texts) crowded.max_chunk = Draw(seed, 900, 1, 64);
    crowded.max_running = Draw(seed, 901, 3, 8);
    crowded.max_rows = std::max(crowded.max_chunk, crowded.max_running + kMaxDraftRows);
    crowded.max_logit_rows = crowded.max_running + kMaxDraftRows;
    crowded.page_count = Draw(seed, 902, 6, 7);
    if (has_states) crowded.state_slots = crowded.max_running + Draw(seed, 907, 0, 3);
    // As few as a sequence alone can do with: its window, and the rows of a step.
    if (windowed) {
      crowded.windows = {.pages = 5, .positions = layout.window, .pinned = layout.pinned};
    }
    crowded.threads = static_cast<int>(Draw(seed, 903, 1, 3));
    crowded.isa = kernels::DetectIsa();
    Record expected;
    for (const auto& request : crowd.requests) {
      expected.merge(RunAll(*model, plain, {.requests = {request}}).record);
    }
    crowd.answers = &expected;
    const Outcome found = RunAll(*split, crowded, crowd);
    ExpectSame(expected, found.record);
    if (testing::Test::HasFatalFailure()) FAIL() << "schedule " << seed;
    if (whole_texts) continue;  // a text is one step: nothing is shared, preempted or guessed
    EXPECT_GT(found.stats.preemptions, 0) << "schedule " << seed << " is too easy";
    cached_tokens += found.stats.prompt_tokens_cached;
    sum.window_pages_dropped += found.stats.window_pages_dropped;
    EXPECT_TRUE(!windowed || sum.window_pages_dropped > 0) << "nothing falls out of a window";
    sum.constrained_tokens += found.stats.constrained_tokens;
    sum.masks_awaited += found.stats.masks_awaited;
    sum.draft_tokens += found.stats.draft_tokens;
    sum.draft_tokens_accepted += found.stats.draft_tokens_accepted;
  }
  if (whole_texts) return;
  EXPECT_GT(cached_tokens, 0);
  // A schedule alone that was drawn may have fewer than the ones that are always the same.
  EXPECT_GT(sum.constrained_tokens, drawn == 0 ? 50 : 10 * static_cast<int64_t>(schedules));
  EXPECT_GT(sum.masks_awaited, 0);
  if (has_states) return;  // nobody guesses
  EXPECT_GT(sum.draft_tokens_accepted, 100);
  EXPECT_GT(sum.draft_tokens - sum.draft_tokens_accepted, 50);
}

TEST(Schedules, GiveTheBitsOfRequestsAloneOnTheBundledModel) {
  CheckModel(std::string(SKALD_SOURCE_DIR) + "/models/tales/tales.gguf", 4);
}

TEST(Schedules, GiveTheBitsOfRequestsAloneInEndlessTexts) {
  CheckModel(SKALD_GOLDEN_MODELS "/llama-k-Q4_K_M.gguf", 2, {}, 2, {.sinks = 2, .window = 30});
}

TEST(Schedules, GiveTheBitsOfRequestsAloneOnQwen2) {
  CheckModel(SKALD_GOLDEN_MODELS "/qwen2.gguf", 2);
}

TEST(Schedules, GiveTheBitsOfRequestsAloneOnQwen3) {
  CheckModel(SKALD_GOLDEN_MODELS "/qwen3.gguf", 2);
}

TEST(Schedules, GiveTheBitsOfRequestsAloneOnQuantizedLlama) {
  CheckModel(SKALD_GOLDEN_MODELS "/llama-k-Q4_K_M.gguf", 2);
}

TEST(Schedules, GiveTheBitsOfRequestsAloneOnShortConvolutions) {
  CheckModel(SKALD_GOLDEN_MODELS "/lfm2.gguf", 2);
}

TEST(Schedules, GiveTheBitsOfRequestsAloneOnDeltaNets) {
  CheckModel(SKALD_GOLDEN_MODELS "/qwen35.gguf", 2);
}

// Pages of one latent for all heads: shared, copied, preempted and guessed ahead as any others.
TEST(Schedules, GiveTheBitsOfRequestsAloneOnLatentAttention) {
  CheckModel(SKALD_GOLDEN_MODELS "/deepseek2.gguf", 2);
}

// Integers and scales are shared, copied within a page, preempted and guessed ahead as floats are,
// beside states too.
TEST(Schedules, GiveTheBitsOfRequestsAloneWithQuantizedKeysAndValues) {
  CheckModel(SKALD_GOLDEN_MODELS "/qwen2.gguf", 2, kernels::KvType::kQ8);
  CheckModel(SKALD_GOLDEN_MODELS "/qwen3.gguf", 1, kernels::KvType::kQ4);
  CheckModel(SKALD_GOLDEN_MODELS "/qwen35.gguf", 1, kernels::KvType::kQ8);
  CheckModel(SKALD_GOLDEN_MODELS "/lfm2.gguf", 1, {kernels::KvType::kQ8, kernels::KvType::kF16});
  CheckModel(SKALD_GOLDEN_MODELS "/llama-k-Q4_K_M.gguf", 1,
             {kernels::KvType::kF16, kernels::KvType::kQ4});
}

// Every rank has the pages of its heads under the same numbers: they are copied, given back and
// taken again in all of them.
TEST(Schedules, GiveTheBitsOfRequestsAloneOnRanks) {
  CheckModel(SKALD_GOLDEN_MODELS "/qwen2.gguf", 1, {}, 2);
  CheckModel(SKALD_GOLDEN_MODELS "/qwen3moe.gguf", 1, kernels::KvType::kQ8, 3);
}

// One schedule of each family that there is: states, latents, and windows, whose pages are fewer,
// get lost and are NaN then. More of them: HACKING.md.
class FamilySchedules : public testing::TestWithParam<support::FamilyModel> {};

TEST_P(FamilySchedules, GiveTheBitsOfRequestsAlone) {
  const std::string path = support::WriteFamilyModel(GetParam());
  CheckModel(path, 1);
  std::filesystem::remove(path);
}

INSTANTIATE_TEST_SUITE_P(Compact, FamilySchedules, testing::ValuesIn(support::ReadFamilyModels()),
                         [](const auto& model) { return support::TestNameOf(model.param); });

TEST(SchedulesSharedData, GiveTheBitsOfRequestsAloneOnQuantizedLlama) {
  CheckModel(support::SharedData("golden/llama-k-Q4_K_M.gguf"), 3);
}

}  // namespace
}  // namespace skald
