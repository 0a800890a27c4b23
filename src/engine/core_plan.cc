#include <algorithm>
#include <limits>

#include "engine/core.h"
#include "kernels/attention/attention.h"

namespace skald::engine {
namespace {

// A wait that saves less than a page of prompt costs more than it saves.
constexpr int64_t kLeastShared = kernels::kPageTokens;

int64_t CommonPrefix(const Sequence& a, const Sequence& b) {
  if (NamespaceOf(*a.request) != NamespaceOf(*b.request)) return 0;
  return std::mismatch(a.tokens.begin(), a.tokens.end(), b.tokens.begin(), b.tokens.end()).first -
         a.tokens.begin();
}

// Of a sequence `cached` leading tokens are cached, and another will compute the first `shared`:
// worth waiting for?
bool IsWorthWaiting(int64_t cached, int64_t shared) { return shared >= cached + kLeastShared; }

}  // namespace

void Core::MakePlan() {
  ResumeBeams();
  tenants_.View(&state_.tenants);
  state_.turn = turn_;
  state_.prompts = limits_.prompts;
  LookAtRunning();
  LookAtWaiting();
  if (cache_.has_states()) LookAtPlaces();
  int64_t decode_rows = 0;
  for (const RunningView& view : state_.running) {
    decode_rows += int64_t{view.decodes()};
  }
  budget_ = {.rows = limits_.max_rows,
             .prefill_rows = token_budget_.PrefillRows(decode_rows),
             .sequences = limits_.max_running,
             .draft_rows = limits_.max_draft_rows};
  if (proposer_ != nullptr) WishDrafts(decode_rows);
  scheduler_.Plan(state_, budget_, &plan_);
  step_.clear();
  for (const PlannedRows& planned : plan_.rows) {
    const auto& list = planned.source == RowSource::kRunning ? running_ : candidates_;
    step_.push_back({.sequence = list[static_cast<size_t>(planned.index)],
                     .count = planned.count - planned.drafts,
                     .samples = planned.samples,
                     .drafts = planned.drafts,
                     .reason = planned.reason});
  }
  ChargeTenants();
}

// The plan is as good as done. Who is preempted before its rows are computed has them to its debit:
// it gives back what it has computed since, and that is not counted either.
void Core::ChargeTenants() {
  if (budget_.prefill_rows > 0) ++turn_;
  int64_t least = std::numeric_limits<int64_t>::max();
  for (const StepRows& rows : step_) {
    const bool decodes = rows.sequence->running() && rows.sequence->remaining() == 1;
    if (decodes) continue;
    rows.sequence->last_turn = turn_;
    least = std::min(least, rows.sequence->request->tenant->view.used);
  }
  if (least != std::numeric_limits<int64_t>::max()) tenants_.Advance(least);
  for (const StepRows& rows : step_) {
    rows.sequence->request->tenant->view.Charge(rows.count);
  }
}

void Core::WishDrafts(int64_t decode_rows) {
  draft_length_.Begin(decode_rows);
  for (size_t i = 0; i < running_.size(); ++i) {
    const RunningView& view = state_.running[i];
    if (!view.decodes() || view.unforked > 0) continue;
    running_[i]->draft.reserve(static_cast<size_t>(limits_.most_draft));
    state_.running[i].drafts =
        draft_length_.Next(&running_[i]->draft_record, AllowedDrafts(*running_[i]));
  }
}

// More tokens than this cannot be accepted, or have no row.
int64_t Core::AllowedDrafts(const Sequence& sequence) const {
  const Request& request = sequence.request->request;
  // The last row of a prompt is no place to guess from while its log probabilities are to be told.
  const auto& scorer = sequence.request->scorer;
  if (sequence.request->beams || (scorer && scorer->is_to_tell())) return 0;
  // A row that is kept for a guess nobody makes is one less for prompts.
  if (limits_.drafts == DraftRule::kConstrained && !request.constraint) return 0;
  int64_t allowed = limits_.context - sequence.length();
  if (request.max_draft >= 0) allowed = std::min(allowed, request.max_draft);
  if (request.stop.max_tokens >= 0) {
    const auto output = static_cast<int64_t>(sequence.output().size());
    allowed = std::min(allowed, request.stop.max_tokens - output - 1);
  }
  return allowed;
}

RunningView Core::ViewOf(const Sequence& sequence) const {
  return {.computed = sequence.computed,
          .length = sequence.length(),
          .pages = sequence.table.PagesToWrite(sequence.computed, sequence.length()),
          .unforked = &sequence == sequence.request->lead() ? sequence.request->unforked() : 0,
          .paused = sequence.request->paused(),
          .priority = sequence.request->priority,
          .tenant = sequence.request->tenant->index,
          .waited = turn_ - sequence.last_turn,
          .displaceable = sequence.displaced < kMaxDisplaced,
          .loanable = !sequence.request->beams,
          .held = HeldRows(sequence)};
}

void Core::LookAtRunning() {
  state_.running.clear();
  for (const Sequence* sequence : running_) {
    state_.running.push_back(ViewOf(*sequence));
    // Only a waiting one asks for it.
    if (!waiting_.empty()) state_.running.back().freed = cache_.PagesOnlyOf(*sequence);
  }
}

const FreePlaces& Core::PlacesNow() {
  free_places_ = {.count = limits_.max_running, .own = std::move(free_places_.own)};
  std::vector<int64_t>& own = free_places_.own;
  own.clear();
  if (state_.tenants.size() > 1) {
    const int64_t shares = SharesOf(state_.tenants);
    for (const TenantView& tenant : state_.tenants)
      own.push_back(tenant.PartOf(limits_.max_running, shares));
  }
  for (const RunningView& running : state_.running) {
    free_places_.count -= 1 + running.unforked;
    if (!own.empty()) own[static_cast<size_t>(running.tenant)] -= 1 + running.unforked;
    if (running.displaceable) {
      free_places_.least_priority = std::min(free_places_.least_priority, running.priority);
    }
  }
  return free_places_;
}

// Candidates are matched with what is cached at once, which also keeps it from being evicted until
// Admit.
void Core::LookAtWaiting() {
  state_.waiting.clear();
  state_.available_pages = cache_.available_pages();
  waiting_.Pick(PlacesNow(), &candidates_);
  for (Sequence* sequence : candidates_) {
    const RequestState& request = *sequence->request;
    WaitingView view = {.length = sequence->length(),
                        .sequences = PlacesOf(*sequence),
                        .waits_for_prefix = WaitsForPrefix(*sequence) || IsBrought(sequence),
                        .held = HeldRows(*sequence),
                        .priority = request.request.priority,
                        .tenant = request.tenant->index,
                        .waited = turn_ - sequence->last_turn,
                        .due = request.due};
    if (!view.waits_for_prefix) {
      const int64_t before = cache_.available_pages();
      cache_.Acquire(sequence);
      view.computed = sequence->computed;
      view.pages = before - cache_.available_pages() +
                   sequence->table.PagesToWrite(sequence->computed, sequence->length()) +
                   PagesOfOtherBeams(*sequence);
    }
    state_.waiting.push_back(view);
  }
  LookAtSharing();
}

// Of two candidates with the same beginning one is to wait for the other, whichever is admitted
// first.
void Core::LookAtSharing() {
  for (size_t i = 0; i < candidates_.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      WaitingView& a = state_.waiting[i];
      WaitingView& b = state_.waiting[j];
      if (a.waits_for_prefix || b.waits_for_prefix) continue;
      const int64_t for_a = SharedTokens(*candidates_[i], *candidates_[j]);
      if (IsWorthWaiting(a.computed, for_a)) {
        a.shares_with |= uint32_t{1} << j;
        candidates_[j]->places.Ask(for_a, b.computed);
      }
      const int64_t for_b = SharedTokens(*candidates_[j], *candidates_[i]);
      if (IsWorthWaiting(b.computed, for_b)) {
        b.shares_with |= uint32_t{1} << i;
        candidates_[i]->places.Ask(for_b, a.computed);
      }
    }
  }
}

// So many tokens that `other` computes `sequence` could have from the cache.
int64_t Core::SharedTokens(const Sequence& sequence, const Sequence& other) const {
  return std::min(CommonPrefix(sequence, other), cache_.ReusableTokens(sequence));
}

// True if a running one of no lower priority will compute more of this prefix than is cached now.
// That one then goes as if it had no more to compute than what the two have in common.
bool Core::WaitsForPrefix(const Sequence& sequence) {
  const int64_t cached = cache_.Match(sequence);
  for (size_t i = 0; i < running_.size(); ++i) {
    const Sequence& other = *running_[i];
    if (other.request->priority < sequence.request->priority) continue;
    const int64_t common = SharedTokens(sequence, other);
    if (common <= other.computed || !IsWorthWaiting(cached, common)) continue;
    int64_t& wanted = state_.running[i].wanted_rows;
    wanted = std::min(wanted > 0 ? wanted : common, common - other.computed);
    running_[i]->places.Ask(common, other.computed);
    return true;
  }
  return false;
}

// True if more of its prefix is on its way from the tier behind memory.
bool Core::IsBrought(Sequence* sequence) const {
  return tier_ != nullptr && tier_->Brings(sequence);
}

// Steps end where snapshots are to stand: as many halves of a prompt as a quarter of the slots that
// nobody runs with.
void Core::LookAtPlaces() {
  const int64_t spare = cache_.states().total_count() - limits_.max_running;
  const auto rows_to_next = [&](Sequence* sequence) {
    StatePlaces& places = sequence->places;
    const int64_t computed = sequence->computed;
    const RequestState& request = *sequence->request;
    places.next =
        NextPlace(places, computed,
                  {.tokens = request.prompt_tokens, .marked = request.request.places}, spare / 4);
    return places.next > 0 ? places.next - computed : 0;
  };
  for (size_t i = 0; i < running_.size(); ++i) state_.running[i].cut = rows_to_next(running_[i]);
  for (size_t i = 0; i < candidates_.size(); ++i) {
    state_.waiting[i].cut = rows_to_next(candidates_[i]);
  }
}

}  // namespace skald::engine
