/// PrefetchAhead: asks for what a loop over much memory will read soon.
///
/// The hardware's own prefetchers end at each page of 4 KiB and fall behind a loop that computes.
/// Lines come in two steps: into the second-level cache, and from there into the first. In one
/// step, straight into the first, only as many are on their way as that has fill buffers: 16 of a
/// core with AMX, too few for the time that memory takes there (docs/log.md, 2026-11-29: a token of
/// Q6_K reads at 82 % of the passes over memory in one step, at 99 % in two).
#pragma once

#include <cstdint>

#include "kernels/isa/intrinsics.h"

namespace skald::kernels {

/// Bytes ahead of their use. 1 to 4 KiB and 9 to 18 KiB are equally good.
inline constexpr int64_t kNearBytes = 2048;
inline constexpr int64_t kFarBytes = 9216;

/// Asks for the cache lines that lie that far behind part `part`, of kBytes each, of what is at
/// `here`. Past the end of a matrix it touches memory in vain, which does no harm.
template <int64_t kBytes>
[[gnu::always_inline]] inline void PrefetchAhead(const void* here, int64_t part = 0) {
  const char* at = static_cast<const char*>(here) + part * kBytes;
#pragma GCC unroll 16
  for (int64_t line = 0; line < kBytes; line += 64) {
    _mm_prefetch(at + kFarBytes + line, _MM_HINT_T1);
    _mm_prefetch(at + kNearBytes + line, _MM_HINT_T0);
  }
}

}  // namespace skald::kernels
