/// TokenBudget: how many prompt rows a step may have beside its decode rows, so that running
/// streams keep their time between tokens.
///
/// Fits step time = decode time + prefill rows x time of a row to the steps it is shown. The result
/// shapes steps; answers do not depend on it (docs/numerics.md).
#pragma once

#include <cstdint>

namespace skald::engine {

class TokenBudget {
 public:
  /// `target_seconds` of a step with decode rows; 0 = kStretch times what it takes without prefill.
  TokenBudget(int64_t max_rows, double target_seconds);

  /// A stream slows down to half its speed while prompts arrive. Below 3, the bound that p99 of
  /// the time between tokens keeps, with room for noise.
  static constexpr double kStretch = 2;
  /// One tile of rows (kernels/quantize/tile_layout.h): fewer cost as much. Prefill always gets on.
  static constexpr int64_t kLeastRows = 16;

  /// Prompt rows for a step with so many decode rows; all there are if it has none.
  int64_t PrefillRows(int64_t decode_rows) const;

  /// A step took `seconds`.
  void Observe(int64_t decode_rows, int64_t prefill_rows, double seconds);

 private:
  int64_t max_rows_;
  double target_seconds_;
  double decode_seconds_ = 0;  // of the decode rows of a step, all together; 0 = not known yet
  double row_seconds_ = 0;     // of one prefill row; 0 = not known yet
};

}  // namespace skald::engine
