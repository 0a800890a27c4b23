#include "engine/mask_thread.h"

#include <algorithm>
#include <utility>

#include "base/cpu_clock.h"
#include "base/short_turns.h"

namespace skald::engine {

MaskThread::MaskThread() {
  thread_.emplace("masks", [this] { Main(); });
}

MaskThread::~MaskThread() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  news_.notify_one();
  thread_.reset();
}

void MaskThread::Begin(std::shared_ptr<MaskJob> job) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  news_.notify_one();
}

// Null: the end. There are no more jobs than sequences that run, so a look at all of them is cheap.
std::shared_ptr<MaskJob> MaskThread::Next() {
  std::unique_lock lock(mutex_);
  news_.wait(lock, [this] { return stop_ || !jobs_.empty(); });
  if (stop_) return nullptr;
  const auto first = std::min_element(
      jobs_.begin(), jobs_.end(), [](const auto& a, const auto& b) { return a->order < b->order; });
  std::shared_ptr<MaskJob> job = std::move(*first);
  jobs_.erase(first);
  return job;
}

void MaskThread::Main() {
  GiveWay();
  ShortTurns turns;
  const CpuClock clock;
  while (const std::shared_ptr<MaskJob> job = Next()) {
    const auto is_over = [&] {
      turns.MayRest();
      return job->is_dropped || stop_;
    };
    const double begin = clock.Now();
    job->status = job->state.MakeMask({.stop = StopCheck(is_over)});
    job->seconds = clock.Now() - begin;
    job->is_done.store(true, std::memory_order_release);
  }
}

}  // namespace skald::engine
