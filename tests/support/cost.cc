#include "support/cost.h"

#include <time.h>

#include <algorithm>
#include <atomic>

namespace skald::test {

namespace {

// Constant initialization: the first allocations come before main.
std::atomic<int64_t> held_bytes{0};
std::atomic<int64_t> most_bytes{0};
std::atomic<int64_t> total_bytes{0};
std::atomic<int64_t> allocation_count{0};

double ThreadSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

void CountAllocation(size_t bytes) {
  const auto added = static_cast<int64_t>(bytes);
  const int64_t held = held_bytes.fetch_add(added, std::memory_order_relaxed) + added;
  total_bytes.fetch_add(added, std::memory_order_relaxed);
  allocation_count.fetch_add(1, std::memory_order_relaxed);
  int64_t most = most_bytes.load(std::memory_order_relaxed);
  while (held > most && !most_bytes.compare_exchange_weak(most, held, std::memory_order_relaxed)) {
  }
}

void CountFree(size_t bytes) {
  held_bytes.fetch_sub(static_cast<int64_t>(bytes), std::memory_order_relaxed);
}

Cost CostOf(FunctionRef<void()> work) {
  const int64_t held = held_bytes;
  most_bytes = held;
  const int64_t total = total_bytes;
  const int64_t count = allocation_count;
  const double start = ThreadSeconds();
  work();
  Cost cost;
  cost.cpu_seconds = ThreadSeconds() - start;
  cost.peak_bytes = most_bytes - held;
  cost.total_bytes = total_bytes - total;
  cost.allocations = allocation_count - count;
  return cost;
}

Cost LeastCostOf(int times, FunctionRef<void()> work) {
  Cost least = CostOf(work);
  for (int i = 1; i < times; ++i) {
    const Cost again = CostOf(work);
    least.peak_bytes = std::min(least.peak_bytes, again.peak_bytes);
    least.total_bytes = std::min(least.total_bytes, again.total_bytes);
    least.allocations = std::min(least.allocations, again.allocations);
    least.cpu_seconds = std::min(least.cpu_seconds, again.cpu_seconds);
  }
  return least;
}

}  // namespace skald::test
