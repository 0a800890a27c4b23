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
        places_(budget.sequences),
        pages_(state.available_pages) {
    plan_.admitted.clear();
    plan_.rows.clear();
    for (const RunningView& running : state.running) {
      places_ -= 1 + running.unforked;
      pages_ -= running.pages + 1;
    }
  }

  void AddDecodes() {
    for (size_t i = 0; i < state_.running.size(); ++i) {
      const RunningView& running = state_.running[i];
      if (running.length - running.computed != 1 || running.paused || rows_ < 1) continue;
      Add(RowSource::kRunning, i, running.computed, 1, true);
    }
  }

  void AddChunks() {
    for (size_t i = 0; i < state_.running.size(); ++i) {
      const RunningView& running = state_.running[i];
      const int64_t left = running.length - running.computed;
      // The last row samples, which a slow reader does not allow.
      if (left > 1) {
        AddChunk(RowSource::kRunning, i, running.computed, left, running.paused ? left - 1 : left);
      }
    }
  }

  void AddAdmissions() {
    for (size_t i = 0; i < state_.waiting.size(); ++i) {
      const WaitingView& waiting = state_.waiting[i];
      if (waiting.waits_for_prefix) continue;
      const bool alone = state_.running.empty() && plan_.admitted.empty();
      if (std::min(rows_, prefill_rows_) < 1 || places_ < waiting.sequences) return;
      if (!alone && waiting.pages + 1 > pages_) return;
      places_ -= waiting.sequences;
      pages_ -= waiting.pages + 1;
      plan_.admitted.push_back(static_cast<int32_t>(i));
      const int64_t left = waiting.length - waiting.computed;
      AddChunk(RowSource::kWaiting, i, waiting.computed, left, left);
    }
  }

 private:
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
  int64_t places_;
  int64_t pages_;
};

}  // namespace

void Scheduler::Plan(const SchedulerState& state, const Budget& budget, StepPlan* plan) const {
  PlanBuilder builder(state, budget, plan);
  builder.AddDecodes();
  builder.AddChunks();
  builder.AddAdmissions();
}

int32_t Scheduler::Victim(const std::vector<RunningView>& running) const {
  CHECK(!running.empty());
  for (size_t i = running.size(); i > 0; --i) {
    if (running[i - 1].paused) return static_cast<int32_t>(i - 1);
  }
  return static_cast<int32_t>(running.size()) - 1;
}

}  // namespace skald::engine
