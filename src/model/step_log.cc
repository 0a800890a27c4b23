#include "model/step_log.h"

#include <utility>

#include "base/check.h"

namespace skald::model {

StepProfile* StepLog::Begin(const StepBatch& batch) {
  CHECK(!batch.sequences.empty());
  step_ = {.shape = {.rows = batch.row_count(),
                     .sequences = static_cast<int64_t>(batch.sequences.size()),
                     .first_position = batch.sequences.front().first_position,
                     .logit_rows = static_cast<int64_t>(batch.logit_rows.size()),
                     .hidden_rows = static_cast<int64_t>(batch.hidden_rows.size())}};
  for (const kv::PageId page : batch.sequences.front().pages.window) {
    step_.window_pages.push_back(page != kv::kNoPage);
  }
  profile_ = {};
  profile_.parts = &step_.parts;
  if (tap_.wishes().any()) {
    tap_.Begin(batch);
    profile_.tap = &tap_;
  }
  watch_ = Stopwatch();
  return &profile_;
}

void StepLog::End() {
  step_.seconds = watch_.Seconds();
  profile_.parts = nullptr;
  step_.tapped = tap_.Take();
  const std::lock_guard lock(mutex_);
  steps_.push_back(std::move(step_));
}

std::vector<LoggedStep> StepLog::Take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(steps_, {});
}

}  // namespace skald::model
