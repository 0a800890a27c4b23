// What the record of a run is told of a step. Nothing here changes anything that a step reads.

#include "engine/core.h"

namespace skald::engine {

void Core::TracePlanned() {
  TraceWaiting();
  traced_plan_ = !plan_.rows.empty() || !plan_.admitted.empty() || !plan_.displaced.empty();
  if (!traced_plan_) return;  // readers of all are slow: this is asked every few milliseconds
  TracePlan plan = {.step = stats_.steps,
                    .prompt_budget = budget_.prefill_rows,
                    .admitted = static_cast<int64_t>(plan_.admitted.size()),
                    .displaced = static_cast<int64_t>(plan_.displaced.size()),
                    .running = static_cast<int64_t>(running_.size()),
                    .waiting = static_cast<int64_t>(waiting_.size()),
                    .seconds = clock_.Seconds() - step_began_seconds_};
  for (const StepRows& rows : step_) {
    (rows.reason == RowReason::kDecode ? plan.decode_rows : plan.prompt_rows) += rows.count;
  }
  tracer_->Planned(plan);
}

// Those that the plan has looked at and does not admit.
void Core::TraceWaiting() {
  for (size_t i = 0; i < candidates_.size(); ++i) {
    if (state_.waiting[i].waits_for_prefix) tracer_->Waits(candidates_[i], WaitReason::kPrefix);
  }
  for (const PromptTurn& prompt : plan_.prompts) {
    if (prompt.source != RowSource::kWaiting || prompt.has_pages) continue;
    tracer_->Waits(candidates_[static_cast<size_t>(prompt.index)], prompt.waits);
  }
}

void Core::TraceRowsOfStep() {
  for (const StepRows& rows : step_) {
    tracer_->Rows(*rows.sequence, {.first = rows.sequence->computed,
                                   .count = rows.count,
                                   .guesses = rows.drafts,
                                   .samples = rows.samples,
                                   .reason = rows.reason});
  }
}

void Core::TraceForwardOfStep() {
  const model::StepBatch batch = batch_.batch();
  tracer_->Forward(
      {.rows = batch.row_count(), .logit_rows = static_cast<int64_t>(batch.logit_rows.size())});
}

// `rows` have been computed: the step has been counted already.
void Core::TraceStepped(int64_t rows) {
  if (!traced_plan_) return;
  const kv::PagePool& pool = cache_.pool();
  tracer_->Stepped({.step = stats_.steps - int64_t{rows > 0},
                    .rows = rows,
                    .prompt_rows = RowsOfStep().prefill,
                    .seconds = clock_.Seconds() - step_began_seconds_,
                    .running = static_cast<int64_t>(running_.size()),
                    .waiting = static_cast<int64_t>(waiting_.size()),
                    .pages_free = pool.free_count(),
                    .pages_held = pool.held_count(),
                    .pages_cached = pool.cached_count()});
}

}  // namespace skald::engine
