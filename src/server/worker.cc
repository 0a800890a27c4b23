#include "server/worker.h"

#include <utility>

namespace skald::server {

Worker::Worker() {
  thread_.emplace([this] { Main(); });
}

Worker::~Worker() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  news_.notify_one();
  thread_.reset();
}

void Worker::Run(std::function<void()> job) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  news_.notify_one();
}

void Worker::Main() {
  for (;;) {
    std::function<void()> job;
    {
      std::unique_lock lock(mutex_);
      news_.wait(lock, [&] { return stop_ || !jobs_.empty(); });
      if (stop_) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    job();
  }
}

}  // namespace skald::server
