/// Work: the arithmetic and the bytes of a forward pass, operation by operation: what a benchmark
/// compares the measured time with. Each block counts its own, in the file that does it (AddWork).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "kernels/pack/panel.h"
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

/// Extents of an operand, outermost first; those that it does not have are 0.
using Extents = std::array<int64_t, 3>;

/// An operation of a phase that has operands with names and shapes: output = input x other. Rows
/// are those asked for, not of padding.
struct WorkItem {
  Phase phase = Phase::kEmbed;
  /// Of the network at hand; of the matrices of experts the first. nullptr: `other` is no matrix.
  const kernels::PackedMatrix* matrix = nullptr;
  Extents input = {};
  Extents other = {};  ///< the matrix; keys and values; a state
  Extents output = {};
  Work work = {};
};

/// What a rank of a network that was split receives of the others.
struct Gathered {
  int64_t gathers = 0;  ///< one behind the other
  int64_t bytes = 0;
};

/// Work by phase.
class StepWork {
 public:
  Work& operator[](Phase phase) { return work_[static_cast<size_t>(phase)]; }
  const Work& operator[](Phase phase) const { return work_[static_cast<size_t>(phase)]; }

  /// Appends all items from now on to `*items`, which lives as long as they come.
  void Record(std::vector<WorkItem>* items) { items_ = items; }
  /// Adds the work of an item to its phase.
  void Add(const WorkItem& item) {
    (*this)[item.phase].Add(item.work);
    if (items_ != nullptr) items_->push_back(item);
  }

  /// Counts `gathers` gathers of `bytes` bytes together.
  void AddGather(int64_t gathers, int64_t bytes) {
    gathered_.gathers += gathers;
    gathered_.bytes += bytes;
  }
  const Gathered& gathered() const { return gathered_; }

 private:
  std::array<Work, kPhaseCount> work_ = {};
  Gathered gathered_;
  std::vector<WorkItem>* items_ = nullptr;
};

/// A step of `rows` rows, `sequences` sequences of equally many rows each, that start at
/// `first_position`, of which `logit_rows` rows have logits, and `hidden_rows` others hidden states
/// that are wanted.
struct StepShape {
  int64_t rows = 0;
  int64_t sequences = 1;
  int64_t first_position = 0;
  int64_t logit_rows = 0;
  int64_t hidden_rows = 0;

  /// Rows that go on behind the last mixer.
  int64_t output_rows() const { return logit_rows + hidden_rows; }
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
