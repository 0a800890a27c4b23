/// TokenBudget: how many prompt rows a step may have beside its decode rows, so that running
/// streams keep their time between tokens.
///
/// Takes a step's time as decode time + prefill rows x time of a row. The decode time is measured
/// with steps that have no prompt rows, which it asks for now and then: told apart from mixed steps
/// alone, a prompt whose rows become dearer with its length would pass for slower decode, the
/// target would follow, and streams would slow down without bound. The result shapes steps; answers
/// do not depend on it (docs/numerics.md).
///
/// What was measured is kept for each number of decode rows, to a quarter: readers of different
/// speed make the number change in every step, and a budget that knew only the last one measured
/// again and again, and no prompt got on.
///
/// A draft model computes prompts too, when their streams begin: it has the time that a prompt has,
/// half of it beside one. What its rows take is measured apart.
#pragma once

#include <array>
#include <cstddef>
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
  /// step (docs/log-first-days.md), and no less a row than four: the bytes of the weights, which
  /// few rows share badly, are read for decode anyway.
  static constexpr int64_t kLeastRows = 4;
  /// Steps with prompt rows until decode alone is measured again: 3 % of the steps.
  static constexpr int64_t kStepsBetweenMeasures = 32;

  /// Prompt rows for a step with so many decode rows; all there are if it has none; none if decode
  /// must be measured, which never happens twice in a row, whatever the decode rows.
  int64_t PrefillRows(int64_t decode_rows) const;

  /// The rows of a step.
  struct Rows {
    int64_t decode = 0;
    int64_t prefill = 0;
    int64_t draft = 0;  ///< of prompts, computed by a draft model
  };

  /// Rows of prompts for a draft model, in a step with these others; none if decode must be
  /// measured.
  int64_t DraftRows(const Rows& others) const;

  /// What one row of a prompt takes; 0: not known yet.
  double row_seconds() const { return row_seconds_; }

  /// What a step of these rows takes, as far as those before tell; infinite where none tells.
  double ExpectedSeconds(const Rows& rows) const;

  /// A step took `seconds`.
  void Observe(const Rows& rows, double seconds);

 private:
  // What a step of about so many decode rows takes without prompt rows.
  struct Decode {
    double seconds = 0;       // 0 = never measured
    int64_t steps_since = 0;  // with rows of prompts
  };
  // Four for each power of two of a count of rows.
  static constexpr size_t kClasses = 4 * 64;

  static size_t ClassOf(int64_t decode_rows);
  double DecodeSeconds(int64_t decode_rows) const;
  bool MustMeasure(int64_t decode_rows) const;
  int64_t RowsThatFit(int64_t decode_rows, double share, double row_seconds) const;

  int64_t max_rows_;
  double target_seconds_;
  std::array<Decode, kClasses> decode_ = {};
  bool has_measured_ = false;     // the last step had no rows of prompts
  double row_seconds_ = 0;        // of one prefill row; 0 = not known yet
  double draft_row_seconds_ = 0;  // of one row of a draft model; 0 = not known yet
};

}  // namespace skald::engine
