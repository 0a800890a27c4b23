/// EngineLoop: the engine thread. Takes what clients ask through one mutex, and steps a Core that
/// nobody else touches.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/thread.h"
#include "engine/core.h"
#include "engine/view_board.h"

namespace skald::engine {

/// Thread-safe. Sleeps while there is nothing to compute.
class EngineLoop {
 public:
  /// Starts the thread. `core` and `clock` must outlive the loop, which owns them in effect.
  EngineLoop(Core* core, const Clock* clock, int64_t max_queued);
  /// Cancels what is left and ends the thread.
  ~EngineLoop();

  /// A request that CheckRequest has accepted. Errors: kUnavailable, the queue is full.
  Result<RequestId> Submit(Request request, std::shared_ptr<EventSink> sink);
  void Cancel(RequestId id);
  /// Counts a request that was refused before it came here.
  void CountRefusal();
  EngineStats Stats() const;
  std::vector<RequestProgress> Requests() const;
  /// The newest view, null before the first; and asks for the next. The engine thread does not wait
  /// for it, but while it computes a long step: then for the lock that Submit takes, too.
  EngineLook Look();

 private:
  void Main();
  bool HasNews() const;
  void AwaitNews(std::unique_lock<std::mutex>* lock);
  bool TakeNews();
  void LookAtCore();
  void LookAtStep();
  void ShowStep();

  Core& core_;
  const Clock& clock_;
  const int64_t max_queued_;
  bool computing_ = false;  // of the engine thread: the last step computed something
  ViewBoard views_;

  mutable std::mutex mutex_;  // for everything below
  std::condition_variable news_;
  std::vector<Arrival> arrivals_;
  std::vector<RequestId> cancels_;
  bool stop_ = false;
  uint64_t next_id_ = 1;
  int64_t refused_ = 0;
  EngineStats stats_;
  std::vector<RequestProgress> requests_;
  double requests_seconds_ = 0;  // when they were looked at

  // What TakeNews took, for the engine thread.
  std::vector<Arrival> new_arrivals_;
  std::vector<RequestId> new_cancels_;

  std::optional<Thread> thread_;  // last: starts when all else is there
};

}  // namespace skald::engine
