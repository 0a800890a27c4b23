/// StepBatch: what one forward pass computes. The one struct between the plane that decides and the
/// plane that computes.
///
/// A step has R rows (tokens) of S sequences; the rows of a sequence are consecutive in the step
/// and in its positions.
///
/// | array       | shape | index      | value                                                 |
/// |-------------|-------|------------|-------------------------------------------------------|
/// | tokens      | R     | row        | token id, 0 <= id < vocab                             |
/// | sequences   | S     | sequence   | row_count rows from the running sum of row_counts;    |
/// |             |       |            | first position; pages; state slot                     |
/// | logit_rows  | L     | logit row  | row whose logits are wanted; ascending                |
/// | hidden_rows | H     | hidden row | row whose hidden state behind the final norm is       |
/// |             |       |            | wanted; ascending, behind the last of logit_rows      |
#pragma once

#include <cstdint>
#include <span>

#include "kv/page_id.h"
#include "kv/state_id.h"
#include "skald/ids.h"

namespace skald::model {

/// The rows of one sequence in a step.
struct SequenceRows {
  int64_t row_count = 0;  ///< > 0
  /// Position of its first row; K and V of all earlier positions are in the pages.
  int64_t first_position = 0;
  kv::PageLists pages;  ///< they cover all its rows
  /// Where a network with recurrent layers keeps what they carry: behind the row before the first,
  /// and afterwards behind the last. No other sequence of the step has it. At position 0 the step
  /// begins anew, whatever stands there.
  kv::StateId state = kv::kNoState;
  /// Position at which the second text of a pair begins, for networks with kinds of tokens; 0: it
  /// is one text.
  int64_t second_text = 0;
};

struct StepBatch {
  std::span<const TokenId> tokens;
  std::span<const SequenceRows> sequences;
  std::span<const int32_t> logit_rows;
  std::span<const int32_t> hidden_rows = {};

  int64_t row_count() const { return static_cast<int64_t>(tokens.size()); }
  /// Rows of which something is wanted: the logit rows, then the hidden rows, ascending.
  int64_t output_count() const {
    return static_cast<int64_t>(logit_rows.size() + hidden_rows.size());
  }
  int32_t output_row(int64_t index) const {
    const auto i = static_cast<size_t>(index);
    return i < logit_rows.size() ? logit_rows[i] : hidden_rows[i - logit_rows.size()];
  }
};

}  // namespace skald::model
