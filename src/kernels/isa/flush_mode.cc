#include "kernels/isa/flush_mode.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace skald::kernels {

// In a source of their own, as those of base/float_mode.cc, and for its reason.
#if defined(__x86_64__)
constexpr unsigned kFlush = 0x8040;  // FTZ, DAZ

FlushMode::FlushMode() : before_(_mm_getcsr()) { _mm_setcsr(before_ | kFlush); }
FlushMode::~FlushMode() { _mm_setcsr(before_); }
#else
FlushMode::FlushMode() = default;
FlushMode::~FlushMode() = default;
#endif

}  // namespace skald::kernels
