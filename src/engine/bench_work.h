/// The arithmetic and the bytes of a forward pass, operation by operation: what a benchmark
/// compares the measured time with.
#pragma once

#include <array>
#include <cstdint>

#include "kv/kv_layout.h"
#include "model/profile.h"
#include "model/transformer.h"
#include "skald/bench.h"

namespace skald::engine {

/// A step of `rows` rows, `sequences` sequences of equally many rows each, that start at
/// `first_position`, of which `logit_rows` rows have logits.
struct StepShape {
  int64_t rows = 0;
  int64_t sequences = 1;
  int64_t first_position = 0;
  int64_t logit_rows = 0;
};

/// Work by phase.
using StepWork = std::array<BenchWork, model::kPhaseCount>;

/// Adds the work of one step to `work`. Multiply-accumulates are those of the rows asked for, not
/// of padding; those of attention count as float. Bytes: matrices as packed, whole; K and V of the
/// visible positions once for each sequence; the other operands and results once. Operations that
/// only move or scale elements have bytes but no multiply-accumulates.
void AddStep(const model::Transformer& network, const kv::KvLayout& layout, const StepShape& shape,
             StepWork& work);

/// What bounds a whole step: the arithmetic of its matrices, and the bytes that come from memory,
/// which are weights, K and V. (Activations stay in the caches, and attention over a few positions
/// is small beside the matrices.)
BenchWork Essential(const StepWork& work);

}  // namespace skald::engine
