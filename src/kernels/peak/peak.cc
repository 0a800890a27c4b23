#include "kernels/peak/peak.h"

#include <algorithm>
#include <atomic>

#include "base/check.h"
#include "base/stopwatch.h"

namespace skald::kernels {
namespace {

// Rounds of one call: some tens of microseconds, so that looking at the clock costs nothing.
constexpr int64_t kSteps = 4096;
// What a worker reads before it takes the next part: long enough for the hardware prefetchers,
// short enough that all workers finish together.
constexpr int64_t kReadUnitBytes = 1 << 20;

double ReadRate(ThreadPool& pool, const PeakKernels& kernels, std::span<const std::byte> buffer) {
  const auto total = static_cast<int64_t>(buffer.size());
  const Stopwatch watch;
  pool.Run((total + kReadUnitBytes - 1) / kReadUnitBytes, [&](int64_t unit, int) {
    const int64_t first = unit * kReadUnitBytes;
    kernels.read(buffer.data() + first, std::min(kReadUnitBytes, total - first));
  });
  return static_cast<double>(total) / watch.Seconds();
}

}  // namespace

// Workers stop by the clock, not after a number of rounds: who gets less of its core does less, and
// nobody waits for it.
double BurstRate(ThreadPool& pool, int64_t (*work)(int64_t steps)) {
  std::atomic<int64_t> macs = 0;
  const Stopwatch watch;
  pool.Run(pool.thread_count(), [&](int64_t, int) {
    int64_t done = 0;
    do {
      done += work(kSteps);
    } while (watch.Seconds() < kPeakBurstSeconds);
    macs += done;
  });
  return static_cast<double>(macs.load()) / watch.Seconds();
}

Peaks MeasurePeaks(const PeakKernels& kernels, ThreadPool& pool,
                   std::span<const std::byte> buffer) {
  CHECK(!buffer.empty() && buffer.size() % 4096 == 0);
  return {.int8_macs_per_second = BurstRate(pool, kernels.dot),
          .bfloat16_macs_per_second = BurstRate(pool, kernels.bfloat16),
          .float_macs_per_second = BurstRate(pool, kernels.fma),
          .read_bytes_per_second = ReadRate(pool, kernels, buffer)};
}

}  // namespace skald::kernels
