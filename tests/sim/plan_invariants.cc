#include "sim/plan_invariants.h"

#include <algorithm>
#include <vector>

#include "engine/scheduler.h"

namespace skald::sim {
namespace {

using engine::Budget;
using engine::PlannedRows;
using engine::RowSource;
using engine::RunningView;
using engine::SchedulerState;
using engine::StepPlan;
using engine::WaitingView;

bool Contains(const std::vector<int32_t>& list, size_t index) {
  return std::find(list.begin(), list.end(), static_cast<int32_t>(index)) != list.end();
}

// A prompt that has pages, and what it was given.
struct Prompt {
  int32_t tenant = 0;
  int64_t priority = 0;
  int64_t left = 0;     // rows until it samples, or until somebody's prefix is computed
  int64_t allowed = 0;  // rows that it may have
  int64_t given = 0;
  bool was_running = true;
};

const RunningView& RunningOf(const SchedulerState& state, const PlannedRows& rows) {
  return state.running[static_cast<size_t>(rows.index)];
}

bool Decodes(const SchedulerState& state, const PlannedRows& rows) {
  return rows.source == RowSource::kRunning && RunningOf(state, rows).decodes();
}

int64_t GivenTo(const StepPlan& plan, RowSource source, size_t index) {
  int64_t count = 0;
  for (const PlannedRows& rows : plan.rows) {
    if (rows.source == source && rows.index == static_cast<int32_t>(index)) count += rows.count;
  }
  return count;
}

std::vector<Prompt> PromptsOf(const SchedulerState& state, const StepPlan& plan) {
  std::vector<Prompt> prompts;
  for (size_t i = 0; i < state.running.size(); ++i) {
    const RunningView& view = state.running[i];
    const int64_t left = view.length - view.computed;
    const int64_t most = left - std::max(view.held, int64_t{view.paused});
    const int64_t allowed = view.cut > 0 ? std::min(view.cut, most) : most;
    if (left < 2 || allowed < 1 || Contains(plan.displaced, i)) continue;
    prompts.push_back({.tenant = view.tenant,
                       .priority = view.priority,
                       .left = view.wanted_rows > 0 ? std::min(left, view.wanted_rows) : left,
                       .allowed = allowed,
                       .given = GivenTo(plan, RowSource::kRunning, i)});
    // Behind that prefix its rank is another.
    if (view.wanted_rows > 0) prompts.back().allowed = std::min(allowed, view.wanted_rows);
  }
  for (const int32_t index : plan.admitted) {
    const WaitingView& view = state.waiting[static_cast<size_t>(index)];
    const int64_t left = view.length - view.computed;
    prompts.push_back({.tenant = view.tenant,
                       .priority = view.priority,
                       .left = left,
                       .allowed = view.cut > 0 ? std::min(view.cut, left)
                                               : std::max<int64_t>(left - view.held, 0),
                       .given = GivenTo(plan, RowSource::kWaiting, static_cast<size_t>(index)),
                       .was_running = false});
  }
  return prompts;
}

std::string CheckBudget(const SchedulerState& state, const Budget& budget, const StepPlan& plan) {
  int64_t prefill = 0;
  int64_t drafts = 0;
  for (const PlannedRows& rows : plan.rows) {
    const bool decodes = Decodes(state, rows);
    if (!decodes) prefill += rows.count;
    drafts += rows.drafts;
    if (rows.drafts > 0 && (!decodes || rows.drafts > RunningOf(state, rows).drafts)) {
      return "guesses that nobody wants";
    }
  }
  if (drafts > budget.draft_rows) return "too many guesses";
  if (plan.row_count() > budget.rows || prefill > budget.prefill_rows) {
    return "the plan is over its budget";
  }
  if (plan.row_count() == budget.rows || drafts == budget.draft_rows) return {};
  for (const PlannedRows& rows : plan.rows) {
    if (Decodes(state, rows) && rows.drafts < RunningOf(state, rows).drafts) {
      return "guesses are left out though there are rows";
    }
  }
  return {};
}

// Places, and pages that nobody else would hold.
struct Had {
  int64_t places = 0;
  int64_t pages = 0;
};

// What a tenant has by this plan.
Had HadBy(const SchedulerState& state, const StepPlan& plan, int32_t tenant) {
  Had had;
  for (size_t i = 0; i < state.running.size(); ++i) {
    const RunningView& view = state.running[i];
    if (view.tenant != tenant || Contains(plan.displaced, i)) continue;
    had.places += 1 + view.unforked;
    had.pages += view.freed;
  }
  for (const int32_t admitted : plan.admitted) {
    const WaitingView& view = state.waiting[static_cast<size_t>(admitted)];
    if (view.tenant != tenant) continue;
    had.places += view.sequences;
    had.pages += view.pages;
  }
  return had;
}

Had PartsOf(const SchedulerState& state, const Budget& budget, int32_t tenant) {
  int64_t pages = state.available_pages;
  for (const RunningView& view : state.running) pages += view.freed;
  const int64_t shares = engine::SharesOf(state.tenants);
  const engine::TenantView& view = state.tenants[static_cast<size_t>(tenant)];
  return {.places = view.PartOf(budget.sequences, shares), .pages = view.PartOf(pages, shares)};
}

// Whoever is admitted with a higher priority takes from anybody.
bool GivesWayToPriority(const SchedulerState& state, const StepPlan& plan,
                        const RunningView& displaced) {
  return displaced.displaceable &&
         std::any_of(plan.admitted.begin(), plan.admitted.end(), [&](int32_t admitted) {
           return state.waiting[static_cast<size_t>(admitted)].priority > displaced.priority;
         });
}

// A tenant that others displaced from keeps its part of the one or the other, but for what a higher
// priority took, which may have come behind.
bool KeepsItsPart(const SchedulerState& state, const Budget& budget, const StepPlan& plan,
                  int32_t tenant) {
  Had had = HadBy(state, plan, tenant);
  for (const int32_t index : plan.displaced) {
    const RunningView& view = state.running[static_cast<size_t>(index)];
    if (view.tenant != tenant || !GivesWayToPriority(state, plan, view)) continue;
    had.places += 1 + view.unforked;
    had.pages += view.freed;
  }
  const Had part = PartsOf(state, budget, tenant);
  return had.places >= part.places || had.pages >= part.pages;
}

bool IsWithinPart(const SchedulerState& state, const Budget& budget, const StepPlan& plan,
                  int32_t tenant) {
  const Had had = HadBy(state, plan, tenant);
  const Had part = PartsOf(state, budget, tenant);
  return had.places <= part.places && had.pages <= part.pages;
}

// For a higher priority, or what was on loan for a tenant that has less than its part.
bool MayBeDisplaced(const SchedulerState& state, const Budget& budget, const StepPlan& plan,
                    const RunningView& displaced) {
  if (GivesWayToPriority(state, plan, displaced)) return true;
  return std::any_of(plan.admitted.begin(), plan.admitted.end(), [&](int32_t admitted) {
    const WaitingView& waiting = state.waiting[static_cast<size_t>(admitted)];
    return waiting.tenant != displaced.tenant &&
           KeepsItsPart(state, budget, plan, displaced.tenant);
  });
}

std::string CheckDecodes(const SchedulerState& state, const Budget& budget, const StepPlan& plan) {
  for (const int32_t index : plan.displaced) {
    const RunningView& displaced = state.running[static_cast<size_t>(index)];
    if (!MayBeDisplaced(state, budget, plan, displaced)) return "displaced for nothing";
  }
  for (size_t i = 0; i < state.running.size(); ++i) {
    if (!state.running[i].decodes() || Contains(plan.displaced, i)) continue;
    if (GivenTo(plan, RowSource::kRunning, i) == 0) return "a running stream gets no row";
  }
  return {};
}

// Rows that go to others than rank says: those for the patient, and those that a displaced stream
// had, which go to whoever displaced it.
int64_t RowsBesideRank(const Budget& budget, const StepPlan& plan) {
  return engine::PatientRows(budget.prefill_rows) + static_cast<int64_t>(plan.displaced.size());
}

// Of one tenant, whoever goes behind another that could use more rows has at most those.
std::string CheckOrder(const Budget& budget, const StepPlan& plan,
                       const std::vector<Prompt>& prompts) {
  const int64_t patient = RowsBesideRank(budget, plan);
  for (const Prompt& first : prompts) {
    for (const Prompt& later : prompts) {
      if (first.tenant != later.tenant || first.given >= first.allowed) continue;
      if (!first.was_running && !plan.displaced.empty()) continue;
      const bool before = first.priority > later.priority ||
                          (first.priority == later.priority && first.left + patient < later.left);
      if (before && later.given > patient) return "a prompt goes before its turn";
    }
  }
  return {};
}

// Of two tenants that both could use more rows, none is ahead by more than it gets in a go, and
// those.
std::string CheckShares(const SchedulerState& state, const Budget& budget, const StepPlan& plan,
                        const std::vector<Prompt>& prompts) {
  std::vector<int64_t> used;
  for (const auto& tenant : state.tenants) used.push_back(tenant.used);
  std::vector<int64_t> given(used.size());
  for (const PlannedRows& rows : plan.rows) {
    const bool runs = rows.source == RowSource::kRunning;
    const int32_t tenant = runs ? RunningOf(state, rows).tenant
                                : state.waiting[static_cast<size_t>(rows.index)].tenant;
    const auto index = static_cast<size_t>(tenant);
    const int64_t count = rows.count - rows.drafts;
    used[index] += count * engine::kTenantScale / state.tenants[index].share;
    if (!Decodes(state, rows)) given[index] += count;
  }
  const int64_t patient = RowsBesideRank(budget, plan);
  const int64_t go = engine::RowsInAGo(budget.prefill_rows) + patient + 1;
  for (const Prompt& prompt : prompts) {
    // There may have been no room for it before somebody was displaced.
    const bool came_late = !prompt.was_running && !plan.displaced.empty();
    if (prompt.given >= prompt.allowed || came_late) continue;
    const auto behind = static_cast<size_t>(prompt.tenant);
    for (size_t ahead = 0; ahead < used.size(); ++ahead) {
      if (ahead == behind || given[ahead] <= patient) continue;
      const int64_t lead = go * engine::kTenantScale / state.tenants[ahead].share;
      if (used[ahead] - lead > used[behind]) return "a tenant gets more than its share";
    }
  }
  return {};
}

// One request of a tenant may always run, further ones within its bound.
bool HasRoomInTenant(const SchedulerState& state, const StepPlan& plan, size_t index,
                     bool with_displaced) {
  const WaitingView& waiting = state.waiting[index];
  const int32_t most = state.tenants[static_cast<size_t>(waiting.tenant)].max_running;
  int32_t others = 0;
  for (size_t i = 0; i < state.running.size(); ++i) {
    const RunningView& view = state.running[i];
    if (view.tenant != waiting.tenant || (!with_displaced && Contains(plan.displaced, i))) continue;
    others += 1 + view.unforked;
  }
  for (const int32_t admitted : plan.admitted) {
    const WaitingView& view = state.waiting[static_cast<size_t>(admitted)];
    if (view.tenant == waiting.tenant && admitted != static_cast<int32_t>(index)) {
      others += view.sequences;
    }
  }
  return most == 0 || others == 0 || others + waiting.sequences <= most;
}

// It waits to share a prefix with one that runs, or will from now on.
bool WaitsToShare(const StepPlan& plan, const WaitingView& waiting) {
  return waiting.waits_for_prefix ||
         std::any_of(plan.admitted.begin(), plan.admitted.end(),
                     [&](int32_t index) { return ((waiting.shares_with >> index) & 1) != 0; });
}

bool IsRefusedThoughDue(const SchedulerState& state, const StepPlan& plan, size_t index) {
  const WaitingView& waiting = state.waiting[index];
  return waiting.due && !Contains(plan.admitted, index) && !WaitsToShare(plan, waiting) &&
         HasRoomInTenant(state, plan, index, true);
}

// Each of two would have waited for the other.
bool SharesWithAdmitted(const SchedulerState& state, const StepPlan& plan, int32_t index) {
  const auto has = [&](int32_t a, int32_t b) {
    return ((state.waiting[static_cast<size_t>(a)].shares_with >> b) & 1) != 0;
  };
  return std::any_of(plan.admitted.begin(), plan.admitted.end(),
                     [&](int32_t other) { return has(index, other) && has(other, index); });
}

std::string CheckAdmissions(const SchedulerState& state, const Budget& budget,
                            const StepPlan& plan) {
  bool refused = false;
  for (size_t i = 0; i < state.waiting.size(); ++i) {
    refused = refused || IsRefusedThoughDue(state, plan, i);
  }
  for (const int32_t index : plan.admitted) {
    const WaitingView& waiting = state.waiting[static_cast<size_t>(index)];
    if (waiting.waits_for_prefix || SharesWithAdmitted(state, plan, index)) {
      return "a prefix is computed twice";
    }
    if (refused && !waiting.due && !IsWithinPart(state, budget, plan, waiting.tenant))
      return "a request passes one that is due";
    if (!HasRoomInTenant(state, plan, static_cast<size_t>(index), false)) {
      return "a tenant runs more than its bound";
    }
  }
  return {};
}

// All rows or none, and who has waited longest among the first, but for those that are due.
std::string CheckWhole(const SchedulerState& state, const StepPlan& plan) {
  for (const PlannedRows& rows : plan.rows) {
    const bool is_whole = rows.source == RowSource::kWaiting && rows.first == 0 && rows.samples &&
                          rows.count == state.waiting[static_cast<size_t>(rows.index)].length;
    if (!is_whole) return "a whole text is cut";
  }
  if (plan.rows.size() != plan.admitted.size()) return "a whole text is admitted without rows";
  if (plan.admitted.empty()) return {};
  int64_t longest = 0;
  bool due = false;
  for (const WaitingView& view : state.waiting) {
    longest = std::max(longest, view.waited);
    due = due || view.due;
  }
  const bool has_longest = std::any_of(
      plan.admitted.begin(), plan.admitted.end(),
      [&](int32_t index) { return state.waiting[static_cast<size_t>(index)].waited == longest; });
  return due || has_longest ? "" : "who has waited longest goes on waiting";
}

}  // namespace

bool CouldHaveBeenAdmitted(const SchedulerState& state, const Budget& budget, const StepPlan& plan,
                           size_t index) {
  const WaitingView& waiting = state.waiting[index];
  if (Contains(plan.admitted, index) || WaitsToShare(plan, waiting)) return false;
  int64_t places = budget.sequences - waiting.sequences;
  int64_t pages = state.available_pages - waiting.pages - waiting.sequences;
  for (size_t i = 0; i < state.running.size(); ++i) {
    const RunningView& view = state.running[i];
    if (Contains(plan.displaced, i)) continue;
    places -= 1 + view.unforked;
    pages -= view.pages + 1 + view.unforked;
  }
  for (const int32_t admitted : plan.admitted) {
    const WaitingView& view = state.waiting[static_cast<size_t>(admitted)];
    places -= view.sequences;
    pages -= view.pages + view.sequences;
  }
  for (size_t i = 0; i < state.waiting.size(); ++i) {
    if (IsRefusedThoughDue(state, plan, i)) return false;
  }
  return places >= 0 && pages >= 0 && HasRoomInTenant(state, plan, index, true);
}

std::string CheckPlan(const SchedulerState& state, const Budget& budget, const StepPlan& plan) {
  const std::vector<Prompt> prompts = PromptsOf(state, plan);
  std::string wrong = CheckBudget(state, budget, plan);
  if (wrong.empty()) wrong = CheckDecodes(state, budget, plan);
  if (wrong.empty()) wrong = CheckAdmissions(state, budget, plan);
  if (wrong.empty() && state.prompts == engine::PromptRule::kWhole) {
    wrong = CheckWhole(state, plan);
  } else if (wrong.empty()) {
    wrong = CheckOrder(budget, plan, prompts);
    if (wrong.empty()) wrong = CheckShares(state, budget, plan, prompts);
  }
  return wrong.empty() ? wrong : wrong + ": " + plan.ToString();
}

}  // namespace skald::sim
