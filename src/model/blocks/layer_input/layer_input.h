/// LayerInput: lets a layer use what it is told of the token itself (model/layer_inputs.h).
///
///     projection * (gelu(gate * x) . e)
///
/// x is the residual stream, not normed.
#pragma once

#include <cstdint>

#include "kernels/pack/panel.h"
#include "model/blocks/linear.h"
#include "model/rank.h"
#include "model/tensors.h"
#include "skald/status.h"

namespace skald::model {

/// Sizes are in elements.
struct LayerInput {
  int64_t width = 0;                             ///< of the residual stream
  int64_t inner = 0;                             ///< of e
  int64_t first = 0;                             ///< of e in the rows of workspace.layer_inputs
  RowPart gate_rows = {}, projection_rows = {};  ///< those of a rank

  kernels::PackedMatrix gate = {}, projection = {};

  RowPart GatePart() const { return PartOf(gate_rows, inner); }
  RowPart ProjectionPart() const { return PartOf(projection_rows, width); }
};

/// Checks the numbers. Errors: kBadModel.
Status Validate(const LayerInput& block);

/// Leaves a rank its rows.
void Split(const Rank& rank, LayerInput& block);

/// Its tensors.
void Declare(LayerInput& block, TensorList& tensors);

/// What it needs of the workspace.
Needs Size(const LayerInput& block, const StepLimits& limits);

/// Computes the block for the rows of `input` into workspace.projected.
void Run(const LayerInput& block, const Input& input, const Context& context);

/// Counts what Run does for `rows` rows.
void AddWork(const LayerInput& block, int64_t rows, StepWork& work);

}  // namespace skald::model
