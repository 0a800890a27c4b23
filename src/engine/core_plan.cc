#include <algorithm>

#include "engine/core.h"
#include "kernels/attention/attention.h"

namespace skald::engine {
namespace {

// Waiting sequences looked at in a step. More than are ever admitted together, few enough that
// matching their prompts costs little beside a step.
constexpr size_t kMaxCandidates = 16;

// A wait that saves less than a page of prompt costs more than it saves.
constexpr int64_t kLeastShared = kernels::kPageTokens;

int64_t CommonPrefix(const Sequence& a, const Sequence& b) {
  if (NamespaceOf(*a.request) != NamespaceOf(*b.request)) return 0;
  return std::mismatch(a.tokens.begin(), a.tokens.end(), b.tokens.begin(), b.tokens.end()).first -
         a.tokens.begin();
}

TenantView TenantOf(const Sequence& sequence) {
  const Request& request = sequence.request->request;
  return {
      .id = request.tenant, .share = request.tenant_share, .max_running = request.tenant_running};
}

// Running sequences that a waiting one will become.
int32_t PlacesOf(const Sequence& waiting) {
  const RequestState& state = *waiting.request;
  return state.beams ? state.request.width() : 1 + state.unforked();
}

}  // namespace

void Core::MakePlan() {
  ResumeBeams();
  LookAtRunning();
  LookAtWaiting();
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
                     .drafts = planned.drafts});
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
  if (sequence.request->beams) return 0;
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
          .tenant = TenantOf(sequence),
          .displaceable = sequence.displaced < kMaxDisplaced,
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

// True if a running sequence has to give way to `waiting`.
bool Core::CouldDisplace(const Sequence& waiting) const {
  return std::any_of(running_.begin(), running_.end(), [&](const Sequence* running) {
    return running->request->priority < waiting.request->request.priority &&
           running->displaced < kMaxDisplaced;
  });
}

// Candidates are matched with what is cached at once, which also keeps it from being evicted until
// Admit.
void Core::LookAtWaiting() {
  state_.waiting.clear();
  candidates_.clear();
  state_.available_pages = cache_.available_pages();
  const bool full = static_cast<int64_t>(running_.size()) >= limits_.max_running;
  for (Sequence* sequence : waiting_) {
    if (candidates_.size() == kMaxCandidates) return;
    if (sequence->request->paused()) continue;
    // The beams of a search come back with the first of them.
    if (sequence->request->beams && sequence != sequence->request->lead()) continue;
    if (full && !CouldDisplace(*sequence)) return;
    WaitingView view = {.length = sequence->length(),
                        .sequences = PlacesOf(*sequence),
                        .waits_for_prefix = WaitsForPrefix(*sequence),
                        .held = HeldRows(*sequence),
                        .priority = sequence->request->request.priority,
                        .tenant = TenantOf(*sequence)};
    candidates_.push_back(sequence);
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
}

// True if somebody ahead will compute more of this prefix than is cached now: running, or admitted
// before it.
bool Core::WaitsForPrefix(const Sequence& sequence) const {
  const int64_t worth = cache_.Match(sequence) + kLeastShared;
  const auto computes_more = [&](const Sequence* other) {
    if (!GoesBefore(*other, sequence)) return false;
    const int64_t common = std::min(CommonPrefix(*other, sequence),
                                    sequence.request->ReusableTokens(sequence.length()));
    return common >= worth && common > other->computed;
  };
  return std::any_of(running_.begin(), running_.end(), computes_more) ||
         std::any_of(candidates_.begin(), candidates_.end(), computes_more);
}

}  // namespace skald::engine
