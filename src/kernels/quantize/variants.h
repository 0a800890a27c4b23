/// The variants of the function in quantize.h. Internal to quantize/ and to the instruction sets
/// (isa/scalar.cc, x86/).
#pragma once

#include "kernels/quantize/quantize.h"

namespace skald::kernels {

/// The group maxima below which a group is all zero: 2^-96. Above it every intermediate of
/// numerics 3.5 is a normal number (127 / A, A / 127 and its eighth).
inline constexpr float kSmallestScaledMaximum = 0x1p-96f;

namespace scalar {
void QuantizeF32(const QuantizeArgs& args);
void QuantizeBlock32(const QuantizeArgs& args);
void QuantizeBlock128(const QuantizeArgs& args);
void QuantizeBFloat16(const QuantizeArgs& args);
}  // namespace scalar

namespace avx2 {
void QuantizeBlock32(const QuantizeArgs& args);
void QuantizeBlock128(const QuantizeArgs& args);
void QuantizeBFloat16(const QuantizeArgs& args);
}  // namespace avx2

}  // namespace skald::kernels
