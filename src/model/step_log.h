/// StepLog: what became of each forward pass of a network, for tools that explain them.
///
/// Who computes begins and ends the steps; another thread takes them. It takes memory in each step:
/// no server has one. No bit of an answer depends on it.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "base/stopwatch.h"
#include "model/profile.h"
#include "model/step_batch.h"
#include "model/step_tap.h"
#include "model/work.h"

namespace skald::model {

/// A forward pass that is over.
struct LoggedStep {
  StepShape shape = {};  ///< where several sequences had different rows: those of the first
  double seconds = 0;
  std::vector<PartSeconds> parts = {};  ///< in the order in which they were first entered
  Tapped tapped = {};                   ///< what was wished for
  /// Of the first sequence, by page of its text: whether layers with windows still had theirs.
  std::vector<bool> window_pages = {};
};

class StepLog {
 public:
  explicit StepLog(const TapWishes& wishes = {}) : tap_(wishes) {}

  /// A step begins. What is returned takes its times, up to End.
  StepProfile* Begin(const StepBatch& batch);
  void End();

  /// All steps that have ended since the last call, oldest first. Any thread.
  std::vector<LoggedStep> Take();

 private:
  // Of the thread that computes.
  StepTap tap_;
  LoggedStep step_;
  StepProfile profile_;
  Stopwatch watch_;

  std::mutex mutex_;
  std::vector<LoggedStep> steps_;  // guarded by mutex_
};

}  // namespace skald::model
