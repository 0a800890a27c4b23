/// FloatMode: the floating-point mode of the thread at hand, which the numerics fix (rule 1).
#pragma once

#include <cstdint>

namespace skald {

/// While it lives, this thread computes as the numerics say: to nearest, ties to even, subnormals
/// kept as operands and results, no traps. Then the mode of the caller comes back.
///
/// The mode belongs to a thread, and a new thread starts with that of its maker: a program that
/// flushes subnormals to zero, as sound and graphics do, would change the bits of every answer.
/// Stands where a thread begins (Thread, ThreadPool) and where a thread of the caller begins to
/// compute (ThreadPool::Run, the facades). Nests. Costs some ten cycles.
class FloatMode {
 public:
  FloatMode();
  ~FloatMode();
  FloatMode(const FloatMode&) = delete;
  FloatMode& operator=(const FloatMode&) = delete;

 private:
  uint64_t before_;
};

}  // namespace skald
