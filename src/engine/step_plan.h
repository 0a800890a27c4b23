/// StepPlan: what one step computes, as a value: which waiting sequences get pages, and which rows
/// of which sequences go into the forward pass. Made by scheduler.h from SchedulerState.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "skald/trace.h"

namespace skald::engine {

/// A row of a tenant of share 1, in TenantView::used. Divisible by most shares; 2^63 of it are more
/// rows than a machine computes in a thousand years.
inline constexpr int64_t kTenantScale = 5040;

/// A tenant (skald/request.h) as the scheduler sees it.
struct TenantView {
  int32_t share = 1;
  int32_t max_running = 0;  ///< sequences; 0 = no bound but the budget's
  int64_t used = 0;         ///< rows so far, times kTenantScale / share

  /// Rows of it are computed, or (negative) are not after all.
  void Charge(int64_t rows) { used += rows * kTenantScale / share; }
  /// Whether `more` sequences may run beside the `running` ones. One request always may: the bound
  /// may have shrunk since it was submitted.
  bool MayRun(int64_t running, int64_t more) const {
    return max_running == 0 || running == 0 || running + more <= max_running;
  }
  /// What of `all` (places, pages) is its own while others want some, where all tenants together
  /// have `shares`: by share, one at least. What it has beyond that is on loan.
  int64_t PartOf(int64_t all, int64_t shares) const;
};

/// Of all tenants together: summed once a step, for there may be thousands.
int64_t SharesOf(const std::vector<TenantView>& tenants);

/// A running sequence as the scheduler sees it.
struct RunningView {
  int64_t computed = 0;  ///< tokens whose K and V stand in pages
  int64_t length = 0;    ///< tokens
  int64_t pages = 0;     ///< pages it will take to compute the rest
  int32_t unforked = 0;  ///< further sequences that come when its prompt is computed
  bool paused = false;   ///< no token may be sampled
  int32_t priority = 0;
  int32_t tenant = 0;        ///< in SchedulerState::tenants
  int64_t waited = 0;        ///< turns since it last had rows of its prompt
  int64_t wanted_rows = 0;   ///< so many of its next rows are a prefix that a waiting one wants
  int64_t freed = 0;         ///< pages that others could have if it were preempted
  bool displaceable = true;  ///< it has not been displaced kMaxDisplaced times
  bool loanable = true;  ///< another tenant may take its place: not a beam's, which all go at once
  int64_t drafts = 0;    ///< tokens it would have guessed, in a step that decodes it
  int64_t held = 0;      ///< so many of its last rows are not to be computed yet
  int64_t cut = 0;       ///< a step must end behind so many of its next rows; 0: anywhere

  bool decodes() const { return length - computed == 1 && !paused && held == 0; }
};

/// A waiting sequence as the scheduler sees it.
struct WaitingView {
  int64_t computed = 0;   ///< tokens found in the prefix tree
  int64_t length = 0;     ///< tokens
  int64_t pages = 0;      ///< pages that are free or evictable now and would not be afterwards
  int32_t sequences = 1;  ///< running sequences it will become
  bool waits_for_prefix = false;  ///< a running one is computing more of its prefix
  uint32_t shares_with = 0;       ///< bit i: waiting sequence i would compute more of its prefix
  int64_t held = 0;               ///< so many of its last rows are not to be computed yet
  int64_t cut = 0;                ///< RunningView::cut
  int32_t priority = 0;
  int32_t tenant = 0;  ///< in SchedulerState::tenants
  int64_t waited = 0;  ///< turns since it came, or lost its pages
  bool due = false;    ///< overtaken too often: goes before all, and nobody passes it
};

/// Most waiting sequences that a plan looks at: bits of WaitingView::shares_with.
inline constexpr int64_t kMaxWaitingViews = 16;

/// Whether the rows of a prompt may be cut.
enum class PromptRule : uint8_t {
  kInChunks,  ///< anywhere
  kWhole,     ///< nowhere: rows see rows behind them
};

/// Everything a plan depends on. Both lists in the order of GoesBefore.
struct SchedulerState {
  std::vector<RunningView> running = {};
  std::vector<WaitingView> waiting = {};  ///< kMaxWaitingViews of the queue, none that is paused
  int64_t available_pages = 0;            ///< free or evictable
  std::vector<TenantView> tenants = {TenantView{}};
  int64_t turn = 0;  ///< steps that had rows for prompts so far
  PromptRule prompts = PromptRule::kInChunks;
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
  RowReason reason = RowReason::kDecode;  ///< for people who look at the plan

  friend bool operator==(const PlannedRows&, const PlannedRows&) = default;
};

/// A prompt that rows of a step can go to.
struct PromptTurn {
  RowSource source = RowSource::kRunning;
  int32_t index = 0;                     ///< in that list of the SchedulerState
  int64_t first = 0;                     ///< position of its first row
  int64_t left = 0;                      ///< rows until it samples
  int64_t allowed = 0;                   ///< of these, rows that it may have now
  int64_t given = 0;                     ///< of these, rows that it has
  bool has_pages = false;                ///< it runs, or is admitted by this plan
  bool passed = false;                   ///< it gets no more by rank
  bool over = false;                     ///< it gets no more
  RowReason reason = RowReason::kRank;   ///< of its first row
  WaitReason waits = WaitReason::kRows;  ///< of one without pages, when the plan is made
};

struct StepPlan {
  /// Indices of running sequences that are preempted for admitted ones: for those of higher
  /// priority, or of a tenant that has less than its part. Descending.
  std::vector<int32_t> displaced;
  std::vector<int32_t> admitted;  ///< indices of waiting sequences that get pages, ascending
  std::vector<PlannedRows> rows;  ///< decode rows, then chunks of prompts
  /// What the scheduler works with, kept so that its memory is used again.
  std::vector<PromptTurn> prompts;
  std::vector<TenantView> tenants;
  std::vector<int32_t> tenant_running;
  std::vector<int64_t> tenant_pages;  ///< that nobody else would hold

  int64_t row_count() const;
  /// "displaced 3; running 0 [12, 13) samples; waiting 2 [96, 128)": for people, tests and the
  /// simulation.
  std::string ToString() const;
};

}  // namespace skald::engine
