#include "engine/scheduler.h"

#include <algorithm>

#include "base/check.h"

namespace skald::engine {
namespace {

// What is left of a budget while a plan grows; dies with the plan.
class PlanBuilder {
 public:
  PlanBuilder(const SchedulerState& state, const Budget& budget, StepPlan* plan)
      : state_(state),
        plan_(*plan),
        rows_(budget.rows),
        prefill_rows_(budget.prefill_rows),
        budget_draft_rows_(budget.draft_rows),
        places_(budget.sequences),
        pages_(state.available_pages),
        kept_(state.running.size()) {
    plan_.displaced.clear();
    plan_.admitted.clear();
    plan_.rows.clear();
    for (const RunningView& running : state.running) {
      places_ -= SequencesOf(running);
      pages_ -= running.pages + SequencesOf(running);
    }
  }

  void AddDecodes() {
    for (size_t i = 0; i < state_.running.size(); ++i) {
      const RunningView& running = state_.running[i];
      if (!running.decodes() || rows_ < 1) continue;
      Add(RowSource::kRunning, i, running.computed, 1, true);
    }
  }

  void AddChunks() {
    for (size_t i = 0; i < state_.running.size(); ++i) {
      const RunningView& running = state_.running[i];
      const int64_t left = running.length - running.computed;
      // The last row samples, which a slow reader does not allow.
      const int64_t held = std::max(running.held, int64_t{running.paused});
      if (left > 1) AddChunk(RowSource::kRunning, i, running.computed, left, left - held);
    }
  }

  void AddAdmissions() {
    for (size_t i = 0; i < state_.waiting.size(); ++i) {
      const WaitingView& waiting = state_.waiting[i];
      if (waiting.waits_for_prefix) continue;
      if (prefill_rows_ < 1) return;
      if (!Fits(waiting) && !Displace(waiting)) return;
      places_ -= waiting.sequences;
      pages_ -= waiting.pages + waiting.sequences;
      plan_.admitted.push_back(static_cast<int32_t>(i));
      const int64_t left = waiting.length - waiting.computed;
      AddChunk(RowSource::kWaiting, i, waiting.computed, left, left - waiting.held);
    }
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
  static int32_t SequencesOf(const RunningView& running) { return 1 + running.unforked; }

  bool Fits(const WaitingView& waiting) const {
    const bool alone = plan_.displaced.size() == state_.running.size() && plan_.admitted.empty();
    return places_ >= waiting.sequences && (alone || waiting.pages + waiting.sequences <= pages_);
  }

  // Makes room for `waiting` by displacing running sequences of lower priority, the last first.
  // False, with nothing changed that matters to what follows, if they are not enough.
  bool Displace(const WaitingView& waiting) {
    const size_t displaced_before = plan_.displaced.size();
    for (; kept_ > 0 && !Fits(waiting); --kept_) {
      const RunningView& running = state_.running[kept_ - 1];
      if (running.priority >= waiting.priority) break;
      if (!running.displaceable) continue;
      plan_.displaced.push_back(static_cast<int32_t>(kept_ - 1));
      places_ += SequencesOf(running);
      pages_ += running.pages + SequencesOf(running) + running.freed;
    }
    if (!Fits(waiting)) {
      // The end of all admission: places_ and pages_ are not looked at again.
      plan_.displaced.resize(displaced_before);
      return false;
    }
    TakeRowsBack();
    return true;
  }

  // The rows of displaced sequences go to others.
  void TakeRowsBack() {
    std::erase_if(plan_.rows, [this](const PlannedRows& rows) {
      const bool displaced = rows.source == RowSource::kRunning &&
                             std::find(plan_.displaced.begin(), plan_.displaced.end(),
                                       rows.index) != plan_.displaced.end();
      if (!displaced) return false;
      const RunningView& running = state_.running[static_cast<size_t>(rows.index)];
      rows_ += rows.count;
      if (running.length - running.computed > 1) prefill_rows_ += rows.count;
      return true;
    });
  }

  void AddChunk(RowSource source, size_t index, int64_t first, int64_t left, int64_t allowed) {
    const int64_t count = std::min({allowed, rows_, prefill_rows_});
    if (count < 1) return;
    prefill_rows_ -= count;
    Add(source, index, first, count, count == left);
  }

  void Add(RowSource source, size_t index, int64_t first, int64_t count, bool samples) {
    rows_ -= count;
    plan_.rows.push_back({source, static_cast<int32_t>(index), first, count, samples});
  }

  const SchedulerState& state_;
  StepPlan& plan_;
  int64_t rows_;
  int64_t prefill_rows_;
  const int64_t budget_draft_rows_;
  int64_t places_;
  int64_t pages_;
  size_t kept_;  // running sequences from here on are displaced or cannot be
};

}  // namespace

void Scheduler::Plan(const SchedulerState& state, const Budget& budget, StepPlan* plan) const {
  PlanBuilder builder(state, budget, plan);
  builder.AddDecodes();
  builder.AddChunks();
  builder.AddAdmissions();
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
