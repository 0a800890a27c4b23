/// What blocks with a state have in common: rows of a sequence pass one after the other, so the
/// unit of work is a sequence and a part of its channels.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/check.h"
#include "base/checked_math.h"
#include "model/blocks/mixer.h"
#include "model/context.h"

namespace skald::model {

/// Floats of the state of a layer: sixteen times the largest published. Beyond it a file is broken
/// or hostile.
inline constexpr int64_t kMaxStateFloats = int64_t{1} << 24;

/// The rows of one sequence in a step, with the part of its state that a layer has.
struct SequenceStep {
  int64_t first_row = 0;  ///< of the step
  int64_t rows = 0;
  bool begins = false;     ///< position 0: the state is zero, whatever stands there
  float* state = nullptr;  ///< StateFloats of the mixer
};

/// The sequence number `index` of a step. O(sequences).
inline SequenceStep SequenceAt(const MixerStep& step, int64_t index, const Context& context) {
  const auto& sequences = step.batch.sequences;
  CHECK(context.states != nullptr && index < static_cast<int64_t>(sequences.size()));
  SequenceStep found;
  for (int64_t i = 0; i < index; ++i) {
    found.first_row += sequences[static_cast<size_t>(i)].row_count;
  }
  const SequenceRows& sequence = sequences[static_cast<size_t>(index)];
  found.rows = sequence.row_count;
  found.begins = sequence.first_position == 0;
  found.state = context.states->Slot(sequence.state) + step.place.state_floats;
  return found;
}

/// Moves the rows of which something is wanted to the front, if no others go on. Returns how many
/// go on.
inline int64_t KeepRows(const MixerStep& step, int64_t width, const Rows& rows) {
  if (step.kept == RowsKept::kAll) return step.batch.row_count();
  MoveOutputRows(step.batch, width, rows);
  return step.batch.output_count();
}

/// Channels of a unit of a convolution: four cache lines of every row.
inline constexpr int64_t kUnitChannels = 64;

/// Calls convolve(sequence, first channel, channels) for all sequences of the step and all ranges
/// of `channels` channels, on all threads. One barrier.
template <typename Convolve>
void ForEachChannelRange(const MixerStep& step, int64_t channels, const Context& context,
                         Convolve convolve) {
  const int64_t ranges = DivCeil(channels, kUnitChannels);
  const auto sequences = static_cast<int64_t>(step.batch.sequences.size());
  context.execution.pool.Run(sequences * ranges, [&](int64_t unit, int) {
    const int64_t first = unit % ranges * kUnitChannels;
    convolve(SequenceAt(step, unit / ranges, context), first,
             std::min(kUnitChannels, channels - first));
  });
}

}  // namespace skald::model
