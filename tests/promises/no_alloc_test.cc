// A step allocates nothing: neither the forward pass of a prefill, a decode or a mixture, nor the
// sampling of a token, nor the engine around them once its lists have grown. This program replaces
// the global allocation functions by ones that count.

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include "base/check.h"
#include "base/rng.h"
#include "engine/core.h"
#include "engine/draft_proposer.h"
#include "engine/model_network.h"
#include "engine/ngram_proposer.h"
#include "kv/page_table.h"
#include "model/step_tap.h"
#include "sampling/sampler.h"
#include "support/random_model.h"
#include "support/virtual_clock.h"

namespace {

// Allocations of this process since its start. Constant initialization: the first come before main.
std::atomic<int64_t> allocations{0};

void* Allocate(size_t bytes, size_t alignment) {
  ++allocations;
  void* memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  CHECK(memory != nullptr);
  return memory;
}

constexpr size_t kDefaultAlignment = __STDCPP_DEFAULT_NEW_ALIGNMENT__;

}  // namespace

void* operator new(size_t bytes) { return Allocate(bytes, kDefaultAlignment); }
void* operator new(size_t bytes, std::align_val_t alignment) {
  return Allocate(bytes, static_cast<size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }

namespace skald {
namespace {

// Allocations during `work`.
template <typename Work>
int64_t AllocationsOf(Work work) {
  const int64_t before = allocations;
  work();
  return allocations - before;
}

TEST(Counting, CountsAllocationsOfEveryThread) {
  ThreadPool pool(2);
  // A compiler may leave out a new and a delete of its own, but not two calls of the operators.
  const auto allocate = [] { ::operator delete(::operator new(sizeof(int))); };
  EXPECT_EQ(AllocationsOf(allocate), 1);
  EXPECT_EQ(AllocationsOf([&] { pool.Run(64, [&](int64_t, int) { allocate(); }); }), 64);
  EXPECT_EQ(AllocationsOf([] {
              constexpr std::align_val_t kLine{64};
              ::operator delete(::operator new(1000, kLine), kLine);
            }),
            1);
}

// A network with room for two sequences.
class Steps {
 public:
  static constexpr int64_t kPositions = 320;
  static constexpr int64_t kRows = 80;

  Steps(const model::Transformer& network, kernels::Isa isa, int threads)
      : network_(network),
        kernels_(kernels::TableFor(isa)),
        pool_(threads),
        ropes_(model::RopeTablesOf(network.network(), kPositions)),
        store_(Value(
            kv::KvStore::Create(model::KvLayoutOf(network.network(), kernels::KvType::kF16), 32))),
        states_(Value(kv::StateStore::Create(
            {.floats = model::StateFloatsOf(network.network()), .slots = 2}))),
        workspace_(Value(model::Workspace::Create(
            network.network(), {.rows = kRows, .logit_rows = 2, .threads = threads}))),
        pages_(32),
        first_(&pages_, kPositions),
        second_(&pages_, kPositions) {
    CHECK(first_.Reserve(kPositions) && second_.Reserve(kPositions));
  }

  // `first` rows of one sequence and `second` of the other, after `depth` positions of both. With a
  // profile it is timed and shows itself.
  int64_t AllocationsOfStep(int64_t first, int64_t second, int64_t depth,
                            model::StepProfile* profile = nullptr) {
    const std::vector<TokenId> tokens(static_cast<size_t>(first + second), 7);
    const std::vector<model::SequenceRows> rows = {
        {.row_count = first, .first_position = depth, .pages = first_.pages(), .state = 0},
        {.row_count = second, .first_position = depth, .pages = second_.pages(), .state = 1}};
    const std::vector<int32_t> wanted = {static_cast<int32_t>(first - 1),
                                         static_cast<int32_t>(first + second - 1)};
    const std::vector<int32_t> none;
    const bool embeds = model::NeedsWholeTexts(network_.network());
    const model::StepBatch batch = {.tokens = tokens,
                                    .sequences = rows,
                                    .logit_rows = embeds ? none : wanted,
                                    .hidden_rows = embeds ? wanted : none};
    const model::Execution execution{kernels_, pool_, profile};
    if (profile != nullptr && profile->tap != nullptr) profile->tap->Begin(batch);
    return AllocationsOf([&] {
      network_.Forward(batch, {.store = store_,
                               .workspace = workspace_,
                               .ropes = ropes_,
                               .execution = execution,
                               .states = &states_});
    });
  }

 private:
  template <typename T>
  static T Value(Result<T> result) {
    CHECK(result.ok());
    return *std::move(result);
  }

  const model::Transformer& network_;
  kernels::KernelTable kernels_;
  ThreadPool pool_;
  std::vector<model::RopeTable> ropes_;
  kv::KvStore store_;
  kv::StateStore states_;
  model::Workspace workspace_;
  kv::PagePool pages_;
  kv::PageTable first_;
  kv::PageTable second_;
};

// Layers that lack a block or have more than two, and mixtures of their own kinds.
void AddUnusualNetworks(std::vector<support::RandomModelSpec>& specs) {
  const auto side_by_side = [](model::Network& network) {
    network.layers[1].beside = model::Mamba2{.width = network.width,
                                             .heads = 4,
                                             .head_dim = 64,
                                             .state_dim = 16,
                                             .groups = 2,
                                             .taps = 4};
    auto& experts = std::get<model::Experts>(network.layers[0].feed_forward);
    experts.form = model::ExpertForm::kPlain;
    experts.latent = 64;
    experts.shared.hidden = 64;
    network.layers[0].mixer = model::None{};
    network.layers[0].mixer_norm.kind = model::NormKind::kNone;
  };
  specs.push_back({.family = "qwen3moe",
                   .dtype = tensor::DType::kQ8_0,
                   .experts = 6,
                   .used_experts = 2,
                   .change = side_by_side});
  specs.push_back(
      {.family = "gemma4", .dtype = tensor::DType::kQ8_0, .experts = 6, .used_experts = 2});
  const auto inputs = [](model::Network& network) {
    network.layer_inputs = {.vocab = network.vocab,
                            .width = network.width,
                            .inner = 32,
                            .layers = 2,
                            .norm = network.head.norm};
    network.layers[1].input = model::LayerInput{.width = network.width, .inner = 32, .first = 32};
    std::get<model::Gqa>(network.layers[1].mixer).shared_kv = 0;
    network.streams = {.width = network.width, .count = 3};
    network.layers[1].alt_up =
        model::AltUp{.width = network.width, .streams = 3, .router_norm = network.head.norm};
    network.layers[1].laurel =
        model::Laurel{.width = network.width, .rank = 32, .norm = network.head.norm};
    std::get<model::Gated>(network.layers[1].feed_forward).sparsity = 0.5f;
  };
  specs.push_back({.dtype = tensor::DType::kQ8_0, .change = inputs});
}

// Weights of every kind of sum, and every kind of block.
std::vector<support::RandomModelSpec> NetworksOfEveryKind() {
  std::vector<support::RandomModelSpec> specs = {
      {.dtype = tensor::DType::kQ4_K},
      {.dtype = tensor::DType::kQ8_0},
      {.dtype = tensor::DType::kF16},
      {.family = "qwen3moe", .dtype = tensor::DType::kQ8_0, .experts = 5, .used_experts = 2}};
  const auto conv = [](model::Network& network) {
    network.layers[0].mixer = model::ShortConv{.width = network.width, .taps = 3};
  };
  specs.push_back({.dtype = tensor::DType::kQ8_0, .change = conv});
  const auto delta = [](model::Network& network) {
    network.layers[0].mixer = model::DeltaNet{.width = network.width,
                                              .key_heads = 2,
                                              .value_heads = 4,
                                              .key_dim = 16,
                                              .value_dim = 64,
                                              .taps = 4};
    std::get<model::Gqa>(network.layers[1].mixer).output_gate = model::OutputGate::kSigmoid;
  };
  specs.push_back({.dtype = tensor::DType::kQ8_0, .change = delta});
  const auto scan = [](model::Network& network) {
    network.layers[0].mixer = model::Mamba2{.width = network.width,
                                            .heads = 4,
                                            .head_dim = 64,
                                            .state_dim = 16,
                                            .groups = 2,
                                            .taps = 4};
  };
  specs.push_back({.dtype = tensor::DType::kQ8_0, .change = scan});
  const auto latent = [](model::Network& network) {
    network.layers[0].mixer = model::Mla{.width = network.width,
                                         .heads = 5,
                                         .nope_dim = 32,
                                         .rope_dim = 32,
                                         .value_dim = 32,
                                         .rank = 64,
                                         .query_rank = 96,
                                         .scale = 0.2f};
  };
  specs.push_back({.dtype = tensor::DType::kQ8_0, .change = latent});
  const auto kda = [](model::Network& network) {
    network.layers[0].mixer =
        model::Kda{.width = network.width, .heads = 2, .head_dim = 32, .taps = 4};
  };
  specs.push_back({.dtype = tensor::DType::kQ8_0, .change = kda});
  AddUnusualNetworks(specs);
  return specs;
}

TEST(NoAllocation, StepsOfEveryKind) {
  for (const support::RandomModelSpec& spec : NetworksOfEveryKind()) {
    const model::Transformer network = support::MakeRandomModel(spec);
    for (const kernels::Isa isa : {kernels::ScalarIsa(), kernels::DetectIsa()}) {
      for (const int threads : {1, 2, 3}) {
        SCOPED_TRACE(testing::Message() << spec.family << ", " << tensor::InfoOf(spec.dtype).name
                                        << ", " << isa.name << ", " << threads);
        Steps steps(network, isa, threads);
        EXPECT_EQ(steps.AllocationsOfStep(40, 40, 0), 0) << "prefill";
        EXPECT_EQ(steps.AllocationsOfStep(1, 1, 300), 0) << "decode";
        EXPECT_EQ(steps.AllocationsOfStep(17, 1, 301), 0) << "mixture";
      }
    }
  }
}

// What is shown of a step (skald explain) costs nothing where nobody has asked for it: a step that
// is timed alone, or has a tap without wishes, takes no memory either. With any one wish it does,
// which shows that the places are there.
TEST(NoAllocation, StepsThatNobodyLooksInto) {
  for (const support::RandomModelSpec& spec : NetworksOfEveryKind()) {
    const model::Transformer network = support::MakeRandomModel(spec);
    Steps steps(network, kernels::DetectIsa(), 2);
    std::vector<model::PartSeconds> parts;
    const auto allocations = [&](const model::TapWishes& wishes) {
      model::StepTap tap(wishes);
      model::StepProfile profile;
      profile.parts = &parts;
      profile.tap = &tap;
      return steps.AllocationsOfStep(3, 1, 300, &profile);
    };
    allocations({});  // the list of parts has grown
    SCOPED_TRACE(testing::Message() << spec.family << ", " << tensor::InfoOf(spec.dtype).name);
    EXPECT_EQ(allocations({}), 0);
    EXPECT_GT(allocations({.depth = true}), 0);
    EXPECT_GT(allocations({.values = true}), 0);
    EXPECT_EQ(allocations({.experts = true}) > 0, spec.experts > 0);
  }
}

TEST(NoAllocation, StepsOfWholeTexts) {
  const auto project = [](model::Network& network) {
    network.token_types = 2;
    network.hidden_projection = {.width = network.width, .inner = 64, .output = 512};
  };
  for (const char* family : {"bert", "jina-bert-v2", "modern-bert", "gemma-embedding"}) {
    const model::Transformer network = support::MakeRandomModel(
        {.family = family, .dtype = tensor::DType::kQ8_0, .change = project});
    for (const int threads : {1, 3}) {
      Steps steps(network, kernels::DetectIsa(), threads);
      EXPECT_EQ(steps.AllocationsOfStep(40, 40, 0), 0) << family;
      EXPECT_EQ(steps.AllocationsOfStep(1, 79, 0), 0) << family;
    }
  }
}

TEST(NoAllocation, SamplingOfEveryKind) {
  constexpr int64_t kVocab = 5000;
  Result<sampling::Sampler> sampler = sampling::Sampler::Create(kVocab, kernels::DetectIsa());
  ASSERT_TRUE(sampler.ok());
  std::vector<float> logits;
  for (uint32_t i = 0; i < kVocab; ++i) {
    logits.push_back(static_cast<float>(9 * UniformDouble({}, i)));
  }
  const std::vector<TokenId> history = {1, 2, 3};
  std::vector<SamplingParams> settings(6);
  settings[0].temperature = 0;
  settings[1].top_logprobs = kMaxTopLogprobs;
  settings[2].truncation = {.top_k = 0, .top_p = 0.9, .min_p = 0.1, .typical_p = 0.9};
  settings[2].penalties = {.repetition = 1.1, .presence = 1, .frequency = 1};
  settings[2].logit_bias = {{7, 1}, {8, -1}};
  settings[3].truncation = {.top_k = 4000, .top_p = 1, .min_p = 0};
  settings[3].order = SamplingOrder::kLlamaCpp;
  settings[4].truncation.top_n_sigma = 1;
  settings[4].truncation.xtc_probability = 1;
  settings[4].dynamic_temperature.range = 0.5;
  settings[4].dry = {.multiplier = 1, .breakers = {5}};
  settings[5].mirostat = {.version = 2};
  bool all_ok = true;
  EXPECT_EQ(AllocationsOf([&] {
              for (const SamplingParams& params : settings) {
                const sampling::SampleInput input = {
                    .logits = logits, .prompt = history, .output = history, .key = {}};
                all_ok &= sampler->Sample(input, params).ok();
              }
              all_ok &= sampler->TopLogprobs(logits, kVocab).ok();
            }),
            0);
  EXPECT_TRUE(all_ok);
}

const engine::ResolvedOptions kOptions = {.context = 256,
                                          .max_chunk = 64,
                                          .max_rows = 64,
                                          .max_logit_rows = 12,
                                          .max_running = 4,
                                          .page_count = 40,
                                          .threads = 2,
                                          .isa = kernels::DetectIsa()};

// What an engine has of a model.
struct ModelParts {
  ModelParts(const model::Transformer& network, SpeculationRule rule)
      : forward(*engine::ModelNetwork::Create(network, kOptions)),
        cache(kOptions.page_count),
        chooser(*sampling::Sampler::Create(network.network().vocab, kernels::DetectIsa()), {},
                kOptions.context, rule) {}

  std::unique_ptr<engine::ModelNetwork> forward;
  engine::CacheManager cache;
  engine::TokenChooser chooser;
};

// Two requests, three sequences that decode across page borders, two of them forks that share a
// page.
struct SteadyState {
  int64_t allocations = 0;  // of sixty steps, once they decode
  EngineStats stats;
};
SteadyState RunSteps(ModelParts& parts, engine::Proposer* proposer) {
  support::VirtualClock clock;
  TraceRing ring({.capacity = 1 << 14, .model_probabilities = true});
  engine::Tracer tracer(&ring, clock);
  support::TimedNetwork network(parts.forward.get(), &clock);
  const engine::Scheduler scheduler;
  engine::Core core({.context = kOptions.context,
                     .max_rows = kOptions.max_rows,
                     .max_chunk = kOptions.max_chunk,
                     .max_running = kOptions.max_running,
                     .least_draft = 2,
                     .most_draft = 2,
                     .max_draft_rows = 8},
                    {.network = network,
                     .clock = clock,
                     .cache = parts.cache,
                     .scheduler = scheduler,
                     .chooser = parts.chooser,
                     .proposer = proposer,
                     .tracer = &tracer});
  for (uint64_t id = 1; id <= 2; ++id) {
    Request request{.prompt = std::vector<TokenId>(10 * id, static_cast<TokenId>(id))};
    request.n = static_cast<int32_t>(id);
    // The chances of a guess are a list, here of the same length for each: it soon has its size.
    request.sampling.truncation = {.top_k = 40, .top_p = 1, .min_p = 0};
    core.Submit({.id = RequestId{id},
                 .request = std::move(request),
                 .sink = std::make_shared<EventQueue>(1000)});
  }
  // Until prompts are computed, by a draft model too, and lists have grown.
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(core.Step());
  EXPECT_EQ(core.running().size(), 3u);
  SteadyState steady;
  steady.allocations = AllocationsOf([&] {
    for (int i = 0; i < 60; ++i) core.Step();
  });
  steady.stats = core.Stats();
  EXPECT_EQ(steady.stats.running, 3);
  EXPECT_GT(steady.stats.output_tokens, 180);
  std::vector<TraceEvent> record;
  ring.Take(&record);
  EXPECT_GT(record.size(), 500u);
  EXPECT_EQ(ring.lost_count(), 0);
  return steady;
}

// The engine around the forward pass: planning, pages, tree, guesses, sampling, events, and the
// record of it all.
TEST(NoAllocation, StepsOfTheEngineInSteadyState) {
  const model::Transformer network = support::MakeRandomModel({});
  ModelParts parts(network, SpeculationRule::kExact);
  engine::NgramProposer proposer;
  EXPECT_EQ(RunSteps(parts, &proposer).allocations, 0);
}

// The draft model guesses with other weights of the same kind, so some guesses are right.
TEST(NoAllocation, StepsWithADraftModelUnderBothRules) {
  const model::Transformer network = support::MakeRandomModel({});
  const model::Transformer draft = support::MakeRandomModel({.seed = 2});
  for (const auto rule : {SpeculationRule::kExact, SpeculationRule::kRejection}) {
    ModelParts parts(network, rule);
    ModelParts draft_parts(draft, rule);
    engine::DraftProposer proposer({.network = *draft_parts.forward,
                                    .cache = draft_parts.cache,
                                    .chooser = draft_parts.chooser,
                                    .max_rows = kOptions.max_rows,
                                    .context = kOptions.context});
    const SteadyState steady = RunSteps(parts, &proposer);
    EXPECT_EQ(steady.allocations, 0);
    EXPECT_GT(steady.stats.draft_tokens_accepted, 0);
    EXPECT_LT(steady.stats.draft_tokens_accepted, steady.stats.draft_tokens);
  }
}

}  // namespace
}  // namespace skald
