/// The gated delta rule over the rows of one sequence and one head (Schlag et al. 2021; Yang et al.
/// 2024; numerics 3.14), and what prepares its operands.
#pragma once

#include <cstdint>

namespace skald::kernels {

/// What decays by a number of its own.
enum class DecayOf : uint8_t {
  kHead,        ///< all of a state
  kKeyElement,  ///< the row of a state that belongs to an element of the keys (Kimi Team 2025)
};

/// For each row t, ascending, with S the state, [key_dim][value_dim]:
///
///     S *= decay_t;  d = beta_t (v_t - S^T k_t);  S += k_t d^T;  o_t = S^T q_t
///
///   query, key     [rows][key_dim], each with its stride in floats
///   value          [rows][value_dim]
///   decay          one number a row, or [rows][key_dim], with its stride
///   beta           one number a row, with its stride
///   state          [key_dim][value_dim]: S before the first row; afterwards behind the last
///   begins         the sequence has no rows before: zeros, whatever stands in the state
///   out            [rows][value_dim]; may be value, else no overlap
///
/// Any thread, one to a state; two passes over the state a row; allocates nothing.
struct DeltaArgs {
  const float* query = nullptr;
  int64_t query_stride = 0;
  const float* key = nullptr;
  int64_t key_stride = 0;
  const float* value = nullptr;
  int64_t value_stride = 0;
  const float* decay = nullptr;
  int64_t decay_stride = 0;
  DecayOf decay_of = DecayOf::kHead;
  const float* beta = nullptr;
  int64_t beta_stride = 0;
  float* state = nullptr;
  bool begins = false;
  float* out = nullptr;
  int64_t out_stride = 0;
  int64_t rows = 0;
  int64_t key_dim = 0;
  int64_t value_dim = 0;
};
using DeltaFn = void (*)(const DeltaArgs& args);

/// x = scale * x / sqrt(sum of x^2 + 1e-6) for `heads` consecutive heads of `n` floats, in place.
/// The small number is a constant of the published networks, and inside of the root: no key of a
/// file gives it. Any thread; two passes; allocates nothing.
struct L2NormArgs {
  float* x = nullptr;
  int64_t heads = 0;
  int64_t n = 0;
  float scale = 1;
};
using L2NormFn = void (*)(const L2NormArgs& args);
inline constexpr float kL2NormEpsilon = 1e-6f;

/// log(1 + exp(x)), a number above 0: what a row's step is. One a head: the same code on every
/// machine, as the next.
float Softplus(float x);

/// What a state keeps of itself in a row: exp(rate * step), for a rate <= 0 a number of 0 .. 1.
float Decay(float step, float rate);

}  // namespace skald::kernels
