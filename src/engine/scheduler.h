/// Scheduler: which rows the next step computes.
///
/// In this order, inside the budget:
///
///   1. One row of every running sequence that has one row left: decode goes first.
///   2. Chunks of running sequences with more rows left, first come first served.
///   3. Waiting sequences are admitted in their order, as long as there is a place and their pages
///      fit beside what the running ones still need and one page more for each sequence: the one
///      it fills next, or the copy a fork makes of the page where the prompt ends. The first
///      that does not fit ends the admission: nobody overtakes it. One whose prefix is being
///      computed by somebody ahead is passed over: it will share.
///   4. Where one does not fit, but would if running ones of lower priority were gone, as many of
///      these as needed are displaced, the last in order first.
///
///   5. What rows are left go to guessed tokens of the sequences that decode (proposer.h), first
///      come first served.
///
/// No displacing to and fro: it takes a lower priority, and a sequence is displaced at most
/// kMaxDisplaced times (request_state.h), so its tokens are computed at most so many times more.
///
/// If nothing runs, the first waiting sequence is admitted whatever its pages: Submit made sure
/// that a sequence alone fits the pool.
#pragma once

#include "engine/step_plan.h"

namespace skald::engine {

/// Pure: what it answers depends on its arguments only. The functions are virtual for the
/// simulation, which plants faults.
class Scheduler {
 public:
  virtual ~Scheduler() = default;

  /// Overwrites `*plan`, whose memory is used again. O(running + waiting).
  virtual void Plan(const SchedulerState& state, const Budget& budget, StepPlan* plan) const;

  /// Whose pages to take when a sequence finds none: the last paused one, else the last one, of
  /// `running`, which is not empty. Never the first that is not paused, unless it is the only one.
  virtual int32_t Victim(const std::vector<RunningView>& running) const;
};

}  // namespace skald::engine
