/// Activity: what the generations in flight are doing, for /livez and /metrics. I/O thread only.
#pragma once

#include <cstdint>

#include "server/clock.h"

namespace skald::server {

/// The engine is alive if, while any generation waits for it, something came from it lately. A
/// generation that waits for its client is not waiting for the engine.
class Activity {
 public:
  /// Longer than any step should take: 512 tokens of a prompt of a large model on few cores.
  static constexpr double kStallSeconds = 30;

  /// A generation begins to wait for the engine, or goes on after Pause.
  void Begin(double now);
  /// Something came from the engine.
  void Progress(double now) { last_progress_ = now; }
  /// A generation no longer waits for the engine: its end, or its client is slow.
  void End() { --waiting_; }

  bool EngineStalled(double now) const {
    return waiting_ > 0 && now - last_progress_ > kStallSeconds;
  }
  int64_t waiting() const { return waiting_; }

 private:
  int64_t waiting_ = 0;
  double last_progress_ = 0;
};

/// One exchange's share in an Activity: waits for the engine, or does not.
class EngineWait {
 public:
  /// Both outlive it.
  EngineWait(Activity& activity, const Clock& clock) : activity_(activity), clock_(clock) {}
  ~EngineWait() { End(); }
  EngineWait(const EngineWait&) = delete;
  EngineWait& operator=(const EngineWait&) = delete;

  /// Begins or goes on.
  void Begin() {
    if (!waits_) activity_.Begin(clock_.Now());
    waits_ = true;
  }
  void End() {
    if (waits_) activity_.End();
    waits_ = false;
  }
  /// Something came from the engine.
  void Progress() { activity_.Progress(clock_.Now()); }
  bool waits() const { return waits_; }

 private:
  Activity& activity_;
  const Clock& clock_;
  bool waits_ = false;
};

inline void Activity::Begin(double now) {
  if (waiting_++ == 0) last_progress_ = now;
}

}  // namespace skald::server
