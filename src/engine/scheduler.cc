#include "engine/scheduler.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "base/check.h"

namespace skald::engine {
namespace {

int32_t SequencesOf(const RunningView& running) { return 1 + running.unforked; }

int64_t UpTo(int64_t cut, int64_t rows) { return cut > 0 ? std::min(cut, rows) : rows; }

// What is left of a budget while a plan grows; dies with the plan.
class PlanBuilder {
 public:
  PlanBuilder(const SchedulerState& state, const Budget& budget, StepPlan* plan)
      : state_(state),
        plan_(*plan),
        prompts_(plan->prompts),
        rows_(budget.rows),
        prefill_rows_(budget.prefill_rows),
        budget_draft_rows_(budget.draft_rows),
        shares_(SharesOf(state.tenants)),
        all_places_(budget.sequences),
        all_pages_(state.available_pages),
        room_({.places = budget.sequences,
               .pages = state.available_pages,
               .kept = state.running.size()}) {
    plan_.displaced.clear();
    plan_.admitted.clear();
    plan_.rows.clear();
    prompts_.clear();
    plan_.tenants = state.tenants;
    plan_.tenant_running.assign(state.tenants.size(), 0);
    plan_.tenant_pages.assign(state.tenants.size(), 0);
    for (const RunningView& running : state.running) {
      room_.places -= SequencesOf(running);
      room_.pages -= running.pages + SequencesOf(running);
      RunningOf(running.tenant) += SequencesOf(running);
      PagesOf(running.tenant) += running.freed;
      all_pages_ += running.freed;
    }
  }

  void AddDecodes() {
    for (size_t i = 0; i < state_.running.size(); ++i) {
      const RunningView& running = state_.running[i];
      if (!running.decodes() || rows_ < 1) continue;
      rows_ -= 1;
      Tenant(running.tenant).Charge(1);
      plan_.rows.push_back({.source = RowSource::kRunning,
                            .index = static_cast<int32_t>(i),
                            .first = running.computed,
                            .count = 1,
                            .samples = true,
                            .reason = RowReason::kDecode});
    }
  }

  void AddPrompts() {
    if (prefill_rows_ < 1) return;
    FindPrompts();
    if (state_.prompts == PromptRule::kWhole) {
      GiveWhole();
    } else {
      AdmitDue();
      kept_rows_ = PatientRows(std::min(prefill_rows_, rows_));
      GiveByRank();
      kept_rows_ = 0;
      GiveToThePatient();
    }
    for (PromptTurn& prompt : prompts_) {
      AddRows(prompt);
      if (!prompt.has_pages) prompt.waits = WhyWaits(prompt);
    }
    std::sort(plan_.admitted.begin(), plan_.admitted.end());
    std::sort(plan_.displaced.rbegin(), plan_.displaced.rend());
  }

  void AddDrafts() {
    int64_t left = std::min(rows_, budget_draft_rows_);
    for (PlannedRows& rows : plan_.rows) {
      if (rows.source != RowSource::kRunning || !rows.samples) continue;
      const RunningView& running = state_.running[static_cast<size_t>(rows.index)];
      rows.drafts = std::min(running.drafts, left);
      rows.count += rows.drafts;
      left -= rows.drafts;
    }
  }

 private:
  // What a waiting sequence needs to be admitted. Displacing changes it; if that was not enough, it
  // is set back.
  struct Room {
    int64_t places;
    int64_t pages;
    size_t kept;  // running sequences from here on are displaced or cannot be
  };

  const RunningView& RunningAt(const PromptTurn& prompt) const {
    return state_.running[static_cast<size_t>(prompt.index)];
  }
  const WaitingView& WaitingAt(const PromptTurn& prompt) const {
    return state_.waiting[static_cast<size_t>(prompt.index)];
  }
  bool Runs(const PromptTurn& prompt) const { return prompt.source == RowSource::kRunning; }
  int32_t TenantOf(const PromptTurn& prompt) const {
    return Runs(prompt) ? RunningAt(prompt).tenant : WaitingAt(prompt).tenant;
  }
  int64_t WaitedOf(const PromptTurn& prompt) const {
    return Runs(prompt) ? RunningAt(prompt).waited : WaitingAt(prompt).waited;
  }
  int32_t& RunningOf(int32_t tenant) { return plan_.tenant_running[static_cast<size_t>(tenant)]; }
  int64_t& PagesOf(int32_t tenant) { return plan_.tenant_pages[static_cast<size_t>(tenant)]; }
  TenantView& Tenant(int32_t tenant) { return plan_.tenants[static_cast<size_t>(tenant)]; }

  void FindPrompts() {
    for (size_t i = 0; i < state_.running.size(); ++i) {
      const RunningView& running = state_.running[i];
      const int64_t left = running.length - running.computed;
      // The last row samples, which a slow reader does not allow.
      const int64_t held = std::max(running.held, int64_t{running.paused});
      if (left < 2 || left <= held) continue;
      prompts_.push_back({.source = RowSource::kRunning,
                          .index = static_cast<int32_t>(i),
                          .first = running.computed,
                          .left = left,
                          .allowed = UpTo(running.cut, left - held),
                          .has_pages = true});
    }
    for (size_t i = 0; i < state_.waiting.size(); ++i) {
      const WaitingView& waiting = state_.waiting[i];
      if (waiting.waits_for_prefix) continue;
      const int64_t left = waiting.length - waiting.computed;
      prompts_.push_back({.source = RowSource::kWaiting,
                          .index = static_cast<int32_t>(i),
                          .first = waiting.computed,
                          .left = left,
                          .allowed = UpTo(waiting.cut, std::max<int64_t>(left - waiting.held, 0))});
    }
  }

  bool SeveralTenants() const {
    return std::any_of(prompts_.begin(), prompts_.end(), [this](const PromptTurn& prompt) {
      return TenantOf(prompt) != TenantOf(prompts_.front());
    });
  }

  // Those that were overtaken too often come before all others, and if one of them does not fit,
  // what running ones give back is for it: nobody is admitted but who takes of its own part.
  void AdmitDue() {
    for (PromptTurn& prompt : prompts_) {
      if (Runs(prompt) || !WaitingAt(prompt).due || prompt.over) continue;
      prompt.reason = RowReason::kDue;
      if (Admit(&prompt) || !MayRunOneMore(WaitingAt(prompt))) continue;
      due_tenant_ = TenantOf(prompt);
      prompt.over = true;
      return;
    }
  }

  void GiveByRank() {
    const int64_t go = SeveralTenants() ? RowsInAGo(prefill_rows_) : prefill_rows_;
    while (prefill_rows_ > kept_rows_) {
      PromptTurn* next = FirstByRank();
      if (next == nullptr) return;
      // Nobody is admitted who would have to wait for a row: its pages serve others until then.
      const bool fits = next->has_pages || Fits(WaitingAt(*next));
      if (fits && rows_ <= kept_rows_) {
        next->passed = true;
      } else if (next->has_pages) {
        Give(next, go);
      } else if (!Admit(next)) {
        next->passed = true;
      }  // else it has a rank among those with pages, and those may have rows again
    }
  }

  // Behind those that go by rank, which have taken the places that there are.
  void GiveToThePatient() {
    while (prefill_rows_ > 0 && rows_ > 0) {
      PromptTurn* patient = MostPatient();
      if (patient == nullptr) return;
      if (patient->given == 0) patient->reason = RowReason::kPatience;
      if (!patient->has_pages) TakePlace(patient);
      Give(patient, prefill_rows_);
    }
  }

  // All rows of a prompt or none. Nobody passes one that is due: it comes first in the next step.
  void GiveWhole() {
    CHECK(state_.running.empty());
    for (PromptTurn* next = NextWhole(); next != nullptr; next = NextWhole()) {
      const bool has_room = next->left <= std::min(rows_, prefill_rows_);
      if (WaitingAt(*next).due) next->reason = RowReason::kDue;
      if (has_room && Admit(next)) {
        Give(next, next->left);
      } else if (WaitingAt(*next).due) {
        return;
      } else {
        next->passed = true;
      }
    }
  }

  PromptTurn* NextWhole() {
    const bool by_patience = plan_.admitted.empty();
    const auto key = [&](const PromptTurn& prompt) {
      return std::tuple(!WaitingAt(prompt).due, by_patience ? -WaitedOf(prompt) : 0,
                        RankOf(prompt));
    };
    PromptTurn* next = nullptr;
    for (PromptTurn& prompt : prompts_) {
      if (prompt.over || prompt.passed) continue;
      if (next == nullptr || key(prompt) < key(*next)) next = &prompt;
    }
    return next;
  }

  // Of those that can have rows at once and have none, the one that has waited longest. In every
  // other turn those that wait for pages come first, so that neither those that run nor those that
  // come keep the others from it.
  PromptTurn* MostPatient() {
    PromptTurn* found = nullptr;
    const bool waiting_first = state_.turn % 2 == 1;
    const auto key = [&](const PromptTurn& prompt) {
      return std::tuple(prompt.given > 0, Runs(prompt) == waiting_first, -WaitedOf(prompt),
                        RankOf(prompt));
    };
    for (PromptTurn& prompt : prompts_) {
      if (prompt.over || (!prompt.has_pages && !Fits(WaitingAt(prompt)))) continue;
      if (found == nullptr || key(prompt) < key(*found)) found = &prompt;
    }
    return found;
  }

  // Rows that somebody who may have less to compute waits for.
  int64_t WantedRows(const PromptTurn& prompt) const {
    return Runs(prompt) ? RunningAt(prompt).wanted_rows - prompt.given : 0;
  }

  // Smaller goes first.
  std::tuple<int64_t, int64_t, int64_t, bool, int32_t> RankOf(const PromptTurn& prompt) const {
    const int64_t used = plan_.tenants[static_cast<size_t>(TenantOf(prompt))].used;
    int64_t priority = 0;
    int64_t left = prompt.left - prompt.given;
    if (Runs(prompt)) {
      priority = RunningAt(prompt).priority;
      if (const int64_t wanted = WantedRows(prompt); wanted > 0) left = std::min(left, wanted);
    } else {
      priority = WaitingAt(prompt).priority;
    }
    return {used, -priority, left, !Runs(prompt), prompt.index};
  }

  PromptTurn* FirstByRank() {
    PromptTurn* first = nullptr;
    for (PromptTurn& prompt : prompts_) {
      if (prompt.over || prompt.passed) continue;
      if (first == nullptr || RankOf(prompt) < RankOf(*first)) first = &prompt;
    }
    return first;
  }

  // Up to `most` rows.
  void Give(PromptTurn* prompt, int64_t most) {
    int64_t count = std::min(
        {most, rows_ - kept_rows_, prefill_rows_ - kept_rows_, prompt->allowed - prompt->given});
    if (const int64_t wanted = WantedRows(*prompt); wanted > 0) count = std::min(count, wanted);
    prompt->given += count;
    prompt->over = prompt->given == prompt->allowed;
    prefill_rows_ -= count;
    rows_ -= count;
    Tenant(TenantOf(*prompt)).Charge(count);
  }

  void AddRows(const PromptTurn& prompt) {
    if (prompt.given == 0) return;
    plan_.rows.push_back({.source = prompt.source,
                          .index = prompt.index,
                          .first = prompt.first,
                          .count = prompt.given,
                          .samples = prompt.given == prompt.left,
                          .reason = prompt.reason});
  }

  // Behind all decisions, and none depends on it.
  WaitReason WhyWaits(const PromptTurn& prompt) {
    const WaitingView& waiting = WaitingAt(prompt);
    const auto shares = [&](int32_t admitted) {
      return ((waiting.shares_with >> admitted) & 1) != 0;
    };
    if (std::any_of(plan_.admitted.begin(), plan_.admitted.end(), shares))
      return WaitReason::kPrefix;
    if (!MayRunOneMore(waiting)) return WaitReason::kTenant;
    if (!MayPassDue(waiting)) return WaitReason::kDue;
    if (room_.places < waiting.sequences) return WaitReason::kPlaces;
    return Fits(waiting) ? WaitReason::kRows : WaitReason::kPages;
  }

  bool MayRunOneMore(const WaitingView& waiting) {
    return Tenant(waiting.tenant).MayRun(RunningOf(waiting.tenant), waiting.sequences);
  }

  int64_t PartOf(int32_t tenant, int64_t all) { return Tenant(tenant).PartOf(all, shares_); }

  // Whether its tenant would have no more than its part of places and pages.
  bool IsWithinPart(const WaitingView& waiting) {
    const int32_t tenant = waiting.tenant;
    return RunningOf(tenant) + waiting.sequences <= PartOf(tenant, all_places_) &&
           PagesOf(tenant) + waiting.pages <= PartOf(tenant, all_pages_);
  }

  bool MayPassDue(const WaitingView& waiting) {
    return !due_tenant_ || (waiting.tenant != due_tenant_ && IsWithinPart(waiting));
  }

  bool Fits(const WaitingView& waiting) {
    const bool alone = plan_.displaced.size() == state_.running.size() && plan_.admitted.empty();
    return MayRunOneMore(waiting) && MayPassDue(waiting) && room_.places >= waiting.sequences &&
           (alone || waiting.pages + waiting.sequences <= room_.pages);
  }

  bool Admit(PromptTurn* prompt) {
    const WaitingView& waiting = WaitingAt(*prompt);
    if (!Fits(waiting) && !Displace(waiting)) return false;
    TakePlace(prompt);
    return true;
  }

  void TakePlace(PromptTurn* prompt) {
    const WaitingView& waiting = WaitingAt(*prompt);
    room_.places -= waiting.sequences;
    room_.pages -= waiting.pages + waiting.sequences;
    RunningOf(waiting.tenant) += waiting.sequences;
    PagesOf(waiting.tenant) += waiting.pages;
    prompt->has_pages = true;
    plan_.admitted.push_back(prompt->index);
    // Who would compute the same prefix waits for it.
    for (PromptTurn& other : prompts_) {
      if (other.has_pages) continue;
      other.over = other.over || ((WaitingAt(other).shares_with >> prompt->index) & 1) != 0;
    }
  }

  // Makes room for `waiting` by displacing running sequences: of lower priority, and what other
  // tenants have on loan where its own has less than its part. The last first. False, with nothing
  // changed, if they are not enough.
  bool Displace(const WaitingView& waiting) {
    if (!MayRunOneMore(waiting) || !MayPassDue(waiting)) return false;
    const Room before = room_;
    const size_t displaced_before = plan_.displaced.size();
    TakeFromLower(waiting);
    if (IsWithinPart(waiting)) {
      TakePlacesOnLoan(waiting);
      TakePagesOnLoan(waiting);
    }
    if (!Fits(waiting)) {
      for (size_t i = displaced_before; i < plan_.displaced.size(); ++i) {
        const RunningView& running = DisplacedAt(i);
        RunningOf(running.tenant) += SequencesOf(running);
        PagesOf(running.tenant) += running.freed;
      }
      room_ = before;
      plan_.displaced.resize(displaced_before);
      return false;
    }
    for (size_t i = displaced_before; i < plan_.displaced.size(); ++i) {
      TakeRowsBack(plan_.displaced[i]);
    }
    // There are rows again, and perhaps more room than it takes.
    for (PromptTurn& prompt : prompts_) prompt.passed = false;
    return true;
  }

  void TakeFromLower(const WaitingView& waiting) {
    for (; room_.kept > 0 && !Fits(waiting); --room_.kept) {
      const RunningView& running = state_.running[room_.kept - 1];
      if (running.priority >= waiting.priority) return;
      if (running.displaceable && !IsDisplaced(room_.kept - 1)) Take(room_.kept - 1);
    }
  }

  // Not less than its part is left to any tenant, so nobody takes back what was taken here. It may
  // happen to a sequence again and again: what is on loan is given back when it is wanted, and its
  // pages stay cached as long as nobody needs them. The first of all that run is left alone, so
  // that one that needs more than its part comes to its end, too.
  void TakePlacesOnLoan(const WaitingView& waiting) {
    for (size_t i = state_.running.size(); i > 1 && room_.places < waiting.sequences; --i) {
      const RunningView& running = state_.running[i - 1];
      if (!MayLend(waiting, i - 1)) continue;
      const int64_t left = RunningOf(running.tenant) - SequencesOf(running);
      if (left >= PartOf(running.tenant, all_places_)) Take(i - 1);
    }
  }

  void TakePagesOnLoan(const WaitingView& waiting) {
    for (size_t i = state_.running.size(); i > 1 && !Fits(waiting); --i) {
      const RunningView& running = state_.running[i - 1];
      if (!MayLend(waiting, i - 1) || running.freed == 0) continue;
      const int64_t left = PagesOf(running.tenant) - running.freed;
      if (left >= PartOf(running.tenant, all_pages_)) Take(i - 1);
    }
  }

  bool MayLend(const WaitingView& waiting, size_t index) const {
    const RunningView& running = state_.running[index];
    return running.tenant != waiting.tenant && running.loanable && !IsDisplaced(index);
  }

  const RunningView& DisplacedAt(size_t i) const {
    return state_.running[static_cast<size_t>(plan_.displaced[i])];
  }
  bool IsDisplaced(size_t index) const {
    return std::find(plan_.displaced.begin(), plan_.displaced.end(), static_cast<int32_t>(index)) !=
           plan_.displaced.end();
  }

  void Take(size_t index) {
    const RunningView& running = state_.running[index];
    plan_.displaced.push_back(static_cast<int32_t>(index));
    room_.places += SequencesOf(running);
    room_.pages += running.pages + SequencesOf(running) + running.freed;
    RunningOf(running.tenant) -= SequencesOf(running);
    PagesOf(running.tenant) -= running.freed;
  }

  // The rows of a displaced sequence go to others.
  void TakeRowsBack(int32_t index) {
    const RunningView& running = state_.running[static_cast<size_t>(index)];
    const size_t decodes = std::erase_if(plan_.rows, [&](const PlannedRows& rows) {
      return rows.source == RowSource::kRunning && rows.index == index;
    });
    rows_ += static_cast<int64_t>(decodes);
    Tenant(running.tenant).Charge(-static_cast<int64_t>(decodes));
    for (PromptTurn& prompt : prompts_) {
      if (!Runs(prompt) || prompt.index != index) continue;
      Tenant(running.tenant).Charge(-prompt.given);
      rows_ += prompt.given;
      prefill_rows_ += prompt.given;
      prompt.given = 0;
      prompt.over = true;
    }
  }

  const SchedulerState& state_;
  StepPlan& plan_;
  std::vector<PromptTurn>& prompts_;
  int64_t rows_;
  int64_t prefill_rows_;
  int64_t kept_rows_ = 0;  // of both, for the patient
  const int64_t budget_draft_rows_;
  const int64_t shares_;
  const int64_t all_places_;
  int64_t all_pages_;                  // available, or held by one tenant
  std::optional<int32_t> due_tenant_;  // of a due one that does not fit
  Room room_;
};

}  // namespace

void Scheduler::Plan(const SchedulerState& state, const Budget& budget, StepPlan* plan) const {
  PlanBuilder builder(state, budget, plan);
  builder.AddDecodes();
  builder.AddPrompts();
  builder.AddDrafts();
}

int32_t Scheduler::Victim(const std::vector<RunningView>& running) const {
  CHECK(!running.empty());
  for (size_t i = running.size(); i > 0; --i) {
    if (running[i - 1].paused) return static_cast<int32_t>(i - 1);
  }
  return static_cast<int32_t>(running.size()) - 1;
}

}  // namespace skald::engine
