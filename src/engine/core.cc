#include "engine/core.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/check.h"
#include "base/checked_math.h"

namespace skald::engine {
namespace {

// Where the tokens came from that were found in the cache. What was brought back for another one
// stood in memory. A network with states goes on behind a snapshot alone, whatever pages there are,
// so all that memory had for it is behind one.
CachedTokens CachedFrom(const Sequence& sequence, bool has_states) {
  const int64_t fetched = std::min(sequence.fetching.to, sequence.computed);
  CachedTokens from = {.disk = std::max<int64_t>(fetched - sequence.fetching.from, 0)};
  (has_states ? from.snapshot : from.memory) = sequence.computed - from.disk;
  return from;
}

// So many that have ended are taken out one by one: each moves what stands behind it, but looks at
// a few of the others only.
constexpr size_t kFewFinished = 64;

// Of pages, and of states, that are made ready before somebody has them: some thousand positions of
// a model of eight billion, for which a machine has room that has room for the model.
constexpr int64_t kBytesAhead = 256 << 20;

void InsertInOrder(Sequence* sequence, std::vector<Sequence*>* list) {
  const auto before = [](const Sequence* a, const Sequence* b) { return GoesBefore(*a, *b); };
  list->insert(std::upper_bound(list->begin(), list->end(), sequence, before), sequence);
}

void EraseFrom(const Sequence* sequence, std::vector<Sequence*>* list) {
  const auto found = std::find(list->begin(), list->end(), sequence);
  CHECK(found != list->end());
  list->erase(found);
}

// The beams of a search go together.
template <typename Function>
void ForAllBeams(Sequence* sequence, Function function) {
  const auto& beams = sequence->request->beams;
  if (!beams || beams->live.empty()) return function(sequence);
  for (Sequence* beam : beams->live) function(beam);
}

}  // namespace

Core::Core(const CoreLimits& limits, const CoreParts& parts)
    : limits_(limits),
      network_(parts.network),
      clock_(parts.clock),
      cache_(parts.cache),
      scheduler_(parts.scheduler),
      chooser_(parts.chooser),
      proposer_(parts.proposer),
      tracer_(parts.tracer),
      tier_(parts.tier),
      masks_(parts.masks),
      token_budget_(limits.max_chunk, limits.target_seconds),
      draft_length_(limits.least_draft, limits.most_draft,
                    limits.max_running + limits.max_draft_rows) {
  CHECK(limits.max_running <= limits.max_rows && limits.max_chunk <= limits.max_rows);
  batch_.Reserve(limits.max_rows, limits.max_running + limits.max_draft_rows);
  wishes_.reserve(static_cast<size_t>(limits.max_running));
  preempted_.reserve(static_cast<size_t>(limits.max_running));
  if (tracer_ != nullptr) chooser_.TellOdds(tracer_->odds());
}

Core::~Core() = default;

void Core::Submit(Arrival arrival) {
  auto state =
      MakeState(std::move(arrival), chooser_.end_tokens(), &cache_.pool(), limits_.context);
  state->tenant = tenants_.Enter(state->request);
  if (std::isfinite(state->deadline_seconds)) {
    deadlines_.emplace(state->deadline_seconds, state->id);
  }
  Sequence* lead = state->sequences.front().get();
  lead->last_turn = turn_;
  requests_.push_back(std::move(state));
  waiting_.Insert(lead);
  ++stats_.submitted;
  if (tracer_ != nullptr) tracer_->Queued(*lead);
  EmitNote(*lead, QueuedEvent{.total = lead->length()});
}

// Ids are given in the order of Submit.
Core::Requests::const_iterator Core::PlaceOf(RequestId id) const {
  return std::lower_bound(requests_.begin(), requests_.end(), id,
                          [](const auto& state, RequestId wanted) { return state->id < wanted; });
}

RequestState* Core::Find(RequestId id) const {
  const auto found = PlaceOf(id);
  return found != requests_.end() && (*found)->id == id ? found->get() : nullptr;
}

void Core::Cancel(RequestId id) {
  RequestState* state = Find(id);
  if (state == nullptr) return;
  FinishRequest(state, FinishReason::kCancelled, Ok());
  RemoveFinished();
}

void Core::CancelAll() { EndAll(FinishReason::kCancelled, Ok()); }

void Core::EndAll(FinishReason reason, const Status& status) {
  for (const auto& state : requests_) FinishRequest(state.get(), reason, status);
  RemoveFinished();
}

void Core::PutAll() {
  if (tier_ != nullptr) tier_->PutAll();
}

bool Core::Step() {
  BeginStep();
  return FinishStep();
}

void Core::BeginStep() {
  step_began_seconds_ = clock_.Seconds();
  preempted_before_ = stats_.preemptions;
  preempted_.clear();
  if (masks_ != nullptr) chooser_.SetMaskSteps(limits_.mask_steps);
  EndOverdue();
  TakeMasks();
  Park();
  // Before the plan, which sees what has come as cached.
  if (tier_ != nullptr) tier_->TakeDeliveries(token_budget_.row_seconds());
  MakePlan();
  if (tracer_ != nullptr) TracePlanned();
  Displace();
  Admit();
  ReservePages();
  if (tracer_ != nullptr) TraceRowsOfStep();
}

bool Core::FinishStep() {
  Propose();
  const bool computes = !step_.empty();
  if (computes) {
    BuildBatch();
    if (tracer_ != nullptr) TraceForwardOfStep();
    network_.Forward(batch_.batch());
    // Of this step nothing is told or kept: the numbers are nobody's.
    if (const Status lost = network_.Lost(); !lost.ok()) {
      EndAll(FinishReason::kError, lost);
      return false;
    }
    if (tracer_ != nullptr) tracer_->Computed();
    if (cache_.has_states()) NoteConsumed();
    Apply();
    Measure(step_began_seconds_);
  }
  if (tracer_ != nullptr) TraceStepped(computes ? batch_.row_count() : 0);
  RemoveFinished();
  // Where the only row was of one that had to give up its own pages, the next step has them.
  return computes || !plan_.admitted.empty() || stats_.preemptions > preempted_before_;
}

bool Core::CommitNext() {
  const auto with_more = [](int64_t used, int64_t bytes) {
    return bytes == 0 ? 0 : used + DivCeil(kBytesAhead, bytes);
  };
  const int64_t page_bytes =
      network_.PageBytes(kv::PageGroup::kFull) + network_.PageBytes(kv::PageGroup::kWindow);
  return network_.CommitNext(
      {.pages = with_more(cache_.pool().used_end(), page_bytes),
       .states = with_more(cache_.states().used_end(), network_.StateBytes())});
}

// Requests whose time is up, those nobody listens to any more, and those whose reader has caught up
// with what the beams had found.
void Core::EndOverdue() {
  const double now = clock_.Seconds();
  ending_.clear();
  std::swap(watched_, ending_);  // what is said here may add to it
  for (const auto& [seconds, id] : deadlines_) {
    if (seconds > now) break;
    ending_.push_back(id);
  }
  std::sort(ending_.begin(), ending_.end());
  ending_.erase(std::unique(ending_.begin(), ending_.end()), ending_.end());
  for (const RequestId id : ending_) {
    RequestState* state = Find(id);
    if (state->beams && state->beams->over) TellBeams(state);
    if (state->unfinished == 0) continue;
    if (state->gone) {
      FinishRequest(state, FinishReason::kCancelled, Ok());
    } else if (now >= state->deadline_seconds) {
      FinishRequest(state, FinishReason::kDeadline, Ok());
    } else {
      watched_.push_back(id);
    }
  }
  RemoveFinished();
}

// While others wait, a sequence whose reader is slow gives its place and pages up: what it has
// computed stays cached as long as nobody needs the pages more. Its state is the last of all
// snapshots to be evicted: who comes back computes a row and brings a token. So there are no more
// comings and goings than tokens, and nobody waits for ever because of those of others
// (docs/scheduling.md).
void Core::Park() {
  const auto& waiting = waiting_.sequences();
  const bool wanted = std::any_of(waiting.begin(), waiting.end(), [](const Sequence* sequence) {
    return !sequence->request->paused();
  });
  if (!wanted) return;
  for (size_t i = running_.size(); i > 0; --i) {
    if (i > running_.size()) continue;  // beams go together
    Sequence* sequence = running_[i - 1];
    if (sequence->remaining() <= 1 && sequence->request->paused())
      Preempt(sequence, PreemptReason::kReader);
  }
}

void Core::Displace() {
  displaced_.clear();
  for (const int32_t index : plan_.displaced) {
    displaced_.push_back(running_[static_cast<size_t>(index)]);
  }
  for (Sequence* sequence : displaced_) {
    if (!sequence->running()) continue;  // gone with another beam
    // What was on loan is given back as often as it is wanted.
    ForAllBeams(sequence, [](Sequence* each) {
      each->displaced = std::min(each->displaced + 1, kMaxDisplaced);
    });
    ++stats_.displacements;
    Preempt(sequence, PreemptReason::kDisplaced);
  }
}

// Moves the sequences that the plan admits to the running ones; the others give back the pages they
// were matched with.
void Core::Admit() {
  for (size_t i = 0; i < candidates_.size(); ++i) {
    Sequence* sequence = candidates_[i];
    if (!std::binary_search(plan_.admitted.begin(), plan_.admitted.end(),
                            static_cast<int32_t>(i))) {
      if (!state_.waiting[i].waits_for_prefix) cache_.Release(sequence);
      continue;
    }
    RequestState& request = *sequence->request;
    const bool resumes = sequence->phase() == Phase::kPreempted;
    waiting_.Erase(sequence);
    sequence->MoveTo(Phase::kPrefill);
    InsertInOrder(sequence, &running_);
    if (request.beams) AdmitOtherBeams(*sequence);
    const CachedTokens from = CachedFrom(*sequence, cache_.has_states());
    if (!request.admitted) {
      request.admitted = true;
      request.admitted_seconds = clock_.Seconds();
      request.cached_tokens = sequence->computed;
      stats_.prompt_tokens += sequence->length();
      stats_.prompt_tokens_cached += sequence->computed;
      stats_.prompt_tokens_disk += from.disk;
      stats_.queue_seconds.Add(clock_.Seconds() - request.submitted_seconds);
      CountOvertaken(request);
    }
    if (tracer_ != nullptr)
      resumes ? tracer_->Resumed(*sequence, from) : tracer_->Admitted(*sequence, from);
    const int64_t length = sequence->length();
    if (resumes) {
      EmitNote(*sequence, ResumedEvent{sequence->computed, length, from});
    } else {
      EmitNote(*sequence, AdmittedEvent{sequence->computed, length, from});
    }
  }
}

// Of each tenant, the request that has waited longest has been overtaken by `admitted` if it came
// earlier. Of all that wait it would be too many: a tenant with a thousand of them would go before
// all others once sixty-four of theirs had passed.
void Core::CountOvertaken(const RequestState& admitted) {
  oldest_.clear();
  waiting_.OldestBefore(admitted.id, &oldest_);
  for (RequestState* state : oldest_) {
    // Its own tenant keeps it from running.
    if (!MayRunOneMore(*state)) continue;
    // Others take of their part only.
    if (state->due && state->tenant != admitted.tenant) continue;
    if (++state->overtaken == limits_.max_overtaken) MakeDue(state);
  }
}

void Core::MakeDue(RequestState* state) {
  const auto waits = [](const Sequence& sequence) {
    return !sequence.running() && sequence.phase() != Phase::kFinished;
  };
  for (const auto& sequence : state->sequences) {
    if (waits(*sequence)) waiting_.Erase(sequence.get());
  }
  state->due = true;
  state->priority = std::numeric_limits<int32_t>::max();
  for (const auto& sequence : state->sequences) {
    if (waits(*sequence)) waiting_.Insert(sequence.get());
  }
  std::sort(running_.begin(), running_.end(),
            [](const Sequence* a, const Sequence* b) { return GoesBefore(*a, *b); });
}

// True if the bound of its tenant allows `request` to run beside those of it that do.
bool Core::MayRunOneMore(const RequestState& request) const {
  int64_t running = 0;
  for (const Sequence* sequence : running_) {
    const RequestState& other = *sequence->request;
    if (other.tenant != request.tenant || &other == &request) continue;
    running += sequence == other.lead() ? 1 + other.unforked() : 1;
  }
  return request.tenant->view.MayRun(running, request.request.width());
}

void Core::InsertRunning(Sequence* sequence) { InsertInOrder(sequence, &running_); }

void Core::AdmitOtherBeams(const Sequence& lead) {
  for (Sequence* beam : lead.request->beams->live) {
    if (beam == &lead) continue;
    waiting_.Erase(beam);
    beam->MoveTo(Phase::kPrefill);
    InsertInOrder(beam, &running_);
  }
}

void Core::Preempt(Sequence* sequence, PreemptReason reason) {
  ForAllBeams(sequence, [&](Sequence* each) { PreemptOne(each, reason); });
  // All of them compute their last rows anew.
  if (sequence->request->beams) sequence->request->beams->TakeOffersBack();
}

void Core::PreemptOne(Sequence* sequence, PreemptReason reason) {
  if (tracer_ != nullptr) tracer_->Preempted(*sequence, reason);
  EraseFrom(sequence, &running_);
  if (proposer_ != nullptr) proposer_->Forget(*sequence);
  cache_.Park(sequence);
  sequence->text.reset();
  sequence->awaited.reset();
  sequence->DropDraft();    // guesses behind rows that are gone
  sequence->fetching = {};  // what it has computed may leave memory before it comes back
  sequence->MoveTo(Phase::kPreempted);
  sequence->last_turn = turn_;
  waiting_.Insert(sequence);
  preempted_.push_back(sequence);
  ++stats_.preemptions;
  EmitNote(*sequence, PreemptedEvent{.total = sequence->length()});
}

void Core::FinishSequence(Sequence* sequence, FinishReason reason) {
  RequestState* state = sequence->request;
  sequence->end = reason;
  Retire(sequence);
  EmitEnd(state, sequence->index, reason, 0);
  if (--state->unfinished == 0) FinishRequest(state, reason, Ok());
}

void Core::FinishRequest(RequestState* state, FinishReason reason, Status status) {
  const int32_t count = state->request.sequence_count();
  // Behind these: sequences never forked, texts never told.
  int32_t last = count - (state->beams ? state->unfinished : state->unforked());
  state->unfinished = 0;
  finished_.push_back(state->id);
  for (const auto& sequence : state->sequences) {
    if (sequence->phase() == Phase::kFinished) continue;
    Retire(sequence.get());
    if (!state->beams) EmitEnd(state, sequence->index, reason, 0);
  }
  for (; last < count; ++last) EmitEnd(state, last, reason, 0);
  ++stats_.finished[static_cast<size_t>(reason)];
  CountTimes(*state, reason);
  if (tracer_ != nullptr) tracer_->Finished(*state, reason);
  Event event = {.what = FinishedEvent{
                     .reason = reason, .status = std::move(status), .answer = AnswerOf(*state)}};
  Emit(state, &event);
}

void Core::CountTimes(const RequestState& ended, FinishReason reason) {
  const bool whole = reason == FinishReason::kStop || reason == FinishReason::kLength ||
                     reason == FinishReason::kContext;
  if (!whole) return;
  const double now = clock_.Seconds();
  const double first_token = ended.first_token_seconds.value_or(now);
  stats_.e2e_seconds.Add(now - ended.submitted_seconds);
  stats_.inference_seconds.Add(now - ended.admitted_seconds);
  stats_.prefill_seconds.Add(first_token - ended.admitted_seconds);
  stats_.decode_seconds.Add(now - first_token);
}

// Takes a sequence from its list and its pages from it.
void Core::Retire(Sequence* sequence) {
  if (sequence->running()) {
    EraseFrom(sequence, &running_);
  } else {
    waiting_.Erase(sequence);
  }
  if (proposer_ != nullptr) proposer_->Forget(*sequence);
  if (tier_ != nullptr) tier_->Forget(sequence);
  cache_.Retire(sequence);
  sequence->text.reset();
  sequence->awaited.reset();
  sequence->MoveTo(Phase::kFinished);
}

void Core::RemoveFinished() {
  if (finished_.empty()) return;
  for (const RequestId id : finished_) {
    const RequestState& state = *Find(id);
    deadlines_.erase({state.deadline_seconds, id});
    tenants_.Leave(state.tenant);
  }
  const auto is_over = [](const auto& state) { return state->unfinished == 0; };
  std::erase_if(watched_, [&](RequestId id) { return Find(id)->unfinished == 0; });
  if (finished_.size() > kFewFinished) {
    std::erase_if(requests_, is_over);
  } else {
    for (const RequestId id : finished_) requests_.erase(PlaceOf(id));
  }
  finished_.clear();
}

void Core::EmitEnd(RequestState* state, int32_t sequence, FinishReason reason, double score) {
  if (tracer_ != nullptr) tracer_->Ended(*state, sequence, reason);
  Event event = {.sequence = sequence,
                 .what = SequenceFinishedEvent{.reason = reason, .score = score}};
  Emit(state, &event);
}

Listening Core::Emit(RequestState* state, Event* event) {
  event->request = state->id;
  event->seconds = clock_.Seconds();
  const Listening answer = state->sink->Push(*event);
  if (answer == Listening::kGone) {
    state->gone = true;
    watched_.push_back(state->id);
  }
  return answer;
}

// Events that nobody must have: left out where a slow reader has room only for tokens and ends.
void Core::EmitNote(const Sequence& sequence, decltype(Event::what) note) {
  RequestState* state = sequence.request;
  // Of beams one speaks for all, and as the first: which ones there are nobody can see.
  if (state->beams && &sequence != state->lead()) return;
  if (!state->sink->HasRoom(state->events_per_step() + 1)) return;
  const int32_t index = state->beams ? 0 : sequence.index;
  Event event = {.sequence = index, .what = std::move(note)};
  Emit(state, &event);
}

void Core::Progress(std::vector<RequestProgress>* progress) const {
  progress->resize(requests_.size());
  for (size_t i = 0; i < requests_.size(); ++i) (*progress)[i] = ProgressOf(*requests_[i]);
}

void Core::ProgressOfStep(std::vector<RequestProgress>* progress) const {
  // It has them all, so more are those that have been cancelled or are overdue.
  if (progress->size() > requests_.size()) {
    std::erase_if(*progress, [&](const auto& each) { return Find(each.id) == nullptr; });
  }
  if (plan_.admitted.empty() && preempted_.empty()) return;
  const auto update = [&](const Sequence* sequence) {
    const RequestState& state = *sequence->request;
    const auto found =
        std::lower_bound(progress->begin(), progress->end(), state.id,
                         [](const RequestProgress& each, RequestId id) { return each.id < id; });
    if (found != progress->end() && found->id == state.id) *found = ProgressOf(state);
  };
  for (const Sequence* sequence : running_) update(sequence);
  for (const Sequence* sequence : preempted_) update(sequence);
}

EngineStats Core::Stats() const {
  EngineStats stats = stats_;
  stats.pages_evicted = cache_.evicted_count();
  stats.window_pages_dropped = cache_.pool().windows().evicted_count();
  stats.states_evicted = cache_.states_evicted();
  stats.masks = chooser_.mask_count();
  LookAtState(&stats);
  return stats;
}

void Core::LookAtTier(EngineStats* stats) const {
  const PageTierStats& tier = tier_->stats();
  const ShelfStats shelf = tier_->shelf_stats();
  stats->disk_pages = shelf.pages;
  stats->disk_bytes = shelf.bytes;
  stats->disk_bytes_limit = shelf.bytes_limit;
  stats->disk_writes = shelf.writes;
  stats->disk_pages_written = shelf.pages_written;
  stats->disk_pages_damaged = shelf.pages_damaged;
  stats->disk_pages_lost = shelf.pages_lost;
  stats->disk_pages_restored = tier.pages_restored;
}

void Core::LookAtState(EngineStats* stats) const {
  const kv::PagePool& pool = cache_.pool();
  stats->running = static_cast<int64_t>(running_.size());
  stats->waiting = static_cast<int64_t>(waiting_.size());
  stats->requests_running = 0;
  for (size_t i = 0; i < running_.size(); ++i) {
    // The sequences of a request stand together.
    stats->requests_running += int64_t{i == 0 || running_[i]->request != running_[i - 1]->request};
  }
  stats->requests_waiting = static_cast<int64_t>(requests_.size()) - stats->requests_running;
  stats->pages_total = pool.total_count();
  stats->pages_free = pool.free_count();
  stats->pages_held = pool.held_count();
  stats->pages_cached = pool.cached_count();
  const kv::WindowPool& windows = pool.windows();
  stats->window_pages_total = windows.total_count();
  stats->window_pages_free = windows.free_count();
  stats->window_pages_held = windows.used_count();
  stats->window_pages_cached = windows.idle_count();
  const kv::StatePool& states = cache_.states();
  stats->states_total = states.total_count();
  stats->states_free = states.free_count();
  if (tier_ != nullptr) LookAtTier(stats);
  stats->states_cached = cache_.tree().snapshot_count();
  stats->states_held = states.held_count() - stats->states_cached;
}

}  // namespace skald::engine
