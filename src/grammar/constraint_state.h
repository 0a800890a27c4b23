/// ConstraintState: where one sequence stands in the text that its constraint allows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "grammar/constraint_data.h"
#include "grammar/recognizer.h"
#include "skald/constraint.h"
#include "skald/ids.h"
#include "skald/status.h"
#include "skald/stop_check.h"

namespace skald::grammar {

/// What masks may still cost: counted down by each, in steps that were not done before for others.
/// About 100 of them take a microsecond.
struct MaskBudget {
  int64_t steps = std::numeric_limits<int64_t>::max();
  StopCheck stop = {};  ///< asked every 20,000
};

/// A function of the constraint and the tokens so far, so that it may be dropped and made again
/// from them. What it holds is immutable and shared: a copy costs three pointers. Not for several
/// threads at once, not even what is const; its copies are.
///
/// Where a text is too ambiguous (kRowItemsMax, kRowSteps, kMaskSteps) an error says so, whose
/// message begins with "grammar_too_complex". A token whose bytes lead there counts as allowed;
/// Advance tells. So an answer ends there, but never leaves the grammar.
class ConstraintState {
 public:
  /// Before the first token.
  explicit ConstraintState(const Constraint& constraint);

  /// Whether `token` may follow. One without text may where the grammar names it.
  bool Allows(TokenId token) const;

  /// Makes the mask and keeps it: FillMask copies it then. Errors: kInvalidArgument,
  /// grammar_too_complex, whatever the budget; kCancelled beyond the budget, and then a call with a
  /// larger one comes to what this would have. A mask that was kept costs nothing.
  Status MakeMask(MaskBudget* budget) const;

  /// Writes every word: bit `id & 63` of word `id >> 6` says whether the token may follow. At least
  /// one may, unless the text must end. Bits behind the vocabulary are 0; it fits into `words`.
  /// Errors: as MakeMask; what the words hold then says nothing.
  Status FillMask(std::span<uint64_t> words, MaskBudget* budget) const;
  /// Whatever it costs.
  Status FillMask(std::span<uint64_t> words) const;

  /// Moves behind `token`. Errors: kInvalidArgument if it may not follow, or grammar_too_complex;
  /// the state is as before.
  Status Advance(TokenId token);

  /// Whether the text may end here.
  bool may_end() const { return row_->accepting; }
  /// Whether it may, and nothing may follow.
  bool must_end() const { return row_->accepting && row_->items.empty() && !row_->too_complex; }

  /// The bytes that are the only way on, at most `limit`: none where the text may end, where there
  /// is a choice, or where a control token may follow.
  std::string ForcedBytes(size_t limit) const;
  /// The control token that is the only way on, by the same rule; else kNoToken.
  TokenId ForcedToken() const;

 private:
  const Form& form() const { return data_->grammar.form(); }
  // The row behind `token`, null if it may not follow. Whether it is too complex the row says.
  RowPointer Behind(TokenId token) const;

  std::shared_ptr<const ConstraintData> data_;
  RowPointer row_;
  mutable std::shared_ptr<const KeptMask> last_;  // most masks inside of a string are the same
};

}  // namespace skald::grammar
