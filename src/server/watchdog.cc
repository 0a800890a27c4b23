#include "server/watchdog.h"

#include <chrono>
#include <utility>

namespace skald::server {

Watchdog::Watchdog(double seconds, std::function<void()> on_dead)
    : seconds_(seconds), on_dead_(std::move(on_dead)) {
  thread_.emplace("watchdog", [this] { Main(); });
}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  news_.notify_one();
  thread_.reset();
}

void Watchdog::Beat() {
  const std::lock_guard lock(mutex_);
  ++beats_;
  if (!std::exchange(awake_, true)) news_.notify_one();
}

void Watchdog::Rest() {
  const std::lock_guard lock(mutex_);
  awake_ = false;
}

void Watchdog::Main() {
  constexpr std::chrono::seconds kLook{1};
  std::unique_lock lock(mutex_);
  Activity activity;  // with beats for progress
  activity.Begin();
  while (!stop_) {
    if (!awake_) {
      news_.wait(lock, [&] { return stop_ || awake_; });
      ++beats_;  // what was before the rest is not stillness
    }
    activity.Look(beats_, watch_.Seconds());
    if (activity.stalled_seconds() > seconds_) {
      lock.unlock();
      on_dead_();
      lock.lock();
      ++beats_;
    }
    news_.wait_for(lock, kLook, [&] { return stop_; });
  }
}

}  // namespace skald::server
