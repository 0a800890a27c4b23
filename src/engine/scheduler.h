/// Scheduler: which rows the next step computes.
///
/// In this order, inside the budget:
///
///   1. One row of every running sequence that has one row left: decode goes first.
///   2. The rows for prompts go to running and waiting ones alike. A waiting one is admitted with
///      its first row, if there is a place for it and its pages fit beside what the running ones
///      still need and one page more for each sequence: the one it fills next, or the copy a fork
///      makes of the page where the prompt ends.
///      a. Nine tenths go by rank: the tenant that has used least of its share, then the higher
///         priority, then the fewer rows left, then who came first.
///      b. A tenth, at least one row, goes to the patient: of those that (a) has given none, who
///         has waited longest, in one turn among those that run, in the next among those that wait
///         and fit.
///      One that does not fit is passed over, unless it is due: it has been overtaken so often that
///      nobody is admitted before it but what is within another tenant's part. One whose prefix
///      somebody else computes waits to share it.
///   3. Where one does not fit, but would if running ones of lower priority were gone, as many of
///      these as needed are displaced, the last in order first; then, if its tenant has less than
///      its part of places and pages (PartOf), what others have beyond theirs.
///   4. What rows are left go to guessed tokens of the sequences that decode (proposer.h), first
///      come first served.
///
/// So nobody starves (docs/scheduling.md): with R running prompts, each has a row in 2 R turns; one
/// that waits and fits, with Q that came before it, is admitted in 2 (Q + 1) turns.
///
/// No displacing to and fro: it takes a lower priority, and that happens to a sequence at most
/// kMaxDisplaced times (request_state.h), so its tokens are computed at most so many times more; or
/// a tenant that has more than its part, and is left its part.
///
/// Prompts that must not be cut (PromptRule::kWhole) are the texts of models that embed: one ends
/// with the step it is in, so that between two steps nothing runs. Of these a step has whom the
/// rule of (2) calls due, then who has waited longest, then by rank whoever fits into the rows
/// left. Each step ends the wait of the one that has waited longest.
///
/// If nothing runs, a waiting sequence is admitted whatever its pages: Submit made sure that a
/// sequence alone fits the pool.
#pragma once

#include "engine/step_plan.h"

namespace skald::engine {

/// Of `rows` for prompts, those that go to the patient. A tenth: the first of four equal prompts
/// comes 11 % later than if it had all rows, and no prompt is slower than a tenth of its speed.
constexpr int64_t PatientRows(int64_t rows) { return rows < 20 ? int64_t{rows > 0} : rows / 10; }

/// Most rows that a tenant gets in a go where several want some: an eighth of the rows, but a tile
/// of the kernels at least.
constexpr int64_t RowsInAGo(int64_t rows) { return rows < 128 ? 16 : rows / 8; }

/// Pure: what it answers depends on its arguments only. The functions are virtual for the
/// simulation, which plants faults.
class Scheduler {
 public:
  virtual ~Scheduler() = default;

  /// Overwrites `*plan`, whose memory is used again. O((running prompts + waiting)^2).
  virtual void Plan(const SchedulerState& state, const Budget& budget, StepPlan* plan) const;

  /// Whose pages to take when a sequence finds none: the last paused one, else the last one, of
  /// `running`, which is not empty. Never the first that is not paused, unless it is the only one.
  virtual int32_t Victim(const std::vector<RunningView>& running) const;
};

}  // namespace skald::engine
