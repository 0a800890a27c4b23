/// PrefetchAhead: asks for what a loop over much memory will read soon.
#pragma once

#include <cstdint>

#include "kernels/isa/intrinsics.h"
#include "kernels/isa/read_ahead.h"

namespace skald::kernels {

/// Asks for the cache lines that lie so far behind part `part`, of kBytes each, of what is at
/// `here`. Past the end of a matrix it touches memory in vain, which does no harm.
template <int64_t kBytes>
[[gnu::always_inline]] inline void PrefetchAhead(const ReadAhead& ahead, const void* here,
                                                 int64_t part = 0) {
  const char* at = static_cast<const char*>(here) + part * kBytes;
  if (ahead.far != 0) {
#pragma GCC unroll 16
    for (int64_t line = 0; line < kBytes; line += 64) {
      _mm_prefetch(at + ahead.far + line, _MM_HINT_T1);
    }
  }
  if (ahead.near != 0) {
#pragma GCC unroll 16
    for (int64_t line = 0; line < kBytes; line += 64) {
      _mm_prefetch(at + ahead.near + line, _MM_HINT_T0);
    }
  }
}

}  // namespace skald::kernels
