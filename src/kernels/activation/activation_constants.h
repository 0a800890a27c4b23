/// The constants of numerics 3.3. Internal to activation/.
#pragma once

namespace skald::kernels {

/// -2u of GELU's tanh u, u = sqrt(2 / pi) (x + 0.044715 x^3), is x * (kCubic * x^2 + kLinear).
struct GeluConstants {
  static constexpr float kLinear = -1.59576912f;   ///< -2 sqrt(2 / pi)
  static constexpr float kCubic = -0.0713548163f;  ///< that times 0.044715
};

/// The clamped SwiGLU of gpt-oss.
struct ClampedSwigluConstants {
  static constexpr float kLimit = 7;  ///< of the gate, above; of up, above and below
  static constexpr float kMinusSlope =
      -1.702f;  ///< of the sigmoid: sigmoid(1.702 x) is near GELU's
};

}  // namespace skald::kernels
