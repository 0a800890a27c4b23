#include "kernels/peak/peak.h"

#include <algorithm>

#include "base/check.h"
#include "base/stopwatch.h"
#include "kernels/peak/variants.h"

namespace skald::kernels {
namespace {

constexpr int kRuns = 5;
// Rounds of one call: some tens of microseconds, so that the loop over calls costs nothing.
constexpr int64_t kSteps = 4096;
// What a worker reads before it takes the next part: long enough for the hardware prefetchers,
// short enough that all workers finish together.
constexpr int64_t kReadUnitBytes = 1 << 20;

// Multiply-accumulates a second of all workers together; `work` does the given rounds and says how
// many that were.
double RateOf(ThreadPool& pool, int64_t (*work)(int64_t steps)) {
  const int64_t macs_of_call = work(kSteps);
  double best = 0;
  int64_t calls = 1;  // of each worker in a run
  for (int run = 0; run < kRuns;) {
    const int64_t units = calls * pool.thread_count();
    const Stopwatch watch;
    pool.Run(units, [&](int64_t, int) { work(kSteps); });
    const double seconds = watch.Seconds();
    if (seconds < kPeakRunSeconds) {
      calls *= 2;
      continue;
    }
    best = std::max(best, static_cast<double>(units * macs_of_call) / seconds);
    ++run;
  }
  return best;
}

double ReadRate(ThreadPool& pool, const PeakKernels& kernels, std::span<const std::byte> buffer) {
  double best = 0;
  for (int run = 0; run < kRuns; ++run) {
    int64_t bytes = 0;
    const Stopwatch watch;
    double seconds = 0;
    while (seconds < kPeakRunSeconds) {
      ReadOnce(pool, kernels, buffer);
      bytes += static_cast<int64_t>(buffer.size());
      seconds = watch.Seconds();
    }
    best = std::max(best, static_cast<double>(bytes) / seconds);
  }
  return best;
}

}  // namespace

PeakKernels PeakFor(Isa isa) {
  switch (isa) {
    case Isa::kScalar: return scalar::Peak();
    case Isa::kAvx2: return avx2::Peak();
    case Isa::kAvx512: return avx512::Peak();
    case Isa::kAmx: return amx::Peak();
  }
  UNREACHABLE();
}

void ReadOnce(ThreadPool& pool, const PeakKernels& kernels, std::span<const std::byte> buffer) {
  const auto total = static_cast<int64_t>(buffer.size());
  pool.Run((total + kReadUnitBytes - 1) / kReadUnitBytes, [&](int64_t unit, int) {
    const int64_t first = unit * kReadUnitBytes;
    kernels.read(buffer.data() + first, std::min(kReadUnitBytes, total - first));
  });
}

Peaks MeasurePeaks(Isa isa, ThreadPool& pool, std::span<const std::byte> buffer) {
  CHECK(!buffer.empty() && buffer.size() % 4096 == 0);
  const PeakKernels kernels = PeakFor(isa);
  return {.int8_macs_per_second = RateOf(pool, kernels.dot),
          .float_macs_per_second = RateOf(pool, kernels.fma),
          .read_bytes_per_second = ReadRate(pool, kernels, buffer)};
}

}  // namespace skald::kernels
