/// Watchdog: a thread that notices when the thread that should answer stands still. What that
/// thread watches itself (engine, work pool) nobody watches when it stands.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>

#include "base/stopwatch.h"
#include "base/thread.h"
#include "server/activity.h"

namespace skald::server {

/// Sleeps while the other rests. Beat and Rest: by the thread that is watched.
class Watchdog {
 public:
  /// `on_dead` is called, on the watchdog's thread, when between two beats the other has stood
  /// still for more than `seconds`; time in which the whole process was stopped does not count.
  Watchdog(double seconds, std::function<void()> on_dead);
  ~Watchdog();

  /// About every second while there is something to do.
  void Beat();
  /// There is nothing to do: silence is no sign until the next beat.
  void Rest();

 private:
  void Main();

  const double seconds_;
  const std::function<void()> on_dead_;
  const Stopwatch watch_;
  std::mutex mutex_;
  std::condition_variable news_;
  bool awake_ = false;
  bool stop_ = false;
  uint64_t beats_ = 0;
  std::optional<Thread> thread_;  // last: starts when all else is there
};

}  // namespace skald::server
