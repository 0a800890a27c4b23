#include "sim/simulation.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "base/check.h"
#include "engine/core.h"
#include "engine/ngram_proposer.h"
#include "sim/draft_model.h"
#include "sim/fake_masks.h"
#include "sim/fake_network.h"
#include "sim/fake_shelf.h"
#include "sim/faulty_parts.h"
#include "sim/invariants.h"
#include "sim/recording_sink.h"
#include "sim/scripted_proposer.h"
#include "sim/trace_watch.h"
#include "sim/waiting_watch.h"
#include "support/virtual_clock.h"

namespace skald::sim {
namespace {

// Time that passes while nothing is computed.
constexpr double kIdleSeconds = 2e-3;
// Steps in a row that the first sequence in order may get no row: far more than those that run can
// need to end (a context of 256 positions, 8 sequences). Where a step has few rows of prompts,
// twice what all clients can ask for: order is that of one tenant, and others may have their turn
// before.
constexpr int64_t kMaxStarvedSteps = 3000;
int64_t MostStarvedSteps(const Workload& workload) {
  const int64_t positions = std::ssize(workload.clients) * workload.core.context;
  return std::max(kMaxStarvedSteps, 2 * positions / workload.core.max_chunk);
}
constexpr int64_t kMaxTicks = 200000;

sampling::Sampler MakeSampler() {
  Result<sampling::Sampler> sampler = sampling::Sampler::Create(kVocab, kernels::DetectIsa());
  CHECK(sampler.ok());
  return *std::move(sampler);
}

bool Contains(const std::vector<engine::Sequence*>& list, const engine::Sequence* sequence) {
  return std::find(list.begin(), list.end(), sequence) != list.end();
}

// Who guesses in a simulation.
struct Proposers {
  std::unique_ptr<engine::Proposer> all;
  DraftModel* draft = nullptr;  // among them, if there is one
  FaultyForced* forced = nullptr;
};

// One guess of the script in three is wrong.
Proposers MakeProposers(const Workload& workload, Fault fault, sampling::Sampler* sampler,
                        support::VirtualClock* clock) {
  Proposers proposers;
  std::vector<std::unique_ptr<engine::Proposer>> links;
  const Guessing guessing = workload.guessing;
  if (guessing == Guessing::kNone) return proposers;
  auto forced = std::make_unique<FaultyForced>(fault);
  proposers.forced = forced.get();
  links.push_back(std::move(forced));
  if (guessing == Guessing::kNgram || guessing == Guessing::kChain ||
      guessing == Guessing::kMixed) {
    links.push_back(std::make_unique<engine::NgramProposer>());
  }
  if (guessing == Guessing::kScripted || guessing == Guessing::kChain) {
    links.push_back(std::make_unique<ScriptedProposer>(workload, 3, sampler));
  }
  if (guessing == Guessing::kDraft || guessing == Guessing::kMixed) {
    auto draft =
        std::make_unique<DraftModel>(DraftModelSpec{.page_count = workload.draft_page_count,
                                                    .max_rows = workload.draft_rows,
                                                    .context = workload.core.context,
                                                    .fault = fault,
                                                    .clock = clock,
                                                    .row_seconds = workload.draft_row_seconds});
    proposers.draft = draft.get();
    links.push_back(std::move(draft));
  }
  proposers.all = std::make_unique<engine::ChainProposer>(std::move(links));
  return proposers;
}

// The fault, unless it is one of the draft model.
Fault FaultOfTarget(Fault fault) {
  const bool of_draft = fault == Fault::kStaleDraftPage || fault == Fault::kDraftPromptsUnbounded;
  return of_draft ? Fault::kNone : fault;
}

class Simulation {
 public:
  Simulation(const Workload& workload, Fault fault, const Trace& trace)
      : workload_(workload),
        trace_(trace),
        fault_(fault),
        network_(workload.page_count, &freed_, FaultOfTarget(fault), workload.state_slots),
        timed_network_(&network_, &clock_,
                       {.step = workload.step_seconds, .row = workload.row_seconds}),
        cache_(workload, fault),
        scheduler_(fault),
        chooser_(MakeSampler(), {kEnd}, workload, fault),
        sampler_(MakeSampler()),
        proposers_(MakeProposers(workload, fault, &sampler_, &clock_)),
        traces_(workload),
        tracer_(traces_.ring(), clock_),
        shelf_(workload.seed, RecordBytes(), fault),
        tier_(workload.has_shelf
                  ? std::optional<engine::PageTier>(
                        std::in_place,
                        engine::PageTier::Parts{
                            .shelf = shelf_,
                            .cache = cache_,
                            .network = timed_network_,
                            .clock = fault == Fault::kTierWaitsForEver ? stopped_clock_ : clock_,
                            .tracer = &tracer_},
                        disk::IdentityKey("simulation"))
                  : std::nullopt),
        masks_(workload.seed, fault),
        core_(workload.core, {.network = timed_network_,
                              .clock = clock_,
                              .cache = cache_,
                              .scheduler = scheduler_,
                              .chooser = chooser_,
                              .proposer = proposers_.all.get(),
                              .tracer = &tracer_,
                              .tier = tier_ ? &*tier_ : nullptr,
                              .masks = &masks_}),
        watch_(workload.core) {
    cache_.pool().RecordFreed(&freed_);
    cache_.pool().windows().RecordFreed(&freed_windows_);
    network_.SetNamespaceOf([this](const kv::PageId* pages) { return NamespaceAt(pages); });
  }

  Outcome Run() {
    Outcome outcome;
    outcome.wrong = RunToEnd();
    if (outcome.wrong.empty()) outcome.wrong = CheckEnd();
    const EngineStats stats = core_.Stats();
    outcome.steps = stats.steps;
    outcome.tokens = stats.output_tokens;
    outcome.rows = stats.rows;
    outcome.preemptions = stats.preemptions;
    outcome.pages_copied = stats.pages_copied;
    outcome.states_copied = stats.states_copied;
    outcome.pages_evicted = stats.pages_evicted;
    outcome.window_pages_dropped = stats.window_pages_dropped;
    outcome.prompt_tokens = stats.prompt_tokens;
    outcome.prompt_tokens_cached = stats.prompt_tokens_cached;
    outcome.draft_tokens = stats.draft_tokens;
    outcome.constrained_tokens = stats.constrained_tokens;
    outcome.masks = stats.masks;
    outcome.masks_awaited = stats.masks_awaited;
    if (tier_) {
      outcome.pages_restored = tier_->stats().pages_restored;
      outcome.windows_restored = tier_->stats().windows_restored;
      outcome.states_restored = tier_->stats().states_restored;
      outcome.fetches_resumed = tier_->stats().resumed;
      outcome.fetches_given_up = tier_->stats().given_up;
    }
    outcome.draft_tokens_accepted = stats.draft_tokens_accepted;
    if (proposers_.draft != nullptr) outcome.draft_rows = proposers_.draft->rows();
    for (const auto& sink : sinks_) outcome.events.push_back(sink->events());
    return outcome;
  }

 private:
  // Before anybody asks how large pages are.
  int64_t RecordBytes() {
    network_.SetWindows(workload_.windows, &freed_windows_);
    return engine::RecordSizesOf(network_, workload_.windows).record_bytes;
  }

  std::string RunToEnd() {
    for (int64_t tick = 0; next_ < workload_.clients.size() || !core_.idle(); ++tick) {
      if (tick == kMaxTicks) return "it does not end";
      Arrive();
      CancelDue();
      for (const size_t client : open_) sinks_[client]->Tick(tick);
      const bool someone_could = SomeoneCould();
      const engine::Sequence* first = FirstInOrder();
      // One behind a paused one can be on loan.
      const bool first_runs = !core_.running().empty() && core_.running().front() == first;
      const int64_t before_first = CountBefore(first);
      const bool waited_for_shelf = tier_ && tier_->busy();
      const bool waited_for_masks = masks_.busy();
      masks_.Tick();
      watch_.Begin(core_);
      const bool computed = core_.Step();
      if (trace_) trace_(Describe(tick, computed));
      if (!computed) clock_.Advance(kIdleSeconds);
      const bool waits_for_shelf = tier_ && tier_->busy();
      const bool waits = waits_for_shelf || waited_for_shelf || waited_for_masks || masks_.busy();
      if (someone_could && !computed && !core_.idle() && SomeoneCould() && !waits) {
        return "nothing is computed, though somebody could go on";
      }
      network_.PoisonFreed();
      network_.PoisonStates(cache_.states());
      std::string wrong = CheckStep(core_, cache_, workload_.core);
      if (wrong.empty()) wrong = network_.CheckSnapshots(cache_.tree().Snapshots());
      // An admission can make another one due, which then is the first while pages are taken; and
      // may be paused behind the step, so that this one is the first again (seed 2437918).
      if (first_runs && Contains(core_.waiting(), first) && FirstInOrder() == first &&
          CountBefore(first) == before_first) {
        wrong = "the first in order is preempted";
      }
      if (wrong.empty() && proposers_.draft != nullptr) wrong = proposers_.draft->Check();
      if (wrong.empty() && proposers_.forced != nullptr) wrong = proposers_.forced->wrong();
      if (wrong.empty() && computed) wrong = watch_.End(core_);
      if (wrong.empty()) wrong = cache_.wrong();
      if (wrong.empty() && tier_ && tier_->stats().unusable > 0) {
        wrong = "a prefix that came back cannot be gone on from";
      }
      if (wrong.empty()) wrong = traces_.Check(core_);
      if (wrong.empty()) wrong = CheckStarvation(computed);
      if (!wrong.empty()) return "tick " + std::to_string(tick) + ": " + wrong;
    }
    return {};
  }

  void Arrive() {
    while (next_ < workload_.clients.size() &&
           workload_.clients[next_].arrives_seconds <= clock_.Seconds()) {
      const Client& client = workload_.clients[next_];
      sinks_.push_back(std::make_shared<RecordingSink>(client.reader, fault_));
      core_.Submit({.id = RequestId{next_},
                    .request = client.request,
                    .sink = sinks_.back(),
                    .seconds = clock_.Seconds()});
      open_.push_back(next_++);
    }
  }

  void CancelDue() {
    std::erase_if(open_, [&](size_t client) { return sinks_[client]->finished(); });
    for (const size_t client : open_) {
      if (workload_.clients[client].cancelled_seconds <= clock_.Seconds()) {
        core_.Cancel(RequestId{client});
      }
    }
  }

  bool SomeoneCould() const {
    return std::any_of(core_.requests().begin(), core_.requests().end(),
                       [](const auto& request) { return !request->gone && !request->paused(); });
  }

  uint64_t NamespaceAt(const kv::PageId* pages) const {
    for (const engine::Sequence* sequence : core_.running()) {
      if (sequence->table.pages().data() == pages) {
        return sequence->request->request.cache_namespace;
      }
    }
    return ~uint64_t{0};
  }

  // Of the sequences whose readers are quick.
  const engine::Sequence* FirstInOrder() const {
    const engine::Sequence* first = nullptr;
    for (const auto* list : {&core_.running(), &core_.waiting()}) {
      for (const engine::Sequence* sequence : *list) {
        if (sequence->request->paused()) continue;
        if (first == nullptr || GoesBefore(*sequence, *first)) first = sequence;
      }
    }
    return first;
  }

  // How many go before `first`, also those whose readers are slow.
  int64_t CountBefore(const engine::Sequence* first) const {
    int64_t count = 0;
    if (first == nullptr) return count;
    for (const auto* list : {&core_.running(), &core_.waiting()}) {
      count += std::count_if(list->begin(), list->end(), [&](const engine::Sequence* sequence) {
        return GoesBefore(*sequence, *first);
      });
    }
    return count;
  }

  // The first in order must not wait for ever.
  std::string CheckStarvation(bool computed) {
    const engine::Sequence* first = FirstInOrder();
    const int64_t length = first == nullptr ? 0 : first->length() + first->computed;
    if (first != starved_ || length != starved_length_ || !computed) starved_steps_ = 0;
    starved_ = first;
    starved_length_ = length;
    const bool starves = ++starved_steps_ > MostStarvedSteps(workload_);
    return starves ? "the first in order starves" : "";
  }

  std::string CheckEnd() {
    for (size_t i = 0; i < sinks_.size(); ++i) {
      std::string wrong =
          CheckAnswer(workload_.clients[i], *sinks_[i], workload_.core.context, &sampler_);
      if (!wrong.empty()) return "request " + std::to_string(i) + ": " + wrong;
    }
    if (tier_ && tier_->busy()) return "the tier waits for a request that is over";
    cache_.Evict(workload_.page_count);
    if (cache_.pool().free_count() != workload_.page_count) return "pages are left behind";
    if (cache_.tree().node_count() != 0) return "nodes are left behind";
    const kv::WindowPool& windows = cache_.pool().windows();
    if (windows.free_count() != windows.total_count()) return "window pages are left behind";
    if (cache_.states().held_count() != 0) return "state slots are left behind";
    return proposers_.draft == nullptr ? "" : proposers_.draft->CheckEnd();
  }

  std::string Describe(int64_t tick, bool computed) const {
    const kv::PagePool& pool = cache_.pool();
    return std::to_string(tick) + " t=" + std::to_string(clock_.Seconds()) +
           (computed ? " step" : " idle") + ", " + std::to_string(core_.running().size()) +
           " run, " + std::to_string(core_.waiting().size()) + " wait, pages free " +
           std::to_string(pool.free_count()) + " held " + std::to_string(pool.held_count()) +
           " cached " + std::to_string(pool.cached_count()) + ": " + core_.plan().ToString();
  }

  const Workload& workload_;
  const Trace& trace_;
  const Fault fault_;
  support::VirtualClock clock_;
  std::vector<kv::PageId> freed_;
  std::vector<kv::PageId> freed_windows_;
  FakeNetwork network_;
  support::TimedNetwork timed_network_;
  FaultyCache cache_;
  FaultyScheduler scheduler_;
  FaultyChooser chooser_;
  sampling::Sampler sampler_;  // of the oracle
  Proposers proposers_;
  TraceWatch traces_;
  engine::Tracer tracer_;
  support::VirtualClock stopped_clock_;
  FakeShelf shelf_;
  std::optional<engine::PageTier> tier_;
  FakeMasks masks_;
  engine::Core core_;
  WaitingWatch watch_;
  std::vector<std::shared_ptr<RecordingSink>> sinks_;  // by client
  std::vector<size_t> open_;                           // clients that have come and not ended
  size_t next_ = 0;                                    // client to arrive
  const engine::Sequence* starved_ = nullptr;
  int64_t starved_length_ = 0;
  int64_t starved_steps_ = 0;
};

}  // namespace

Outcome RunWorkload(const Workload& workload, Fault fault, const Trace& trace) {
  return Simulation(workload, fault, trace).Run();
}

Outcome RunSeed(uint64_t seed, Fault fault, const Trace& trace) {
  return RunWorkload(DrawWorkload(seed), fault, trace);
}

}  // namespace skald::sim
