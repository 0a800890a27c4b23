/// Conversions between float and the narrow formats, exact and the same on every machine.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace skald::tensor {

/// The float a bfloat16 stands for. Exact.
constexpr float FloatFromBf16(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

/// The nearest bfloat16, ties to even: overflow gives infinity, NaN stays NaN (quieted).
constexpr uint16_t Bf16FromFloat(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>(bits >> 16 | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

/// The float an IEEE half stands for. Exact, subnormals included; NaN payloads are kept, quieted.
constexpr float FloatFromHalf(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  const uint32_t exponent = (bits >> 10) & 31u;
  const uint32_t mantissa = bits & 0x3ffu;
  if (exponent == 31) {
    const uint32_t quiet = mantissa != 0 ? 0x400000u : 0u;
    return std::bit_cast<float>(sign | 0x7f800000u | quiet | (mantissa << 13));
  }
  if (exponent != 0)
    return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
  // Zero or subnormal: mantissa * 2^-24 is exact in float.
  const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | sign);
}

/// Half of the power of two that an E8M0 exponent stands for: 2^(e - 128). Exact: 2^-128 and 2^-127
/// (e = 0 and 1) are subnormal floats. e = 255, the NaN of the format, gives infinity.
constexpr float HalfOfPowerOfTwo(uint8_t e) {
  // The bits of 2^(e - 127); e = 0 has no normal float.
  const uint32_t bits = std::max(static_cast<uint32_t>(e) << 23, 0x400000u);
  return std::bit_cast<float>(bits) * 0.5f;
}

/// Half of the number that an E4M3 float without a sign stands for (exponent bias 7, no infinity).
/// Exact. The highest bit is ignored; 127, the NaN of the format, gives 240.
constexpr float HalfOfE4M3(uint8_t bits) {
  // Moved to the place of a float's exponent and mantissa it is too small by 2^(127 - 7), also
  // where it is subnormal.
  return std::bit_cast<float>(static_cast<uint32_t>(bits & 127) << 20) * 0x1p119f;
}

/// The nearest half, ties to even, as vcvtps2ph does: overflow gives infinity, NaN stays NaN
/// (quieted).
constexpr uint16_t HalfFromFloat(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) {
    return static_cast<uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu));
  }
  if (magnitude >= 0x47800000u) return static_cast<uint16_t>(sign | 0x7c00u);  // >= 65536, inf
  uint32_t half = 0;
  if (magnitude < 0x38800000u) {
    // Below 2^-14: adding 0.5 aligns the float's last bit with the half's and rounds to nearest
    // even.
    const float aligned = std::bit_cast<float>(magnitude) + 0.5f;
    half = std::bit_cast<uint32_t>(aligned) - 0x3f000000u;
  } else {
    const uint32_t odd = (magnitude >> 13) & 1u;
    half = (magnitude - 0x38000000u + 0xfffu + odd) >> 13;
  }
  return static_cast<uint16_t>(sign | half);
}

}  // namespace skald::tensor
