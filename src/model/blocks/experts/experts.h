/// Experts: a mixture of SwiGLU feed-forwards, of which each row uses a few (Shazeer et al. 2017;
/// Jiang et al. 2024).
///
///     sum over the chosen e, ascending, of w_e * down_e * (silu(gate_e * h) . (up_e * h))
///
/// Rows are grouped by expert, so that a step reads each expert that it needs once.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/pack/panel.h"
#include "model/blocks/linear.h"
#include "model/tensors.h"
#include "skald/status.h"

namespace skald::model {

/// Far above any published model.
inline constexpr int64_t kMaxExperts = 1024;

/// Sizes are in elements.
struct Experts {
  int64_t width = 0;   ///< of the residual stream
  int64_t hidden = 0;  ///< of gate and up of each expert
  int64_t count = 0;   ///< experts
  int64_t used = 0;    ///< by each row

  kernels::PackedMatrix router = {};                                 ///< [count][width]
  std::vector<kernels::PackedMatrix> gate = {}, up = {}, down = {};  ///< by expert
};

/// Checks the numbers. Errors: kBadModel.
Status Validate(const Experts& experts);

/// Its tensors.
void Declare(Experts& experts, TensorList& tensors);

/// What it needs of the workspace.
Needs Size(const Experts& experts, const StepLimits& limits);

/// Computes the block for the rows of `input` into workspace.projected (numerics 3.10).
void Run(const Experts& experts, const Input& input, const Context& context);

/// Counts what Run does for `rows` rows. How many experts they read depends on what they are: the
/// bytes are those of rows that choose independently and evenly.
void AddWork(const Experts& experts, int64_t rows, StepWork& work);

}  // namespace skald::model
