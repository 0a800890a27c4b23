#include "sim/faulty_parts.h"

#include <algorithm>
#include <utility>

#include "kernels/attention/attention.h"
#include "sim/constraints.h"

namespace skald::sim {

using engine::Phase;
using engine::Sequence;

namespace {

// One position beyond the computed ones lies in a page of the table, and is not the last token.
bool HasRoomForOne(const Sequence& sequence) {
  return sequence.computed % kernels::kPageTokens != 0 && sequence.remaining() > 1;
}

}  // namespace

void FaultyCache::AcquireIn(kv::Namespace space, Sequence* sequence) {
  const auto tokens = std::span(sequence->tokens).first(sequence->tokens.size() - 1);
  sequence->pin = tree_.Acquire(space, tokens, &sequence->table);
  sequence->computed = sequence->pin.tokens();
}

void FaultyCache::Acquire(Sequence* sequence) {
  const kv::Namespace own = engine::NamespaceOf(*sequence->request);
  if (fault_ == Fault::kMatchWithoutWindow) {
    CacheManager::Acquire(sequence);
    return sequence->table.ForgetBehind(sequence->computed + kernels::kPageTokens);
  }
  if (has_states()) {
    if (fault_ == Fault::kMatchWithoutState) return AcquireIn(own, sequence);
    CacheManager::Acquire(sequence);
    if (fault_ != Fault::kSnapshotUnguarded) return;
    unguarded_[sequence] = sequence->pin.state();
    return sequence->pin.ReleaseState();
  }
  if (fault_ == Fault::kNamespaceLost) return AcquireIn(kv::Namespace{0}, sequence);
  CacheManager::Acquire(sequence);
  if (fault_ == Fault::kNamespaceLostOnMiss && sequence->computed == 0 && own != kv::Namespace{0}) {
    CacheManager::Release(sequence);
    AcquireIn(kv::Namespace{0}, sequence);
  }
  const bool resumes = sequence->phase() == Phase::kPreempted;
  const bool too_long =
      fault_ == Fault::kMatchOneTooLong || (fault_ == Fault::kResumedAtWrongPosition && resumes);
  if (too_long && HasRoomForOne(*sequence)) ++sequence->computed;
  if (fault_ == Fault::kLookUpWithoutPin) {
    for (const kv::PageId page : sequence->table.pages()) pool_.Release(page);
  }
}

void FaultyCache::Publish(Sequence* sequence, int64_t count) {
  if (fault_ == Fault::kPublishedWrongTokens && sequence->remaining() > count) {
    const auto wrong =
        std::span<const TokenId>(sequence->tokens)
            .subspan(static_cast<size_t>(sequence->computed) + 1, static_cast<size_t>(count));
    sequence->computed += count;
    tree_.Insert(&sequence->pin, wrong, &sequence->table);
    return;
  }
  if (fault_ == Fault::kWindowKept) {
    const auto tokens =
        std::span<const TokenId>(sequence->tokens)
            .subspan(static_cast<size_t>(sequence->computed), static_cast<size_t>(count));
    sequence->computed += count;
    return tree_.Insert(&sequence->pin, tokens, &sequence->table);
  }
  CacheManager::Publish(sequence, count);
  if (fault_ == Fault::kWindowPageTaken && pool_.windows().exists()) {
    const kv::PageId last = sequence->table.pages().back();
    if (pool_.windows().users(last) == 1) pool_.LeaveWindow(last);
  }
  if (fault_ == Fault::kPublishedTooEarly && HasRoomForOne(*sequence)) {
    const auto next = std::span<const TokenId>(sequence->tokens)
                          .subspan(static_cast<size_t>(sequence->computed), 1);
    kv::PrefixTree::Pin ahead = sequence->pin.Fork();
    tree_.Insert(&ahead, next, &sequence->table);
  }
}

void FaultyCache::Release(Sequence* sequence) {
  const auto pages = sequence->table.pages();
  if (fault_ == Fault::kPageFreedTwice && pages.size() > 1) pool_.Release(pages.back());
  if (fault_ == Fault::kPageLeaked && pages.size() > 1) pool_.AddReference(pages.back());
  if (fault_ == Fault::kFinishedKeepsPages) {
    sequence->pin.Release();
    sequence->computed = 0;
    return;
  }
  if (fault_ == Fault::kSampledTokenLost && sequence->phase() == Phase::kDecode && !sequence->end &&
      sequence->output().size() > 1) {
    sequence->tokens.pop_back();
  }
  CacheManager::Release(sequence);
}

void FaultyCache::LeaveState(Sequence* sequence, engine::Leaving leaving) {
  if (fault_ == Fault::kStateKept && sequence->phase() == Phase::kDecode) {
    kept_.push_back(std::move(sequence->state));
  }
  if (fault_ == Fault::kSnapshotOfAdvanced) sequence->consumed = sequence->computed;
  if (fault_ == Fault::kSnapshotOneTooFar && sequence->state.holds() && sequence->computed > 1) {
    kv::PageTable table(&pool_, sequence->computed);
    const auto before = std::span<const TokenId>(sequence->tokens)
                            .first(static_cast<size_t>(sequence->computed) - 1);
    const kv::PrefixTree::Pin pin =
        tree_.Acquire(engine::NamespaceOf(*sequence->request), before, &table);
    return tree_.PutState(pin, std::move(sequence->state));
  }
  CacheManager::LeaveState(sequence, leaving);
}

std::optional<kv::StateCopy> FaultyCache::PrepareState(Sequence* sequence) {
  const bool begins = has_states() && !sequence->state.holds() && sequence->computed > 0;
  if (fault_ == Fault::kSnapshotUnguarded && begins) {
    sequence->state = FreeState();
    sequence->consumed = sequence->computed;
    return kv::StateCopy{.from = unguarded_[sequence], .to = sequence->state.id()};
  }
  auto copy = CacheManager::PrepareState(sequence);
  const auto slots = static_cast<kv::StateId>(states_.total_count());
  if (fault_ == Fault::kSnapshotOfOther && copy) copy->from = (copy->from + 1) % slots;
  return copy;
}

bool FaultyCache::RestoreWindow(kv::Namespace space, std::span<const TokenId> tokens,
                                FunctionRef<void(kv::PageId)> fill) {
  const size_t pages = tokens.size() / static_cast<size_t>(kernels::kPageTokens);
  if (fault_ == Fault::kWindowsRestoredTooFew && pages % 2 == 0) {
    return CacheManager::RestoreWindow(space, tokens, [](kv::PageId) {});
  }
  return CacheManager::RestoreWindow(space, tokens, fill);
}

bool FaultyCache::RestoreState(kv::Namespace space, std::span<const TokenId> tokens,
                               FunctionRef<void(const kv::PageParts&)> fill_page,
                               FunctionRef<void(kv::StateId)> fill_state) {
  const bool early = fault_ == Fault::kStateRestoredEarly && tokens.size() > 1;
  if (early) tokens = tokens.first(tokens.size() - 1);
  return CacheManager::RestoreState(space, tokens, fill_page, fill_state);
}

std::unique_ptr<Sequence> FaultyCache::Fork(Sequence* lead, int32_t index, int64_t context) {
  auto fork = CacheManager::Fork(lead, index, context);
  if (fault_ == Fault::kForkMissesTokens && fork->tokens.size() > 1) {
    fork->tokens.back() = fork->tokens.front();
  }
  if (fault_ == Fault::kForkOneTooLong) fork->tokens.push_back(fork->tokens.back());
  return fork;
}

void FaultyCache::ForkInto(Sequence* lead, Sequence* fork) {
  if (fault_ == Fault::kTextOfOtherBeam) {
    const auto text = fork->text;
    CacheManager::ForkInto(lead, fork);
    fork->text = text;
    return;
  }
  if (fault_ != Fault::kBeamKeepsPages) return CacheManager::ForkInto(lead, fork);
  fork->pin = tree_.Acquire(engine::NamespaceOf(*fork->request), fork->tokens, &fork->table);
  fork->computed = fork->pin.tokens();
  if (fork->computed < lead->computed) return CacheManager::ForkInto(lead, fork);
  fork->tokens.assign(lead->tokens.begin(), lead->tokens.end());
}

bool FaultyCache::PrepareWrite(Sequence* sequence, int64_t count,
                               std::vector<kv::PageCopy>* copies) {
  const int64_t evicted = evicted_count();
  if (fault_ == Fault::kEvictsAll && PagesToWrite(*sequence, count) > pool_.free_count()) {
    Evict(pool_.total_count());
  }
  const bool prepared = CacheManager::PrepareWrite(sequence, count, copies);
  // One page may be left: what is evicted may have been the tree's part of a shared page, which
  // then need not be copied.
  const bool left_over = evicted_count() > evicted && pool_.free_count() > 1;
  if (prepared && left_over) wrong_ = "more is evicted than is needed";
  return prepared;
}

Result<engine::ChosenToken> FaultyChooser::Choose(const Sequence& sequence,
                                                  std::span<const float> logits) {
  const Client& client = workload_.clients[static_cast<size_t>(sequence.request->id)];
  if (client.fails_at_token == static_cast<int64_t>(sequence.output().size())) {
    return Status(ErrorCode::kNumeric, "planted");
  }
  const auto guess = static_cast<size_t>(sequence.draft_accepted);
  if (fault_ == Fault::kDraftBelieved && guess < sequence.draft.size()) {
    return engine::ChosenToken{.token = sequence.draft[guess], .logprob = {}, .top = {}};
  }
  // Nobody else guesses there, so the text is right; how it is spelled is the model's to say.
  const bool is_forced = workload_.guessing == Guessing::kForced && guess < sequence.draft.size();
  if (fault_ == Fault::kForcedTextBelieved && is_forced) {
    return engine::ChosenToken{.token = sequence.draft[guess], .logprob = {}, .top = {}};
  }
  RandomKey key = KeyOf(sequence);
  if (fault_ == Fault::kRandomShared) key.sequence = 0;
  if (fault_ == Fault::kRandomByOrder) key.position = chosen_++;
  // Cached positions that were published by others have no owner here: the mark of a resumption.
  if (fault_ == Fault::kRandomAfterPreemption && !sequence.output().empty() &&
      !sequence.table.OwnsPage(0)) {
    key.position += 1;
  }
  return ChooseWith(sequence, logits, key);
}

std::optional<FinishReason> FaultyChooser::EndOf(const Sequence& sequence) const {
  std::optional<FinishReason> end = TokenChooser::EndOf(sequence);
  const StopRules& stop = sequence.request->request.stop;
  const auto output = static_cast<int64_t>(sequence.output().size());
  const bool room = sequence.length() <= workload_.core.context;
  if (fault_ == Fault::kStopTokenLate && end == FinishReason::kStop && room) {
    const TokenId before = sequence.tokens[sequence.tokens.size() - 2];
    if (output < 2 || before != sequence.tokens.back()) return std::nullopt;
  }
  if (fault_ == Fault::kStopTokenIgnored && end == FinishReason::kStop && room &&
      sequence.index > 0) {
    return std::nullopt;
  }
  if (fault_ == Fault::kLengthOffByOne && end == FinishReason::kLength && room &&
      output == stop.max_tokens) {
    return std::nullopt;
  }
  if (fault_ == Fault::kContextOffByOne && !end && sequence.length() == workload_.core.context) {
    return FinishReason::kContext;
  }
  return end;
}

void FaultyForced::PlantIn(const engine::DraftWish& wish) const {
  std::vector<TokenId>* guess = wish.tokens;
  if (fault_ == Fault::kForcedTextAhead && guess->size() > 1) guess->erase(guess->begin());
  const bool has_room = static_cast<int64_t>(guess->size()) < wish.most;
  if (fault_ == Fault::kForcedTextGoesOn && !guess->empty() && has_room) {
    guess->push_back(guess->back());
  }
  const auto control = std::find_if(guess->begin(), guess->end(), IsControl);
  if (fault_ == Fault::kForcedTextLost && control != guess->end()) {
    guess->erase(control + 1, guess->end());
  }
}

int64_t FaultyForced::Propose(std::span<const engine::DraftWish> wishes, int64_t catch_up_rows) {
  const int64_t rows = ForcedProposer::Propose(wishes, catch_up_rows);
  for (const engine::DraftWish& wish : wishes) {
    PlantIn(wish);
    const std::string wrong = CheckForced(wish.sequence->request->request, wish.sequence->output(),
                                          {.tokens = *wish.tokens, .most = wish.most});
    if (!wrong.empty()) wrong_ = wrong;
  }
  return rows;
}

namespace {

bool IsOfState(Fault fault) {
  return fault == Fault::kDueIgnored || fault == Fault::kPatienceLost ||
         fault == Fault::kSharesIgnored || fault == Fault::kTenantBoundIgnored;
}

// Rows of the first of two prompts of a tenant go to the second, which has more left.
void GiveToTheLongest(const engine::SchedulerState& state, engine::StepPlan* plan) {
  using engine::PlannedRows;
  const auto view = [&](const PlannedRows& rows) -> const engine::RunningView& {
    return state.running[static_cast<size_t>(rows.index)];
  };
  const auto left = [&](const PlannedRows& rows) { return view(rows).length - rows.first; };
  const auto is_prompt = [&](const PlannedRows& rows) {
    return rows.source == engine::RowSource::kRunning && left(rows) > 1 && !view(rows).paused &&
           view(rows).held == 0;
  };
  for (PlannedRows& first : plan->rows) {
    for (PlannedRows& second : plan->rows) {
      if (!is_prompt(first) || !is_prompt(second) || left(first) >= left(second)) continue;
      if (view(first).tenant != view(second).tenant) continue;
      const int64_t moved = std::min(first.count - 1, left(second) - second.count);
      first.count -= moved;
      second.count += moved;
      for (PlannedRows* rows : {&first, &second}) rows->samples = rows->count == left(*rows);
    }
  }
}

}  // namespace

engine::SchedulerState FaultyScheduler::Mistaken(const engine::SchedulerState& state) const {
  engine::SchedulerState mistaken = state;
  for (engine::RunningView& running : mistaken.running) {
    if (fault_ == Fault::kPatienceLost) running.waited = 0;
  }
  for (engine::WaitingView& waiting : mistaken.waiting) {
    if (fault_ == Fault::kPatienceLost) waiting.waited = 0;
    if (fault_ == Fault::kDueIgnored) waiting.due = false;
  }
  for (engine::TenantView& tenant : mistaken.tenants) {
    if (fault_ == Fault::kSharesIgnored) tenant.used = 0;
    if (fault_ == Fault::kTenantBoundIgnored) tenant.max_running = 0;
  }
  return mistaken;
}

void FaultyScheduler::Plan(const engine::SchedulerState& state, const engine::Budget& budget,
                           engine::StepPlan* plan) const {
  engine::Budget changed = budget;
  if (fault_ == Fault::kPlanOverBudget) changed.prefill_rows += 1;
  if (fault_ == Fault::kDraftRowsOverBudget) changed.rows += changed.draft_rows;
  if (fault_ == Fault::kPlacesIgnored) changed.sequences += 1;
  if (fault_ == Fault::kDecodeLast) changed.rows = std::min(changed.rows, changed.prefill_rows);
  if (fault_ == Fault::kOvertaking && !state.waiting.empty() && !state.running.empty()) {
    engine::SchedulerState without_first = state;
    without_first.waiting.front().waits_for_prefix = true;
    return Scheduler::Plan(without_first, changed, plan);
  }
  if (fault_ == Fault::kEqualDisplaced || fault_ == Fault::kDisplacedWithoutEnd) {
    engine::SchedulerState mistaken = state;
    for (engine::RunningView& running : mistaken.running) {
      if (fault_ == Fault::kEqualDisplaced) running.priority -= 1;
      if (fault_ == Fault::kDisplacedWithoutEnd) running.displaceable = true;
    }
    return Scheduler::Plan(mistaken, changed, plan);
  }
  if (IsOfState(fault_)) return Scheduler::Plan(Mistaken(state), changed, plan);
  Scheduler::Plan(state, changed, plan);
  if (fault_ == Fault::kPromptsReversed) GiveToTheLongest(state, plan);
  if (fault_ == Fault::kGuessesLeftOut) {
    for (engine::PlannedRows& rows : plan->rows) rows.count -= std::exchange(rows.drafts, 0);
  }
  const auto drop = [&](auto&& is_dropped) { std::erase_if(plan->rows, is_dropped); };
  if (fault_ == Fault::kDecodeLast) {
    const bool prompts = std::any_of(plan->rows.begin(), plan->rows.end(),
                                     [](const auto& rows) { return rows.count > 1; });
    if (prompts) drop([](const auto& rows) { return rows.count == 1; });
  }
  if (fault_ == Fault::kPreemptedForgotten) {
    // A waiting sequence that is found to be computed but for a little was there before.
    std::erase_if(plan->admitted, [&](int32_t index) {
      const auto& waiting = state.waiting[static_cast<size_t>(index)];
      return waiting.computed > 0 && waiting.length - waiting.computed == 1;
    });
    drop([&](const auto& rows) {
      return rows.source == engine::RowSource::kWaiting &&
             !std::binary_search(plan->admitted.begin(), plan->admitted.end(), rows.index);
    });
  }
}

int32_t FaultyScheduler::Victim(const std::vector<engine::RunningView>& running) const {
  return fault_ == Fault::kOldestPreempted ? 0 : Scheduler::Victim(running);
}

}  // namespace skald::sim
