/// For benchmarks of operations that do little but move floats: their speed beside the fastest
/// there can be, a pass that only reads the same number of bytes with the same registers, measured
/// in the same run on the same core. Both times are processor time, so that a busy machine does not
/// lower the result.
#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstring>
#include <ctime>

#include "base/aligned_buffer.h"
#include "base/check.h"
#include "base/checked_math.h"
#include "kernels/kernels.h"
#include "kernels/peak/peak.h"

namespace skald::kernels {

/// Processor time of this process so far.
inline double CpuSeconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

/// Bytes per second at which one core reads about `bytes` bytes again and again: from L1 or L2 if
/// they fit there.
inline double CachedReadPeak(Isa isa, int64_t bytes) {
  constexpr int64_t kRunBytes = int64_t{1} << 28;
  bytes = RoundUp<int64_t>(bytes, 512);
  Result<AlignedBuffer> buffer = AlignedBuffer::Create(static_cast<uint64_t>(bytes));
  CHECK(buffer.ok());
  std::memset(buffer->data(), 1, buffer->size());
  double best = 0;
  for (int repeat = 0; repeat < 5; ++repeat) {
    const double start = CpuSeconds();
    int64_t done = 0;
    for (; done < kRunBytes; done += bytes) {
      benchmark::DoNotOptimize(TableFor(isa).peak.read(buffer->data(), bytes));
    }
    best = std::max(best, static_cast<double>(done) / (CpuSeconds() - start));
  }
  return best;
}

/// Runs `work`, which reads and writes `bytes` bytes in all, for as long as the benchmark asks and
/// adds GB/s, the read peak in GB/s, and the share of it.
template <typename Work>
void RunWithReadShare(benchmark::State& state, Isa isa, int64_t bytes, Work work) {
  const double peak = CachedReadPeak(isa, bytes);
  const double start = CpuSeconds();
  for (auto _ : state) {
    work();
    benchmark::ClobberMemory();
  }
  const double seconds = CpuSeconds() - start;
  const double rate =
      static_cast<double>(bytes * static_cast<int64_t>(state.iterations())) / seconds;
  state.counters["GB/s"] = rate * 1e-9;
  state.counters["peak"] = peak * 1e-9;
  state.counters["share"] = rate / peak;
}

}  // namespace skald::kernels
