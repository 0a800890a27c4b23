/// CostOf: what a piece of work costs in memory and processor time, for tests that fail when it is
/// out of proportion to its input.
///
///     const Cost small = CostOf([&] { Parse(Input(n)); });
///     const Cost large = CostOf([&] { Parse(Input(4 * n)); });
///     EXPECT_LT(large.peak_bytes, 4.5 * small.peak_bytes);
///
/// Whoever links it gets an allocator that counts: malloc and its relatives are stood in for (with
/// the sanitizers their hooks are used), so C libraries count as well as operator new. Counts are
/// exact and repeatable; processor time is that of the calling thread, so that a busy machine
/// changes it little, and still needs a generous bound.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/function_ref.h"

namespace skald::test {

struct Cost {
  int64_t peak_bytes = 0;   ///< most memory held at a time, beyond what was held before
  int64_t total_bytes = 0;  ///< of all allocations together, freed or not
  int64_t allocations = 0;
  double cpu_seconds = 0;  ///< of the calling thread
};

/// Runs `work` once. Memory counts for all threads of the process: nothing else should run. Not
/// from within `work`.
Cost CostOf(FunctionRef<void()> work);

/// As CostOf, `times` times (at least 1): the least of each figure, because what a busy machine
/// adds is only ever too much.
Cost LeastCostOf(int times, FunctionRef<void()> work);

/// What the allocator tells (allocator_malloc.cc, allocator_sanitizer.cc), from any thread.
void CountAllocation(size_t bytes);
void CountFree(size_t bytes);

}  // namespace skald::test
