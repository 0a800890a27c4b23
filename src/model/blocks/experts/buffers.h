/// Buffers: what a mixture writes between its matrices. Internal to experts/.
#pragma once

#include <cstdint>

#include "model/blocks/experts/experts.h"
#include "model/blocks/experts/groups.h"
#include "model/workspace.h"

namespace skald::model {

/// Uses of experts by rows stand in the order of rows, and within a row of ascending experts.
struct ExpertBuffers {
  Rows routed;       ///< [rows][width]: what the router reads, if it has a norm of its own
  Rows scores;       ///< [rows][count]
  Rows choice;       ///< [rows][count]: scratch of the choice
  int32_t* chosen;   ///< [rows][used]: expert, ascending within a row
  float* weights;    ///< [rows][used]
  int32_t* slots;    ///< [rows][used]: the slot of a use
  int32_t* sources;  ///< [slots]: the use of a slot
  Group* groups;     ///< [count]: those with slots, ascending
  Rows latent;       ///< [rows][latent]: what the experts read, then the sum of what they give
  Rows rows;         ///< [slots][expert_width]: input of the experts, then their output
  Rows gate;         ///< [slots][hidden]; then what goes into down
  Rows up;           ///< [slots][hidden]; without gates empty
  // Of the shared expert, by row; without one empty.
  Rows shared_gate;
  Rows shared_up;
  Rows shared_out;
  Rows selector;  ///< [rows][1]
};

/// Lays them out for the largest step.
ExpertBuffers LayoutExperts(const Experts& experts, const StepLimits& limits, Carver& carver);

/// Where the hidden rows of the shared expert are prepared, in rows: behind those of `uses` uses,
/// which have another number of columns.
int64_t SharedPlace(const Experts& experts, int64_t uses);

}  // namespace skald::model
