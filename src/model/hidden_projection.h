/// HiddenProjection: what some embedding models make of a hidden state behind the final norm, two
/// matrices without anything between them (EmbeddingGemma; Google 2025).
///
///     second * (first * h)
///
/// It is linear, so that of a mean is the mean of those of all rows.
#pragma once

#include <cstdint>

#include "kernels/pack/panel.h"
#include "model/blocks/linear.h"
#include "model/tensors.h"
#include "skald/status.h"

namespace skald::model {

/// Sizes are in elements.
struct HiddenProjection {
  int64_t width = 0;   ///< of the hidden state
  int64_t inner = 0;   ///< of what the first gives; 0: there is no projection
  int64_t output = 0;  ///< of what the second gives

  kernels::PackedMatrix first = {};   ///< [inner][width]
  kernels::PackedMatrix second = {};  ///< [output][inner]

  bool exists() const { return inner > 0; }
};

/// Checks the numbers. Errors: kBadModel.
Status Validate(const HiddenProjection& projection);

/// Its tensors.
void Declare(HiddenProjection& projection, TensorList& tensors);

/// What it needs of the workspace.
Needs Size(const HiddenProjection& projection, const StepLimits& limits);

/// Replaces the first `rows` rows of workspace.normed. Requires that it exists.
void Run(const HiddenProjection& projection, int64_t rows, const Context& context);

}  // namespace skald::model
