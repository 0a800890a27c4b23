#include "base/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <fstream>

#include "base/check.h"

namespace skald {
namespace {

// About 30 us on current machines: longer than the gap between two loops of a step, far shorter
// than a scheduler slice.
constexpr int kSpinRounds = 2000;

void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// CPUs granted by the cgroup v2 quota, rounded down but at least 1, or `otherwise` if there is
// none.
int CgroupQuota(int otherwise) {
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  double quota = 0;
  double period = 0;
  // Without a quota the first word is "max", which is no number.
  if (!(file >> quota >> period) || quota <= 0 || period <= 0) return otherwise;
  return static_cast<int>(std::clamp(quota / period, 1.0, double{ThreadPool::kMaxThreads}));
}

}  // namespace

int AvailableCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  int cores = 1;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) cores = CPU_COUNT(&set);
  return std::clamp(std::min(cores, CgroupQuota(cores)), 1, ThreadPool::kMaxThreads);
}

ThreadPool::ThreadPool(int thread_count) {
  CHECK(thread_count >= 1 && thread_count <= kMaxThreads);
  workers_.reserve(static_cast<size_t>(thread_count - 1));
  for (int worker = 1; worker < thread_count; ++worker) {
    workers_.emplace_back([this, worker] { WorkerMain(worker); });
  }
}

ThreadPool::~ThreadPool() {
  stop_.store(true, std::memory_order_relaxed);
  loop_.fetch_add(1, std::memory_order_release);
  loop_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::Run(int64_t unit_count, Body body) {
  if (workers_.empty() || unit_count <= 1) {
    for (int64_t unit = 0; unit < unit_count; ++unit) body(unit, 0);
    return;
  }
  body_ = &body;
  unit_count_ = unit_count;
  next_unit_.store(0, std::memory_order_relaxed);
  busy_workers_.store(static_cast<int>(workers_.size()), std::memory_order_relaxed);
  loop_.fetch_add(1, std::memory_order_release);
  loop_.notify_all();
  RunUnits(0);
  // Every worker must have left the loop before body_ goes out of scope.
  for (int spin = 0; busy_workers_.load(std::memory_order_acquire) != 0; ++spin) {
    if (spin < kSpinRounds) {
      Pause();
    } else {
      std::this_thread::yield();
    }
  }
}

void ThreadPool::RunUnits(int worker) {
  for (;;) {
    const int64_t unit = next_unit_.fetch_add(1, std::memory_order_relaxed);
    if (unit >= unit_count_) return;
    (*body_)(unit, worker);
  }
}

uint64_t ThreadPool::AwaitLoop(uint64_t seen) {
  for (int spin = 0; spin < kSpinRounds; ++spin) {
    const uint64_t loop = loop_.load(std::memory_order_acquire);
    if (loop != seen) return loop;
    Pause();
  }
  loop_.wait(seen, std::memory_order_acquire);
  return loop_.load(std::memory_order_acquire);
}

void ThreadPool::WorkerMain(int worker) {
  uint64_t seen = 0;
  for (;;) {
    // Loops cannot be missed: Run does not return, so the next cannot start, before this worker has
    // counted down.
    seen = AwaitLoop(seen);
    if (stop_.load(std::memory_order_relaxed)) return;
    RunUnits(worker);
    busy_workers_.fetch_sub(1, std::memory_order_release);
  }
}

}  // namespace skald
