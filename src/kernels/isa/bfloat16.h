/// BFloat16: the upper half of a float, as a type of its own (a half is an uint16_t).
#pragma once

#include <cstdint>

namespace skald::kernels {

struct BFloat16 {
  uint16_t bits;
};

/// The largest finite one: what is written in place of anything larger, or of infinity.
inline constexpr float kLargestBFloat16 = 0x1.fep+127f;

}  // namespace skald::kernels
