#include "engine/mask_threads.h"

#include <algorithm>
#include <utility>

#include "base/cpu_clock.h"
#include "base/short_turns.h"

namespace skald::engine {

MaskThreads::MaskThreads() {
  short_thread_.emplace("masks", [this] { Main(Lane::kShort); });
  long_thread_.emplace("long masks", [this] { Main(Lane::kLong); });
}

MaskThreads::~MaskThreads() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  for (Queue& queue : queues_) queue.news.notify_one();
  short_thread_.reset();
  long_thread_.reset();
}

void MaskThreads::Begin(std::shared_ptr<MaskJob> job) { Push(Lane::kShort, std::move(job)); }

void MaskThreads::Push(Lane lane, std::shared_ptr<MaskJob> job) {
  {
    const std::lock_guard lock(mutex_);
    auto& jobs = QueueOf(lane).jobs;
    // Each keeps a grammar alive: of those who came and went no more are left than who came.
    std::erase_if(jobs, [](const auto& each) { return each->is_dropped.load(); });
    jobs.push_back(std::move(job));
  }
  QueueOf(lane).news.notify_one();
}

// Null: the end. There are no more jobs than sequences that run, so a look at all of them is cheap.
std::shared_ptr<MaskJob> MaskThreads::Next(Lane lane) {
  Queue& queue = QueueOf(lane);
  std::unique_lock lock(mutex_);
  queue.news.wait(lock, [&] { return stop_ || !queue.jobs.empty(); });
  if (stop_) return nullptr;
  const auto first =
      std::min_element(queue.jobs.begin(), queue.jobs.end(),
                       [](const auto& a, const auto& b) { return a->order < b->order; });
  std::shared_ptr<MaskJob> job = std::move(*first);
  queue.jobs.erase(first);
  return job;
}

void MaskThreads::Main(Lane lane) {
  GiveWay();
  ShortTurns turns;
  const CpuClock clock;
  while (std::shared_ptr<MaskJob> job = Next(lane)) {
    if (job->is_dropped) continue;
    const auto is_over = [&] {
      turns.MayRest();
      return job->is_dropped || stop_;
    };
    const double begin = clock.Now();
    grammar::MaskBudget budget = {.stop = StopCheck(is_over)};
    if (lane == Lane::kShort) budget.steps = kShortSteps;
    job->status = job->state.MakeMask(&budget);
    job->seconds += clock.Now() - begin;
    const bool takes_longer = job->status.code() == ErrorCode::kCancelled && !is_over();
    if (lane == Lane::kShort && takes_longer)
      Push(Lane::kLong, std::move(job));
    else
      job->is_done.store(true, std::memory_order_release);
  }
}

}  // namespace skald::engine
