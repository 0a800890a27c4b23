/// FlushMode: vectors that treat subnormal floats as zeros, as the dot products of bfloat16 do.
#pragma once

namespace skald::kernels {

/// While it lives, float instructions of this thread read a subnormal operand as a zero of its sign
/// and write such a zero for a result that is subnormal after rounding (MXCSR: DAZ, FTZ). Stands
/// before and behind what reads its operands from memory and writes its results there: these the
/// compiler moves across no call. Not for AMX and VDPBF16PS, which always do so. Costs some ten
/// cycles.
class FlushMode {
 public:
  FlushMode();
  ~FlushMode();
  FlushMode(const FlushMode&) = delete;
  FlushMode& operator=(const FlushMode&) = delete;

 private:
  unsigned before_ = 0;
};

}  // namespace skald::kernels
