/// LayerInputs: what each layer is told of the token itself, beside the residual stream (per-layer
/// embeddings; Gemma 3n, 2025, Gemma 4 E2B and E4B, 2026).
///
///     e = (norm(projection * x0 / sqrt(width)) + sqrt(inner) * table[token]) / sqrt(2)
///
/// x0 is the residual stream before the first layer; e has `inner` elements for each layer, and the
/// norm is of each layer's by itself.
#pragma once

#include <cstdint>

#include "kernels/pack/panel.h"
#include "model/blocks/linear.h"
#include "model/norm.h"
#include "model/rank.h"
#include "model/row_table.h"
#include "model/step_batch.h"
#include "model/tensors.h"
#include "skald/status.h"

namespace skald::model {

/// Sizes are in elements.
struct LayerInputs {
  int64_t vocab = 0;
  int64_t width = 0;  ///< of the residual stream
  int64_t inner = 0;  ///< for each layer; 0: the network has no such inputs
  int64_t layers = 0;
  Norm norm = {};     ///< of `inner` elements
  RowPart rows = {};  ///< of the projection, those of a rank

  kernels::PackedMatrix projection = {};  ///< [layers * inner][width]
  RowTable table = {};                    ///< [vocab][layers * inner]

  bool exist() const { return inner > 0; }
  int64_t row_width() const { return layers * inner; }
  RowPart Part() const { return PartOf(rows, row_width()); }
};

/// Checks the numbers. Errors: kBadModel.
Status Validate(const LayerInputs& inputs);

/// Leaves a rank its rows; the table stands in every rank, as the embedding does.
void Split(const Rank& rank, LayerInputs& inputs);

/// Their tensors.
void Declare(LayerInputs& inputs, TensorList& tensors);

/// What they need of the workspace, beside its layer_inputs.
Needs Size(const LayerInputs& inputs, const StepLimits& limits);

/// Computes those of all rows into workspace.layer_inputs. Requires that they exist, and the
/// residual stream as it stands before the first layer.
void Run(const LayerInputs& inputs, const StepBatch& batch, const Context& context);

/// Counts what Run does for `rows` rows.
void AddWork(const LayerInputs& inputs, int64_t rows, StepWork& work);

}  // namespace skald::model
