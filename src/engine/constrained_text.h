/// ConstrainedText: where a sequence stands in the text that its request's constraint allows, and
/// which tokens may follow there.
///
/// The engine knows no text: it asks the constraint about tokens, and adds those that end a text.
/// These are allowed exactly where the text may end, so what a model ends itself is whole:
///
///     the text may end     end tokens and stop tokens may follow, beside what goes on
///     it must end          the sequence ends at once: no step is spent on an end token
///     neither              no token that ends it may follow
///
/// min_tokens and ignore_eos hold as long as the constraint leaves another way; else it wins.
#pragma once

#include <cstdint>
#include <span>

#include "grammar/constraint_state.h"
#include "skald/constraint.h"
#include "skald/ids.h"
#include "skald/status.h"

namespace skald::engine {

/// A function of the constraint and the output tokens, so it may be dropped and made again. A copy
/// costs three pointers. It takes memory as the text grows; nobody has that without a constraint.
class ConstrainedText {
 public:
  explicit ConstrainedText(const Constraint& constraint) : state_(constraint) {}

  /// Moves behind `output`, which begins with the tokens followed so far. Errors: as
  /// ConstraintState::Advance.
  Status Follow(std::span<const TokenId> output);

  const grammar::ConstraintState& state() const { return state_; }
  /// A copy of the state that has made its mask.
  void Take(const grammar::ConstraintState& state) { state_ = state; }

 private:
  grammar::ConstraintState state_;
  size_t followed_ = 0;
};

/// The tokens that end a text.
struct TextEnds {
  std::span<const TokenId> of_model;    ///< none if they are ignored
  std::span<const TokenId> of_request;  ///< StopRules::stop_tokens
  bool banned = false;                  ///< StopRules::min_tokens are not out

  bool Contain(TokenId token) const;
};

/// Whether `token` may follow. False at times where FillMask says yes: where nothing else may.
bool Allows(const ConstrainedText& text, const TextEnds& ends, TokenId token);

/// Writes the mask of the tokens that may follow, at least one, into `words`
/// (sampling/logit_row.h), which have room for the vocabulary of constraint and ends. Requires a
/// text that need not end. Errors: as ConstraintState::FillMask.
Status FillMask(const ConstrainedText& text, const TextEnds& ends, std::span<uint64_t> words,
                grammar::MaskBudget* budget);

}  // namespace skald::engine
