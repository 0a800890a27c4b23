// What an engine says of itself while a step is being computed, and what it counts.

#include "engine/engine_loop.h"

#include <gtest/gtest.h>
#include <time.h>

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>

#include "base/check.h"
#include "sim/fake_network.h"
#include "support/soon.h"
#include "support/virtual_clock.h"

namespace skald::sim {
namespace {

// Its forward pass lasts until the test lets it end.
class SlowNetwork : public FakeNetwork {
 public:
  using FakeNetwork::FakeNetwork;

  void Forward(const model::StepBatch& batch) override {
    FakeNetwork::Forward(batch);
    std::unique_lock lock(mutex_);
    ++begun_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return ended_ >= begun_; });
  }
  void AwaitForward(int64_t number) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return begun_ >= number; });
  }
  void LetEnd(int64_t number) {
    const std::lock_guard lock(mutex_);
    ended_ = number;
    changed_.notify_all();
  }
  void LetAllEnd() { LetEnd(int64_t{1} << 30); }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int64_t begun_ = 0;
  int64_t ended_ = 0;
};

// However a test ends, the engine must not stand in a step then.
class EndOfTest {
 public:
  explicit EndOfTest(SlowNetwork& network) : network_(network) {}
  ~EndOfTest() { network_.LetAllEnd(); }

 private:
  SlowNetwork& network_;
};

sampling::Sampler MakeSampler() {
  Result<sampling::Sampler> sampler = sampling::Sampler::Create(kVocab, kernels::DetectIsa());
  CHECK(sampler.ok());
  return *std::move(sampler);
}

// A core of 40 pages and four places.
template <typename Network>
struct Parts {
  explicit Parts(engine::Proposer* proposer = nullptr)
      : network(40, &freed, Fault::kNone),
        cache(40),
        chooser(MakeSampler(), {kEnd}, 512),
        core({.context = 512,
              .max_rows = 64,
              .max_chunk = 64,
              .max_running = 4,
              .least_draft = proposer == nullptr ? 0 : 3,
              .most_draft = proposer == nullptr ? 0 : 3,
              .max_draft_rows = proposer == nullptr ? 0 : 12},
             {.network = network,
              .clock = clock,
              .cache = cache,
              .scheduler = scheduler,
              .chooser = chooser,
              .proposer = proposer}) {
    cache.pool().RecordFreed(&freed);
    network.SetNamespaceOf([](const kv::PageId*) { return uint64_t{0}; });
  }

  std::vector<kv::PageId> freed;
  support::VirtualClock clock;
  Network network;
  engine::CacheManager cache;
  engine::Scheduler scheduler;
  engine::TokenChooser chooser;
  engine::Core core;
};

Request Ask(int64_t prompt_tokens) {
  Request request;
  request.prompt.assign(static_cast<size_t>(prompt_tokens), 1);
  request.stop = {.max_tokens = 100, .ignore_eos = true};
  return request;
}

// A first prefill of nine seconds said that nothing ran.
TEST(EngineLoop, SaysWhoRunsAndWaitsDuringALongStep) {
  Parts<SlowNetwork> parts;
  engine::EngineLoop loop(&parts.core, &parts.clock, 8);
  ASSERT_TRUE(loop.Submit(Ask(300), std::make_shared<EventQueue>()).ok());
  parts.network.AwaitForward(1);
  EXPECT_EQ(loop.Stats().running, 1);
  EXPECT_EQ(loop.Stats().requests_running, 1);
  EXPECT_EQ(loop.Stats().waiting, 0);
  ASSERT_EQ(loop.Requests().size(), 1u);
  EXPECT_EQ(RequestPhaseName(loop.Requests()[0].phase), "prefill");
  ASSERT_TRUE(loop.Submit(Ask(300), std::make_shared<EventQueue>()).ok());
  EXPECT_EQ(loop.Stats().waiting, 1);
  EXPECT_EQ(loop.Stats().requests_waiting, 1);
  parts.network.LetAllEnd();
}

// Who came during a long step was not to be seen before its end, nor where it was queued behind the
// next one.
TEST(EngineLoop, ShowsRequestsThatComeDuringAStep) {
  Parts<SlowNetwork> parts;
  engine::EngineLoop loop(&parts.core, &parts.clock, 8);
  const auto submit = [&](const char* label, int32_t n) {
    Request request = Ask(300);
    request.label = label;
    request.n = n;
    ASSERT_TRUE(loop.Submit(std::move(request), std::make_shared<EventQueue>()).ok());
  };
  submit("first", 1);
  parts.network.AwaitForward(1);
  submit("second", 4);
  const auto expect_both = [&] {
    const std::vector<RequestProgress> requests = loop.Requests();
    ASSERT_EQ(requests.size(), 2u);
    EXPECT_EQ(requests[0].label, "first");
    EXPECT_EQ(requests[1].label, "second");
    EXPECT_EQ(RequestPhaseName(requests[1].phase), "queued");
    EXPECT_LT(requests[0].id, requests[1].id);
    EXPECT_EQ(requests[1].prompt_tokens, 300);
    EXPECT_EQ(requests[1].computed_tokens, 0);
    EXPECT_EQ(requests[1].sequences, 4);
  };
  expect_both();
  parts.network.LetEnd(1);
  parts.network.AwaitForward(2);
  expect_both();
  parts.network.LetAllEnd();
}

// Who had gone was shown as running until the step was over.
TEST(EngineLoop, ShowsNobodyWhoHasGoneDuringALongStep) {
  Parts<SlowNetwork> parts;
  engine::EngineLoop loop(&parts.core, &parts.clock, 8);
  const EndOfTest end(parts.network);
  ASSERT_TRUE(loop.Submit(Ask(300), std::make_shared<EventQueue>()).ok());
  parts.network.AwaitForward(1);
  const Result<RequestId> gone = loop.Submit(Ask(300), std::make_shared<EventQueue>());
  ASSERT_TRUE(gone.ok());
  parts.network.LetEnd(1);
  parts.network.AwaitForward(2);  // the engine takes who has come before it computes
  EXPECT_EQ(loop.Requests().size(), 2u);
  EXPECT_EQ(loop.Stats().submitted, 2);
  EXPECT_EQ(loop.Stats().prompt_tokens, 300) << "of the one that is admitted";
  loop.Cancel(*gone);
  parts.network.LetEnd(2);
  parts.network.AwaitForward(3);
  ASSERT_EQ(loop.Requests().size(), 1u);
  EXPECT_NE(loop.Requests()[0].id, *gone);
  EXPECT_EQ(loop.Stats().requests_waiting, 0);
  EXPECT_EQ(loop.Stats().finished[static_cast<size_t>(FinishReason::kCancelled)], 1);
}

// Four prompts of 8 pages are fewer than 40 pages, with their answers they are more. A request that
// gave its pages up was shown as running in the step that took them.
TEST(EngineLoop, ShowsWhoLostItsPagesDuringALongStep) {
  Parts<SlowNetwork> parts;
  engine::EngineLoop loop(&parts.core, &parts.clock, 8);
  const EndOfTest end(parts.network);
  for (uint64_t i = 0; i < 4; ++i) {
    Request request = Ask(250);
    request.cache_namespace = i;  // they share nothing
    request.stop.max_tokens = 250;
    ASSERT_TRUE(loop.Submit(std::move(request), std::make_shared<EventQueue>(1000)).ok());
  }
  int64_t step = 0;
  do {
    parts.network.LetEnd(step);
    parts.network.AwaitForward(++step);
    parts.clock.Advance(1e-3);  // whatever its rows: prompts are computed at once
  } while (loop.Stats().preemptions == 0 && step < 250);
  ASSERT_EQ(loop.Stats().preemptions, 1);
  const std::vector<RequestProgress> requests = loop.Requests();
  ASSERT_EQ(requests.size(), 4u);
  const auto lost = std::find_if(requests.begin(), requests.end(), [](const auto& request) {
    return request.phase == RequestPhase::kPreempted;
  });
  ASSERT_NE(lost, requests.end());
  EXPECT_EQ(lost->pages, 0);
}

// What people see of a step stands there before it is computed, with what came since.
TEST(EngineLoop, ShowsALongStepWhileItIsComputed) {
  Parts<SlowNetwork> parts;
  engine::EngineLoop loop(&parts.core, &parts.clock, 8);
  const EndOfTest end(parts.network);
  EXPECT_EQ(loop.Look().view, nullptr);
  Request first = Ask(300);
  first.cache_namespace = 7;
  first.tenant = 3;
  ASSERT_TRUE(loop.Submit(std::move(first), std::make_shared<EventQueue>()).ok());
  parts.network.AwaitForward(1);
  const auto view = loop.Look().view;
  ASSERT_NE(view, nullptr);
  EXPECT_TRUE(view->step.computing);
  EXPECT_EQ(view->step.prompt_rows, 64) << "of 300, by max_chunk";
  EXPECT_EQ(view->step.decode_rows, 0);
  EXPECT_EQ(view->step.admitted, 1);
  ASSERT_EQ(view->step.rows.size(), 1u);
  EXPECT_EQ(view->step.rows[0].rows, 64);
  ASSERT_EQ(view->requests.size(), 1u);
  EXPECT_EQ(RequestPhaseName(view->requests[0].phase), "prefill");
  EXPECT_EQ(view->requests[0].tenant, 3);
  EXPECT_EQ(view->stats.running, 1);
  EXPECT_EQ(view->pages.cells.size(), 40u);
  EXPECT_EQ(view->pages.cells[0].held + view->pages.cells[39].held, 1);
  int64_t held = 0;
  for (const PageCell& cell : view->pages.cells) {
    held += cell.held;
    EXPECT_EQ(cell.request, cell.held > 0 ? 0 : -1);
    EXPECT_EQ(cell.free + cell.held, 1);
  }
  EXPECT_EQ(held, 2) << "64 positions";

  ASSERT_TRUE(loop.Submit(Ask(200), std::make_shared<EventQueue>()).ok());
  EXPECT_TRUE(loop.Look().arrived.empty()) << "the step is no long one yet";
  parts.clock.Advance(1);
  const EngineLook later = loop.Look();
  EXPECT_EQ(later.view, view) << "the same step";
  EXPECT_EQ(later.seconds, 1);
  ASSERT_EQ(later.arrived.size(), 1u);
  EXPECT_EQ(later.arrived[0].prompt_tokens, 200);

  parts.network.LetEnd(1);
  parts.network.AwaitForward(2);
  const auto next = loop.Look().view;
  EXPECT_EQ(next->step.number, 1);
  EXPECT_EQ(next->last.seconds, 1);
  EXPECT_EQ(next->last.work.rows, 64);
  EXPECT_EQ(next->requests.size(), 2u);
  ASSERT_EQ(next->prefixes.edges.size(), 2u) << "a namespace, and what is computed of its text";
  EXPECT_EQ(next->prefixes.edges[0].space, 7u);
  EXPECT_EQ(next->prefixes.edges[1].end, 64);
}

// An engine that sleeps is woken by who looks.
TEST(EngineLoop, ShowsAnEngineThatHasNothingToDo) {
  Parts<FakeNetwork> parts;
  engine::EngineLoop loop(&parts.core, &parts.clock, 8);
  ASSERT_TRUE(Soon([&] { return loop.Look().view != nullptr; }));
  EXPECT_FALSE(loop.Look().view->step.computing);
  EXPECT_EQ(loop.Look().view->pages.cells.size(), 40u);
}

// A request of four sequences that gave its places up is one that waits, not four.
TEST(Core, CountsRequestsThatWaitAndDisplacements) {
  Parts<FakeNetwork> parts;
  for (uint64_t id = 1; id <= 2; ++id) {
    Request request = Ask(20 * static_cast<int64_t>(id));
    request.n = 4;
    request.priority = static_cast<int32_t>(id);
    parts.core.Submit({.id = RequestId{id},
                       .request = std::move(request),
                       .sink = std::make_shared<EventQueue>()});
    for (int i = 0; i < 3; ++i) parts.core.Step();
  }
  EXPECT_EQ(parts.core.Stats().running, 4);
  EXPECT_EQ(parts.core.Stats().waiting, 4);
  EXPECT_EQ(parts.core.Stats().requests_running, 1);
  EXPECT_EQ(parts.core.Stats().requests_waiting, 1);
  EXPECT_EQ(parts.core.Stats().displacements, 4);
}

// As many wrong guesses as it is told, of those it is asked for.
class WrongProposer : public engine::Proposer {
 public:
  explicit WrongProposer(size_t guesses) : guesses_(guesses) {}
  int64_t Propose(std::span<const engine::DraftWish> wishes, int64_t) override {
    for (const engine::DraftWish& wish : wishes) wish.tokens->assign(guesses_, kEnd);
    return 0;
  }
  void Forget(const engine::Sequence&) override {}

 private:
  const size_t guesses_;
};

// A draft model that is behind guesses nothing: its tenant had three rows a step to its debit.
TEST(Core, ATenantIsChargedForGuessesThatWereMade) {
  for (const size_t guesses : {0, 2}) {
    WrongProposer proposer(guesses);
    Parts<FakeNetwork> parts(&proposer);
    Request request = Ask(20);
    request.sampling.logit_bias = {{kEnd, -1e9f}};
    parts.core.Submit({.id = RequestId{1},
                       .request = std::move(request),
                       .sink = std::make_shared<EventQueue>()});
    for (int i = 0; i < 11; ++i) parts.core.Step();
    ASSERT_EQ(parts.core.requests().size(), 1u);
    EXPECT_EQ(parts.core.requests()[0]->tenant->view.used / engine::kTenantScale,
              20 + 10 * static_cast<int64_t>(1 + guesses));
  }
}

// A reader that has room as long as it is told to.
class HeldSink : public EventSink {
 public:
  Listening Push(const Event& event) override {
    tokens += int{event.Is<TokenEvent>()};
    return Listening::kGoOn;
  }
  bool HasRoom(int64_t) const override { return has_room; }
  bool has_room = true;
  int tokens = 0;
};

void Submit(engine::Core& core, uint64_t id, Request request,
            std::shared_ptr<EventSink> sink = std::make_shared<EventQueue>(1000),
            double seconds = 0) {
  core.Submit({.id = RequestId{id},
               .request = std::move(request),
               .sink = std::move(sink),
               .seconds = seconds});
}

// Its place goes to others when nothing is left to compute without a token.
TEST(Core, ThePromptOfASlowReaderIsComputedThoughOthersWait) {
  Parts<FakeNetwork> parts;
  const auto sink = std::make_shared<HeldSink>();
  Request request = Ask(300);
  request.n = 4;  // all places
  Submit(parts.core, 1, std::move(request), sink);
  parts.core.Step();
  sink->has_room = false;
  Submit(parts.core, 2, Ask(20));
  for (int i = 0; i < 3; ++i) parts.core.Step();
  EXPECT_EQ(parts.core.Stats().preemptions, 0);
  EXPECT_EQ(parts.core.requests()[0]->sequences[0]->computed, 4 * 64);
  for (int i = 0; i < 3; ++i) parts.core.Step();
  EXPECT_EQ(parts.core.Stats().preemptions, 1);
  EXPECT_EQ(parts.core.Stats().requests_running, 1);
  EXPECT_GT(parts.core.Stats().output_tokens, 0);
  EXPECT_EQ(sink->tokens, 0);
}

// A wait in the queue is no time of the prompt.
TEST(Core, TheTimesOfARequestAddUp) {
  Parts<FakeNetwork> parts;
  for (uint64_t id = 1; id <= 2; ++id) {
    Request request = Ask(70);
    request.n = 4;
    request.stop.max_tokens = 3;
    Submit(parts.core, id, std::move(request), std::make_shared<EventQueue>(1000));
  }
  while (!parts.core.idle()) {
    parts.core.BeginStep();
    parts.clock.Advance(1);
    parts.core.FinishStep();
  }
  const EngineStats stats = parts.core.Stats();
  // The first takes two steps for the prompt, which the second finds in the cache. Each has its
  // first tokens in the last of these, and takes a step for each further one.
  EXPECT_EQ(stats.queue_seconds.sum_seconds(), 0 + 4);
  EXPECT_EQ(stats.prefill_seconds.sum_seconds(), 2 + 1);
  EXPECT_EQ(stats.decode_seconds.sum_seconds(), 2 + 2);
  EXPECT_EQ(stats.inference_seconds.sum_seconds(), 4 + 3);
  EXPECT_EQ(stats.e2e_seconds.sum_seconds(), 4 + 7);
  EXPECT_EQ(stats.ttft_seconds.sum_seconds(), 2 + 5);
}

// What differs behind `common` tokens.
Request AskBehind(int64_t common, int64_t length, TokenId other) {
  Request request = Ask(length);
  std::fill(request.prompt.begin() + common, request.prompt.end(), other);
  return request;
}

// Less than a page of a common beginning is not worth a wait.
TEST(Core, WhoSharesAPageWaitsForItAndOthersDoNot) {
  for (const int64_t common : {20, 31, 32, 40}) {
    Parts<FakeNetwork> parts;
    Submit(parts.core, 1, AskBehind(common, 48, 2));
    Submit(parts.core, 2, AskBehind(common, 48, 3));
    parts.core.Step();
    EXPECT_EQ(parts.core.running().size(), common < 32 ? 2u : 1u) << common;
  }
}

// Two wait for prefixes of one that runs: it goes as if it had the shorter one left.
TEST(Core, OfTwoWantedPrefixesTheShorterCounts) {
  for (const bool shorter_first : {false, true}) {
    Parts<FakeNetwork> parts;
    Submit(parts.core, 1, Ask(400));
    parts.core.Step();
    Submit(parts.core, 2, AskBehind(shorter_first ? 200 : 300, 350, 2));
    Submit(parts.core, 3, AskBehind(shorter_first ? 300 : 200, 350, 3));
    parts.core.BeginStep();
    EXPECT_EQ(parts.core.scheduler_state().running[0].wanted_rows, 200 - 64);
    parts.core.FinishStep();
  }
}

// Says nothing to anybody, and keeps nothing.
class DeafSink : public EventSink {
 public:
  Listening Push(const Event&) override { return Listening::kGoOn; }
  bool HasRoom(int64_t) const override { return true; }
};

// Processor time of this thread: a busy machine changes it little.
double CpuSeconds() {
  timespec now = {};
  CHECK(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) == 0);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// The least time of some steps beside so many that wait.
double SecondsOfSteps(int64_t waiting) {
  Parts<FakeNetwork> parts;
  const auto sink = std::make_shared<DeafSink>();
  for (int64_t i = 0; i < waiting; ++i) {
    Request request = Ask(1 + i % 7);
    request.stop.max_tokens = 4;
    request.tenant = i % 3;
    request.deadline_seconds = 1e6;
    parts.core.Submit(
        {.id = RequestId{static_cast<uint64_t>(i)}, .request = std::move(request), .sink = sink});
  }
  double least = 1e9;
  for (int round = 0; round < 10; ++round) {
    const double before = CpuSeconds();
    for (int step = 0; step < 5; ++step) parts.core.Step();
    least = std::min(least, CpuSeconds() - before);
  }
  EXPECT_GT(parts.core.waiting_count(), waiting / 2);
  return least;
}

// Each step looked at all of them, several times: it took a hundred times as long.
TEST(Core, ManyThatWaitDoNotMakeStepsSlow) {
  EXPECT_LE(SecondsOfSteps(20000), 15 * SecondsOfSteps(200));
}

}  // namespace
}  // namespace skald::sim
