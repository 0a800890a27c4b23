/// Worker: one thread for work that would keep the I/O thread from its connections: reading and
/// tokenizing long bodies.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>

#include "base/thread.h"

namespace skald::server {

/// Runs jobs one after the other, in the order they came. Thread-safe. Sleeps without any.
class Worker {
 public:
  Worker();
  /// Drops the jobs that have not begun and waits for the one that has.
  ~Worker();

  /// Queues a job. Who calls bounds how many there are.
  void Run(std::function<void()> job);

 private:
  void Main();

  std::mutex mutex_;
  std::condition_variable news_;
  std::deque<std::function<void()>> jobs_;
  bool stop_ = false;
  std::optional<Thread> thread_;  // last: starts when all else is there
};

}  // namespace skald::server
