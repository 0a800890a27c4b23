/// Work: the arithmetic and the bytes of a forward pass, operation by operation: what a benchmark
/// compares the measured time with. Each block counts its own, in the file that does it (AddWork).
#pragma once

#include <array>
#include <cstdint>

#include "kv/kv_layout.h"
#include "model/profile.h"

namespace skald::model {

/// Multiply-accumulates are those of the rows asked for, not of padding; those of attention count
/// as float, four with a quantized key as one. Bytes: matrices as packed, whole; K and V of the
/// visible positions once for each sequence; the other operands and results once. Operations that
/// only move or scale elements have bytes but no multiply-accumulates.
struct Work {
  double int8_macs = 0;      ///< of matrices stored as integers
  double bfloat16_macs = 0;  ///< of matrices stored as bfloat16
  double float_macs = 0;     ///< of matrices stored as other floats, and of attention
  double bytes = 0;

  bool IsNone() const {
    return int8_macs == 0 && bfloat16_macs == 0 && float_macs == 0 && bytes == 0;
  }
  void Add(const Work& other) {
    int8_macs += other.int8_macs;
    bfloat16_macs += other.bfloat16_macs;
    float_macs += other.float_macs;
    bytes += other.bytes;
  }
};

/// Work by phase.
class StepWork {
 public:
  Work& operator[](Phase phase) { return work_[static_cast<size_t>(phase)]; }
  const Work& operator[](Phase phase) const { return work_[static_cast<size_t>(phase)]; }

 private:
  std::array<Work, kPhaseCount> work_ = {};
};

/// A step of `rows` rows, `sequences` sequences of equally many rows each, that start at
/// `first_position`, of which `logit_rows` rows have logits.
struct StepShape {
  int64_t rows = 0;
  int64_t sequences = 1;
  int64_t first_position = 0;
  int64_t logit_rows = 0;
};

/// What a mixer needs to count: the step, how many of its rows go on from the layer, and how K and
/// V lie in memory.
struct MixerShape {
  const StepShape& step;
  int64_t rows_kept;
  const kv::KvLayout& layout;
};

/// What bounds a whole step: the arithmetic of its matrices, and the bytes that come from memory,
/// which are weights, K and V, and states. (Activations stay in the caches, and attention over a
/// few positions is small beside the matrices.)
Work Essential(const StepWork& work);

}  // namespace skald::model
