/// What attention blocks have in common, whatever they keep of a position: rows of a step by their
/// sequence, queries that grow, and how many positions rows see.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/attention/attention.h"
#include "model/execution.h"
#include "model/step_batch.h"
#include "skald/status.h"

namespace skald::model {

/// What queries are multiplied by behind RoPE: 1 + scale * ln(1 + floor((position + shift) /
/// length)).
struct QueryTemperature {
  double scale = 0;  ///< 0: nothing
  int64_t length = 0;
  int64_t shift = 0;
};

/// Checks the numbers. Errors: kBadModel.
Status Validate(const QueryTemperature& temperature);

/// Multiplies `count` elements of a query at `position` (numerics 3.7).
void WarmQueries(const QueryTemperature& temperature, int64_t position, float* query,
                 int64_t count);

/// The scale that most networks have: 1 / sqrt(key_dim), rounded to float.
float DefaultAttentionScale(int64_t key_dim);

/// The slopes of ALiBi for each of `heads` heads, a power of two or not (Press et al. 2022): those
/// of the nearest power of two below, then every other one of the next (numerics 3.7). `steepest`
/// is the exponent that the last of a power of two has.
std::vector<float> AlibiSlopes(int64_t heads, double steepest);

/// The sequence and position of a row of a step.
struct StepRow {
  const SequenceRows* sequence;
  int64_t position;
};

/// O(sequences): steps have few, compared with the work per row.
StepRow FindRow(const StepBatch& batch, int64_t row);

/// Attention over pages by the kernel of `execution`; `first_head` is that of args among the query
/// heads of the block, those of all ranks. Where there are pinned positions, rows may begin before
/// those that see them: these see all before them. Where somebody wants the weights, they get them
/// behind it: the queries and K still stand where the kernel read them, and its scratch is free.
void AttendPages(int64_t first_head, const kernels::AttentionArgs& args,
                 const Execution& execution);

/// Whom a row may see at all.
enum class Mask : uint8_t {
  kCausal,  ///< itself and the rows before it
  kNone,    ///< those behind it too: all rows of a text are in one step
};

/// What rows see: `window` positions, their own included, and without a mask as many ahead, none
/// before their own multiple of `chunk`; 0 = all. Of an endless text also the first `pinned`.
struct Sight {
  int64_t window = 0;
  int64_t chunk = 0;
  Mask mask = Mask::kCausal;
  int64_t pinned = 0;
};

/// Of an endless text: whether the row at `position` sees the pinned positions by a query of their
/// own, because it does not see all before it.
constexpr bool SeesPinned(const Sight& sight, int64_t position) {
  return sight.pinned > 0 && position >= sight.pinned + sight.window;
}

/// Positions that consecutive rows of one sequence see, added up, and those that at least one row
/// sees. Without a mask the last row is the last of its text.
struct Visible {
  double by_rows = 0;
  double by_sequence = 0;
};
Visible VisibleTo(const Sight& sight, int64_t first_position, int64_t rows);

}  // namespace skald::model
