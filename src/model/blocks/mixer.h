/// What all mixers have in common: their place in a step, and what a sequence keeps for them.
#pragma once

#include <cstdint>

#include "model/step_batch.h"

namespace skald::model {

/// What a layer keeps of every position.
struct CacheShape {
  int64_t kv_heads = 0;
  int64_t key_dim = 0;
  int64_t value_dim = 0;
  /// True of a layer that carries a state instead.
  bool IsNone() const { return kv_heads == 0; }
  bool operator==(const CacheShape&) const = default;
};

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

}  // namespace skald::model
