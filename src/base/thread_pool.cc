#include "base/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <limits>

#include "base/check.h"
#include "base/float_mode.h"
#include "base/thread.h"

namespace skald {
namespace {

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

ThreadPool::ThreadPool(int thread_count)
    : ranges_(static_cast<size_t>(std::max(thread_count, 0))), spread_(std::max(thread_count, 0)) {
  CHECK(thread_count >= 1 && thread_count <= kMaxThreads);
  workers_.reserve(static_cast<size_t>(thread_count - 1));
  for (int worker = 1; worker < thread_count; ++worker) {
    workers_.emplace_back([this, worker] { WorkerMain(worker); });
  }
}

ThreadPool::~ThreadPool() {
  stop_.store(true, std::memory_order_relaxed);
  loop_.Add(1);
  loop_.Wake();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::Run(int64_t unit_count, Body body) {
  const FloatMode mode;  // the caller's thread is worker 0
  if (workers_.empty() || unit_count <= 1) {
    MayPass();
    for (int64_t unit = 0; unit < unit_count; ++unit) {
      body(unit, 0);
      CountUnit();
    }
    return;
  }
  CHECK(unit_count <= std::numeric_limits<uint32_t>::max());
  spread_.Check(0);
  body_ = &body;
  const auto workers = static_cast<uint64_t>(thread_count());
  const auto units = static_cast<uint64_t>(unit_count);
  for (uint64_t worker = 0; worker < workers; ++worker) {
    const uint64_t begin = worker * units / workers;
    const uint64_t end = (worker + 1) * units / workers;
    ranges_[worker].bounds.store(end << 32 | begin, std::memory_order_relaxed);
  }
  busy_workers_.Set(static_cast<uint32_t>(workers_.size()));
  loop_.Add(1);
  loop_.Wake();
  RunUnits(0);
  // Every worker must have left the loop before body_ goes out of scope.
  for (uint32_t busy = busy_workers_.Get(); busy != 0;) busy = busy_workers_.AwaitOther(busy);
}

void ThreadPool::MayPass() const {
  if (others_.load(std::memory_order_relaxed) == Others::kWait) sched_yield();
}

// Not an increment in one instruction, which would lock: nobody else writes.
void ThreadPool::CountUnit() {
  progress_.store(progress_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

// Others pass behind the start of the loop: what a worker that yields does not do, the rest takes.
// Who was just woken may have taken its processor from the very thread that waits.
void ThreadPool::RunUnits(int worker) {
  MayPass();
  RunRange(ranges_[static_cast<size_t>(worker)], worker, End::kFront);
  for (int other = 1; other < thread_count(); ++other) {
    const int victim = (worker + other) % thread_count();
    RunRange(ranges_[static_cast<size_t>(victim)], worker, End::kBack);
  }
}

void ThreadPool::RunRange(UnitRange& range, int worker, End end) {
  constexpr uint64_t kOneAtBack = uint64_t{1} << 32;
  uint64_t bounds = range.bounds.load(std::memory_order_relaxed);
  for (;;) {
    const uint64_t first = bounds & 0xffffffffu;
    const uint64_t past = bounds >> 32;
    if (first >= past) return;
    const bool front = end == End::kFront;
    const uint64_t rest = front ? bounds + 1 : bounds - kOneAtBack;
    // Relaxed: what the body reads was published with loop_, and no unit depends on another.
    if (!range.bounds.compare_exchange_weak(bounds, rest, std::memory_order_relaxed)) continue;
    (*body_)(static_cast<int64_t>(front ? first : past - 1), worker);
    if (worker == 0) CountUnit();
    bounds = range.bounds.load(std::memory_order_relaxed);
  }
}

void ThreadPool::WorkerMain(int worker) {
  NameThisThread("compute");
  const FloatMode mode;
  uint32_t seen = 0;
  for (;;) {
    // Loops cannot be missed: Run does not return, so the next cannot start, before this worker has
    // counted down.
    seen = loop_.AwaitOther(seen);
    if (stop_.load(std::memory_order_relaxed)) return;
    spread_.Check(worker);
    RunUnits(worker);
    if (busy_workers_.Add(~uint32_t{0}) == 0) busy_workers_.Wake();
  }
}

}  // namespace skald
