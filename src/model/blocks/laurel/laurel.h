/// Laurel: learned augmented residual of low rank, beside a layer's attention (Menghani et al.
/// 2024; Gemma 3n, 2025).
///
///     h + norm(up * (down * h))
///
/// h is what the attention reads. The sum of the residual stream, the attention and this is divided
/// by the root of 2.
#pragma once

#include <cstdint>

#include "kernels/pack/panel.h"
#include "model/blocks/linear.h"
#include "model/norm.h"
#include "model/rank.h"
#include "model/tensors.h"
#include "skald/status.h"

namespace skald::model {

/// Sizes are in elements.
struct Laurel {
  int64_t width = 0;  ///< of the residual stream
  int64_t rank = 0;
  Norm norm = {};
  RowPart down_rows = {}, up_rows = {};  ///< those of a rank

  kernels::PackedMatrix down = {};  ///< [rank][width]
  kernels::PackedMatrix up = {};    ///< [width][rank]

  RowPart DownPart() const { return PartOf(down_rows, rank); }
  RowPart UpPart() const { return PartOf(up_rows, width); }
};

/// Checks the numbers. Errors: kBadModel.
Status Validate(const Laurel& laurel);

/// Leaves a rank its rows.
void Split(const Rank& rank, Laurel& laurel);

/// Its tensors.
void Declare(Laurel& laurel, TensorList& tensors);

/// What it needs of the workspace.
Needs Size(const Laurel& laurel, const StepLimits& limits);

/// Computes the block for the rows of `input`, whose source is h, into workspace.projected.
void Run(const Laurel& laurel, const Input& input, const Context& context);

/// Counts what Run does for `rows` rows.
void AddWork(const Laurel& laurel, int64_t rows, StepWork& work);

}  // namespace skald::model
