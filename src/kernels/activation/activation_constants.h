/// The constants of numerics 3.3. Internal to activation/.
#pragma once

namespace skald::kernels {

/// -2u of GELU's tanh u, u = sqrt(2 / pi) (x + 0.044715 x^3), is x * (kCubic * x^2 + kLinear).
struct GeluConstants {
  static constexpr float kLinear = -1.59576912f;   ///< -2 sqrt(2 / pi)
  static constexpr float kCubic = -0.0713548163f;  ///< that times 0.044715
};

/// GELU as it was first defined, x times the share of a normal distribution below x. That share
/// below -|x| is half of Abramowitz & Stegun's 7.1.26, t (c0 + c1 t + ...) exp(-x^2 / 2) with t =
/// 1 / (1 + kRate |x|): the absolute error is below 7.5e-8.
struct GeluErfConstants {
  static constexpr float kRate = 0.231641888f;  ///< 0.3275911 / sqrt(2)
  static constexpr float kPolynomial[5] = {0.530702715f, -0.726576014f, 0.710706871f, -0.142248368f,
                                           0.127414796f};  ///< c4 to c0
};

/// The clamped SwiGLU of gpt-oss.
struct ClampedSwigluConstants {
  static constexpr float kLimit = 7;  ///< of the gate, above; of up, above and below
  static constexpr float kMinusSlope =
      -1.702f;  ///< of the sigmoid: sigmoid(1.702 x) is near GELU's
};

}  // namespace skald::kernels
