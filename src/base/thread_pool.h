/// ThreadPool: a fork-join pool for the phases of one step.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "base/awaited_number.h"
#include "base/function_ref.h"
#include "base/spread.h"

namespace skald {

/// Threads that wait for a processor, have little to do on it, and are waited for.
enum class Others : uint8_t { kNone, kWait };

/// A fixed set of workers that run one parallel loop at a time. The calling thread is worker 0 and
/// takes part, so a pool of size 1 starts no thread at all. Workers spin for some tens of
/// microseconds after a loop, because the next one usually follows at once, and then sleep: an idle
/// pool uses no CPU.
///
/// Results never depend on the number of threads: units are independent by construction (they write
/// disjoint outputs), and which worker runs which unit is left open.
///
/// One thread at a time may call Run; the body must not call Run on the same pool.
class ThreadPool {
 public:
  /// The work of one unit: 0 <= unit < unit_count, 0 <= worker < thread_count().
  using Body = FunctionRef<void(int64_t unit, int worker)>;

  /// Starts `thread_count` - 1 threads. Requires 1 <= thread_count <= kMaxThreads.
  explicit ThreadPool(int thread_count);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// More threads than any machine skald knows has cores.
  static constexpr int kMaxThreads = 512;

  int thread_count() const { return static_cast<int>(workers_.size()) + 1; }

  /// Runs body(unit, worker) once for every unit and returns when all have finished. Each worker
  /// starts with a range of consecutive units of its own, in ascending order, so that memory which
  /// follows the units streams; who is done takes from the end of another's range. Requires
  /// unit_count < 2^32. Allocates nothing. What the body wrote is visible to the caller afterwards.
  void Run(int64_t unit_count, Body body);

  /// While others wait, each worker gives its processor up for a moment before each loop: where
  /// several threads share one, Linux looks no sooner than at its next tick, some milliseconds
  /// later, at whose turn it is. Any thread may say so; it costs some nanoseconds, and each loop
  /// half a microsecond.
  void Note(Others others) { others_.store(others, std::memory_order_relaxed); }

  /// A number that grows with each unit of the thread that calls Run: while it stands still, so
  /// does that thread, or it waits for one that does. Any thread may ask.
  uint64_t progress() const { return progress_.load(std::memory_order_relaxed); }

 private:
  // The units of a worker that nobody has taken: the next in the low, the end in the high 32 bits.
  // Within a loop the next only grows and the end only shrinks, so a value never comes back.
  struct alignas(64) UnitRange {
    std::atomic<uint64_t> bounds{0};
  };

  void WorkerMain(int worker);
  void RunUnits(int worker);
  void CountUnit();
  void MayPass() const;
  enum class End { kFront, kBack };
  void RunRange(UnitRange& range, int worker, End end);

  std::vector<std::thread> workers_;
  const Body* body_ = nullptr;
  std::vector<UnitRange> ranges_;  // by worker
  Spread spread_;
  alignas(64) AwaitedNumber busy_workers_;
  alignas(64) AwaitedNumber loop_;  // number of loops started; a change is the start signal
  std::atomic<bool> stop_{false};
  alignas(64) std::atomic<Others> others_{Others::kNone};
  alignas(64) std::atomic<uint64_t> progress_{0};  // written by the thread that calls Run
};

/// The number of cores this process may run on: the affinity mask, cut to the cgroup's CPU quota.
/// At least 1.
int AvailableCores();

}  // namespace skald
