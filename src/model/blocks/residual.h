/// The residual connection: workspace.residual += workspace.projected.
#pragma once

#include <cstdint>

#include "model/execution.h"
#include "model/workspace.h"

namespace skald::model {

/// Adds the projected rows to the residual stream (numerics 3.4), `width` floats a row.
inline void AddToResidual(int64_t row_count, int64_t width, const Workspace& workspace,
                          const Execution& execution) {
  const ScopedPhase phase(execution.profile, Phase::kResidual);
  execution.pool.Run(row_count, [&](int64_t row, int) {
    execution.kernels.add(workspace.projected.row(row), workspace.residual.row(row), width);
  });
}

}  // namespace skald::model
