#include "base/float_mode.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace skald {

// In a source of their own, not inline: a compiler that sees these instructions may move arithmetic
// across them, across a call of an unknown function it moves nothing that reads memory.
#if defined(__x86_64__)
// What MXCSR is when a process starts: to nearest, all exceptions masked, neither FTZ nor DAZ, no
// exception seen. The control word of the x87 stays as it is: no arithmetic of ours uses that unit.
constexpr unsigned kPlain = 0x1f80;
constexpr unsigned kSeen = 0x3f;  // exceptions seen so far: notes, which change nothing

FloatMode::FloatMode() : before_(_mm_getcsr()) {
  if ((before_ & ~kSeen) != kPlain) _mm_setcsr(kPlain);
}

// Written only where it differs, as above: the write waits for all arithmetic under way.
FloatMode::~FloatMode() {
  if ((before_ & ~kSeen) != kPlain) _mm_setcsr(static_cast<unsigned>(before_));
}
#elif defined(__aarch64__)
// FPCR: the same bits all 0.
FloatMode::FloatMode() {
  asm volatile("mrs %0, fpcr" : "=r"(before_));
  asm volatile("msr fpcr, %0" : : "r"(uint64_t{0}));
}

FloatMode::~FloatMode() { asm volatile("msr fpcr, %0" : : "r"(before_)); }
#else
#error "how does this CPU round? (docs/numerics.md, rule 1)"
#endif

}  // namespace skald
