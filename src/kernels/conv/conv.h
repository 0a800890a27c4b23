/// Depthwise causal convolution over the rows of one sequence, a step of which may begin anywhere:
/// what it needs of earlier rows stands in a state (numerics 3.13).
#pragma once

#include <cstdint>

namespace skald::kernels {

/// Taps that a kernel keeps in registers; published models have 3 or 4.
inline constexpr int64_t kMaxConvTaps = 8;

/// What becomes of a sum of taps.
enum class ConvActivation : uint8_t { kNone, kSilu };

/// For each row t and channel c, rows ascending:
///
///     z[t][c] = x[t][c], times x_gate[t][c] if given
///     s = bias[c] + sum over j < taps of weights[c][j] * z[t - taps + 1 + j][c]: the last tap is
///     the row itself
///     y[t][c] = activation(s), times y_gate[t][c] if given
///
///   x, x_gate, y_gate   [rows][channels], each with its own stride in floats
///   weights             [channels][taps]
///   bias                [channels], or nullptr for zeros
///   state               [taps - 1][channels]: z of the rows before the first, the oldest first;
///                       afterwards of those before the next
///   begins              the sequence has no rows before: zeros, whatever stands in the state
///   y                   [rows][channels]; may be x or a gate, else no overlap
///
/// A range of channels is the same call with pointers moved; `state_stride` and the strides of rows
/// say how far apart rows are. 1 <= taps <= kMaxConvTaps. Any thread, one to a range of channels;
/// one pass; allocates nothing.
struct ConvArgs {
  const float* x = nullptr;
  int64_t x_stride = 0;
  const float* x_gate = nullptr;
  int64_t x_gate_stride = 0;
  const float* y_gate = nullptr;
  int64_t y_gate_stride = 0;
  const float* weights = nullptr;
  const float* bias = nullptr;
  float* state = nullptr;
  int64_t state_stride = 0;
  bool begins = false;
  ConvActivation activation = ConvActivation::kNone;
  float* y = nullptr;
  int64_t y_stride = 0;
  int64_t rows = 0;
  int64_t channels = 0;
  int64_t taps = 0;
};
using ConvFn = void (*)(const ConvArgs& args);

}  // namespace skald::kernels
