/// StepPlan: what one step computes, as a value: which waiting sequences get pages, and which rows
/// of which sequences go into the forward pass. Made by scheduler.h from SchedulerState.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace skald::engine {

/// Whose a sequence is (skald/request.h).
struct TenantView {
  int64_t id = 0;
  int32_t share = 1;
  int32_t max_running = 0;  ///< sequences; 0 = no bound but the budget's
};

/// A running sequence as the scheduler sees it.
struct RunningView {
  int64_t computed = 0;  ///< tokens whose K and V stand in pages
  int64_t length = 0;    ///< tokens
  int64_t pages = 0;     ///< pages it will take to compute the rest
  int32_t unforked = 0;  ///< further sequences that come when its prompt is computed
  bool paused = false;   ///< no token may be sampled
  int32_t priority = 0;
  TenantView tenant = {};
  int64_t freed = 0;         ///< pages that others could have if it were preempted
  bool displaceable = true;  ///< it has not been displaced kMaxDisplaced times
  int64_t drafts = 0;        ///< tokens it would have guessed, in a step that decodes it
  int64_t held = 0;          ///< so many of its last rows are not to be computed yet

  bool decodes() const { return length - computed == 1 && !paused && held == 0; }
};

/// A waiting sequence as the scheduler sees it.
struct WaitingView {
  int64_t computed = 0;   ///< tokens found in the prefix tree
  int64_t length = 0;     ///< tokens
  int64_t pages = 0;      ///< pages that are free or evictable now and would not be afterwards
  int32_t sequences = 1;  ///< running sequences it will become
  bool waits_for_prefix = false;  ///< somebody ahead is computing more of its prefix
  int64_t held = 0;               ///< so many of its last rows are not to be computed yet
  int32_t priority = 0;
  TenantView tenant = {};
};

/// Everything a plan depends on. Both lists in the order of GoesBefore.
struct SchedulerState {
  std::vector<RunningView> running = {};
  std::vector<WaitingView> waiting = {};  ///< the first of the queue; paused requests left out
  int64_t available_pages = 0;            ///< free or evictable
};

/// The limits of a step.
struct Budget {
  int64_t rows = 0;          ///< rows of the step
  int64_t prefill_rows = 0;  ///< of these, rows of sequences with more than one row to compute
  int64_t sequences = 0;     ///< running sequences
  int64_t draft_rows = 0;    ///< rows of guessed tokens
};

enum class RowSource : uint8_t { kRunning, kWaiting };

/// Consecutive rows of one sequence.
struct PlannedRows {
  RowSource source = RowSource::kRunning;
  int32_t index = 0;  ///< in that list of the SchedulerState
  int64_t first = 0;  ///< position of the first row
  int64_t count = 0;
  bool samples = false;  ///< the row of the last token is among them: its logits are wanted
  int64_t drafts = 0;    ///< of `count`: at most so many rows of guessed tokens follow it

  friend bool operator==(const PlannedRows&, const PlannedRows&) = default;
};

struct StepPlan {
  /// Indices of running sequences that are preempted for admitted ones of higher priority,
  /// descending.
  std::vector<int32_t> displaced;
  std::vector<int32_t> admitted;  ///< indices of waiting sequences that get pages, ascending
  std::vector<PlannedRows> rows;  ///< decode rows, then prefill chunks of running, then of admitted

  int64_t row_count() const;
  /// "displaced 3; running 0 [12, 13) samples; waiting 2 [96, 128)": for people, tests and the
  /// simulation.
  std::string ToString() const;
};

}  // namespace skald::engine
