/// The selective scan of Mamba-2 over the rows of one sequence and one head (Dao & Gu 2024;
/// numerics 3.16): a state that fades by a share of the row's own, and takes up the row.
#pragma once

#include <cstdint>

namespace skald::kernels {

/// For each row t, ascending, with S the state, [state_dim][head_dim]:
///
///     S = decay_t S + B_t (step_t x_t)^T;  y_t = S^T C_t + skip x_t
///
///   x              [rows][head_dim]
///   b, c           [rows][state_dim]
///   decay, step    one number a row, `gate_stride` floats apart
///   state          S before the first row; afterwards behind the last
///   begins         the sequence has no rows before: zeros, whatever stands in the state
///   y              [rows][head_dim]; may be x, else no overlap
///
/// x, b and c have one stride, in floats: they are parts of one row. Any thread, one to a state;
/// one pass over the state a row; allocates nothing.
struct ScanArgs {
  const float* x = nullptr;
  const float* b = nullptr;
  const float* c = nullptr;
  int64_t row_stride = 0;
  const float* decay = nullptr;
  const float* step = nullptr;
  int64_t gate_stride = 0;
  float skip = 0;
  float* state = nullptr;
  bool begins = false;
  float* y = nullptr;
  int64_t y_stride = 0;
  int64_t rows = 0;
  int64_t state_dim = 0;
  int64_t head_dim = 0;
};
using ScanFn = void (*)(const ScanArgs& args);

}  // namespace skald::kernels
