/// What all mixers have in common: their place in a step. What a sequence keeps for one is a
/// kv::KvShape of every position, or a state.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kv/kv_layout.h"
#include "model/step_batch.h"
#include "model/workspace.h"

namespace skald::model {

/// The rows that go on from a layer. Behind the last one only those of which something is wanted
/// matter: for all others it is enough that what they leave is in pages and states.
enum class RowsKept : uint8_t { kAll, kOutputRows };

/// Where a layer's part is of what sequences keep.
struct LayerPlace {
  int64_t kv_layer = 0;      ///< of the KV store: layers before it that have K and V
  int64_t state_floats = 0;  ///< of a state slot: those of the layers before it
};

/// A mixer's place in a step.
struct MixerStep {
  const StepBatch& batch;
  LayerPlace place;
  RowsKept kept;
};

/// Moves the rows of which something is wanted to the front. They are ascending, so no row is
/// overwritten before it is read.
inline void MoveOutputRows(const StepBatch& batch, int64_t width, const Rows& rows) {
  for (int64_t to = 0; to < batch.output_count(); ++to) {
    const int64_t from = batch.output_row(to);
    if (from != to) std::copy_n(rows.row(from), width, rows.row(to));
  }
}

}  // namespace skald::model
