/// Activity: whether the engine computes while generations wait for it, for /livez and the
/// watchdog. I/O thread only.
#pragma once

#include <algorithm>
#include <cstdint>

namespace skald::server {

/// The engine is alive if, while any generation waits for it, its progress (skald/engine.h)
/// changes. A generation that waits for its client is not waiting for the engine.
class Activity {
 public:
  /// A unit of work takes some milliseconds, some tens on a slow machine. With looks a second apart
  /// a health check knows within 2 s.
  static constexpr double kStallSeconds = 1.5;
  /// Time between two looks counts up to here: where the whole process was stopped, or the machine
  /// slept, nothing is known of the engine.
  static constexpr double kMostBetweenLooks = 1.2;

  /// A generation begins to wait for the engine, or goes on after a pause.
  void Begin() { ++waiting_; }
  /// A generation no longer waits for the engine: its end, or its client is slow.
  void End() { --waiting_; }

  /// To be called about every second while anything waits, and before an answer is wanted.
  void Look(uint64_t engine_progress, double now) {
    const bool stands = waiting_ > 0 && seen_waiting_ && engine_progress == seen_progress_;
    stalled_seconds_ = stands ? stalled_seconds_ + std::min(now - seen_at_, kMostBetweenLooks) : 0;
    seen_waiting_ = waiting_ > 0;
    seen_progress_ = engine_progress;
    seen_at_ = now;
  }
  /// Time in which the engine was waited for and did nothing, up to the last look.
  double stalled_seconds() const { return stalled_seconds_; }
  bool EngineStalled() const { return stalled_seconds_ > kStallSeconds; }

 private:
  int64_t waiting_ = 0;
  bool seen_waiting_ = false;
  uint64_t seen_progress_ = 0;
  double seen_at_ = 0;
  double stalled_seconds_ = 0;
};

/// One exchange's share in an Activity: waits for the engine, or does not.
class EngineWait {
 public:
  /// `activity` outlives it.
  explicit EngineWait(Activity& activity) : activity_(activity) {}
  ~EngineWait() { End(); }
  EngineWait(const EngineWait&) = delete;
  EngineWait& operator=(const EngineWait&) = delete;

  /// Begins or goes on.
  void Begin() {
    if (!waits_) activity_.Begin();
    waits_ = true;
  }
  void End() {
    if (waits_) activity_.End();
    waits_ = false;
  }
  bool waits() const { return waits_; }

 private:
  Activity& activity_;
  bool waits_ = false;
};

}  // namespace skald::server
