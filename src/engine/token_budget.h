/// TokenBudget: how many prompt rows a step may have beside its decode rows, so that running
/// streams keep their time between tokens.
///
/// Takes a step's time as decode time + prefill rows x time of a row. The decode time is measured
/// with steps that have no prompt rows, which it asks for now and then: told apart from mixed steps
/// alone, a prompt whose rows become dearer with its length would pass for slower decode, the
/// target would follow, and streams would slow down without bound. The result shapes steps; answers
/// do not depend on it (docs/numerics.md).
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
  /// Prefill always gets on. Behind a long context the rows of a tile of 16 cost six times a decode
  /// step (docs/log.md, 2026-11-22), and no less a row than four: the bytes of the weights, which
  /// few rows share badly, are read for decode anyway.
  static constexpr int64_t kLeastRows = 4;
  /// Steps with prompt rows until decode alone is measured again: 3 % of the steps.
  static constexpr int64_t kStepsBetweenMeasures = 32;

  /// Prompt rows for a step with so many decode rows; all there are if it has none; none if decode
  /// must be measured, which never happens twice in a row with the same decode rows.
  int64_t PrefillRows(int64_t decode_rows) const;

  /// A step took `seconds`.
  void Observe(int64_t decode_rows, int64_t prefill_rows, double seconds);

 private:
  bool MustMeasure(int64_t decode_rows) const;

  int64_t max_rows_;
  double target_seconds_;
  double decode_seconds_ = 0;  // of a step with measured_rows_ decode rows alone
  int64_t measured_rows_ = 0;  // 0 = decode was never measured
  int64_t steps_since_ = 0;    // with prompt rows, since then
  double row_seconds_ = 0;     // of one prefill row; 0 = not known yet
};

}  // namespace skald::engine
