/// ViewBoard: hands views (skald/engine_view.h) from the engine thread to those who watch. The
/// engine thread never waits for them: a view changes hands by one exchange of a pointer.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <utility>

#include "skald/engine_view.h"

namespace skald::engine {

/// Post and IsDue: the engine thread. Look: any thread.
class ViewBoard {
 public:
  /// At most ten views a second.
  static constexpr double kPeriod = 0.1;
  /// What views may cost of the engine thread's time: less than half a percent. So a view of a
  /// large pool, which takes longer, is taken less often.
  static constexpr double kMostShare = 0.005;
  /// Who has not looked for so long does not watch.
  static constexpr double kWatchSeconds = 1;
  /// A step that lasts longer is shown from its beginning, however new the last view is: else that
  /// would be all there is to see while it lasts.
  static constexpr double kLongStep = 0.05;

  ViewBoard() = default;
  ~ViewBoard() { const std::unique_ptr<EngineView> unread(mail_.load()); }
  ViewBoard(const ViewBoard&) = delete;
  ViewBoard& operator=(const ViewBoard&) = delete;

  /// Whether to take a view now, before a step that is thought to last `step_seconds` (0: none
  /// begins).
  bool IsDue(double now, double step_seconds) const {
    const double asked = asked_seconds_.load(std::memory_order_relaxed);
    if (asked < now - kWatchSeconds) return false;
    const double cost = cost_seconds_ / kMostShare;
    if (step_seconds >= std::max(kLongStep, cost)) return true;
    // Who has not looked since the last one would see no other.
    return asked > posted_seconds_ && now - posted_seconds_ >= std::max(kPeriod, cost);
  }

  /// A view that has taken the engine thread `cost_seconds`.
  void Post(std::unique_ptr<EngineView> view, double cost_seconds) {
    posted_seconds_ = view->seconds;
    cost_seconds_ = cost_seconds;
    const std::unique_ptr<EngineView> unread(mail_.exchange(view.release()));
  }
  /// What the last one has cost.
  double cost_seconds() const { return cost_seconds_; }

  /// The newest view, null before the first; and asks for the next.
  std::shared_ptr<const EngineView> Look(double now) {
    std::unique_ptr<EngineView> came(mail_.exchange(nullptr));
    asked_seconds_.store(now, std::memory_order_relaxed);
    const std::lock_guard lock(mutex_);
    const bool is_newer =
        came != nullptr && (newest_ == nullptr || came->seconds >= newest_->seconds);
    if (is_newer) newest_ = std::move(came);
    return newest_;
  }

 private:
  static constexpr double kNever = -1e9;

  std::atomic<EngineView*> mail_ = nullptr;  // owned
  std::atomic<double> asked_seconds_ = kNever;
  // Of the engine thread.
  double posted_seconds_ = kNever;
  double cost_seconds_ = 0;

  std::mutex mutex_;  // of those who look: the engine thread does not know it
  std::shared_ptr<const EngineView> newest_;
};

}  // namespace skald::engine
