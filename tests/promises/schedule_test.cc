// Promise 1 on the engine with real models: whatever runs beside a request, whatever is cached and
// however often it is preempted, its tokens and the bits of its logits are those of the request
// alone: scalar kernels, one thread, an engine that has seen nothing else. Pages are filled with
// NaN before they are used again.
//
// A few schedules, for CI; others with --gtest_shuffle --gtest_repeat=100.

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "base/check.h"
#include "base/rng.h"
#include "engine/core.h"
#include "engine/model_network.h"
#include "skald/model.h"

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

// A TokenChooser that writes down what it is shown.
class RecordingChooser : public engine::TokenChooser {
 public:
  RecordingChooser(sampling::Sampler sampler, std::vector<TokenId> end_tokens, int64_t context)
      : TokenChooser(std::move(sampler), std::move(end_tokens), context) {}

  Result<engine::ChosenToken> Choose(const engine::Sequence& sequence,
                                     std::span<const float> logits) override {
    Result<engine::ChosenToken> chosen = TokenChooser::Choose(sequence, logits);
    CHECK(chosen.ok());
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
  PoisoningNetwork(const model::Transformer& network, const engine::ResolvedOptions& options)
      : network_(*engine::ModelNetwork::Create(network, options)) {}

  void CopyPage(const kv::PageCopy& copy) override {
    PoisonFreed();
    network_->CopyPage(copy);
  }
  void Forward(const model::StepBatch& batch) override {
    PoisonFreed();
    network_->Forward(batch);
  }
  std::span<const float> Logits(int64_t index) const override { return network_->Logits(index); }

  std::vector<kv::PageId> freed;

 private:
  void PoisonFreed() {
    for (const kv::PageId page : freed) network_->Poison(page);
    freed.clear();
  }
  std::unique_ptr<engine::ModelNetwork> network_;
};

class Deaf : public EventSink {
 public:
  Listening Push(const Event&) override { return Listening::kGoOn; }
  bool HasRoom(int64_t) const override { return true; }
};

int64_t Draw(uint64_t seed, uint32_t index, int64_t low, int64_t high) {
  return low + static_cast<int64_t>(UniformDouble({.seed = seed}, index) *
                                    static_cast<double>(high - low + 1));
}

constexpr int64_t kContext = 160;

// Runs requests to their end, request i submitted before step arrivals[i].
Record RunAll(const Model& model, const engine::ResolvedOptions& options,
              const std::map<uint64_t, Request>& requests, uint64_t seed, int64_t* preemptions) {
  PoisoningNetwork network(model.transformer(), options);
  engine::CacheManager cache(options.page_count);
  cache.pool().RecordFreed(&network.freed);
  for (kv::PageId page = 0; page < options.page_count; ++page) network.freed.push_back(page);
  const engine::RealClock clock;
  const engine::Scheduler scheduler;
  Result<sampling::Sampler> sampler = sampling::Sampler::Create(model.transformer().config().vocab);
  CHECK(sampler.ok());
  const auto ends = model.tokenizer().end_of_generation_ids();
  RecordingChooser chooser(*std::move(sampler), {ends.begin(), ends.end()}, kContext);
  Core core({.context = kContext,
             .max_rows = options.max_rows,
             .max_chunk = options.max_chunk,
             .max_running = options.max_running},
            {.network = network,
             .clock = clock,
             .cache = cache,
             .scheduler = scheduler,
             .chooser = chooser});
  auto next = requests.begin();
  for (uint32_t step = 0; next != requests.end() || !core.idle(); ++step) {
    while (next != requests.end() && (core.idle() || Draw(seed, step, 0, 3) == 0)) {
      core.Submit({.id = RequestId{next->first},
                   .request = next->second,
                   .sink = std::make_shared<Deaf>()});
      ++next;
    }
    core.Step();
  }
  *preemptions += core.Stats().preemptions;
  return std::move(chooser.record);
}

// Prompts that share beginnings of random lengths.
std::map<uint64_t, Request> DrawRequests(int64_t vocab, uint64_t seed) {
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
    requests[i] = std::move(request);
  }
  return requests;
}

void ExpectSame(const Record& expected, const Record& found, uint64_t request) {
  size_t compared = 0;
  for (const auto& [key, chosen] : expected) {
    const auto other = found.find(key);
    ASSERT_TRUE(other != found.end()) << "request " << request;
    ASSERT_EQ(chosen.token, other->second.token) << "request " << request;
    ASSERT_EQ(std::memcmp(chosen.logits.data(), other->second.logits.data(),
                          chosen.logits.size() * sizeof(float)),
              0)
        << "request " << request << " token " << std::get<2>(key);
    ++compared;
  }
  ASSERT_GT(compared, 0u);
}

void CheckModel(const std::string& path, uint64_t schedules) {
  Result<Model> model = LoadModel({.path = path});
  ASSERT_TRUE(model.ok()) << model.status().message();
  const int64_t vocab = model->transformer().config().vocab;
  const engine::ResolvedOptions plain = {.context = kContext,
                                         .max_chunk = 64,
                                         .max_rows = 64,
                                         .max_logit_rows = 1,
                                         .max_running = 3,
                                         .page_count = 20,
                                         .threads = 1};
  int64_t preemptions = 0;
  const auto first =
      1 + schedules * static_cast<uint64_t>(testing::UnitTest::GetInstance()->random_seed());
  for (uint64_t seed = first; seed < first + schedules; ++seed) {
    const auto requests = DrawRequests(vocab, seed);
    engine::ResolvedOptions crowded = plain;
    crowded.max_chunk = Draw(seed, 900, 1, 64);
    crowded.max_running = Draw(seed, 901, 3, 8);
    crowded.max_rows = std::max(crowded.max_chunk, crowded.max_running);
    crowded.page_count = Draw(seed, 902, 6, 7);
    crowded.threads = static_cast<int>(Draw(seed, 903, 1, 3));
    crowded.isa = kernels::DetectIsa();
    const Record found = RunAll(*model, crowded, requests, seed, &preemptions);
    size_t expected_count = 0;
    for (const auto& [id, request] : requests) {
      int64_t none = 0;
      const Record expected = RunAll(*model, plain, {{id, request}}, 0, &none);
      ExpectSame(expected, found, id);
      expected_count += expected.size();
      if (testing::Test::HasFatalFailure()) FAIL() << "schedule " << seed;
    }
    ASSERT_EQ(found.size(), expected_count);
  }
  EXPECT_GT(preemptions, 0) << "the schedules are too easy";
}

TEST(Schedules, GiveTheBitsOfRequestsAloneOnTheBundledModel) {
  CheckModel(std::string(SKALD_SOURCE_DIR) + "/models/tales/tales.gguf", 4);
}

TEST(SchedulesSharedData, GiveTheBitsOfRequestsAloneOnQwen2) {
  CheckModel(std::string(SKALD_SOURCE_DIR) + "/../shared/golden/qwen2.gguf", 3);
}

TEST(SchedulesSharedData, GiveTheBitsOfRequestsAloneOnQuantizedLlama) {
  CheckModel(std::string(SKALD_SOURCE_DIR) + "/../shared/golden/llama-k-Q4_K_M.gguf", 3);
}

}  // namespace
}  // namespace skald
