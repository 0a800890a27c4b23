/// ForcedProposer: guesses what a constraint leaves no choice about. In `{"name": "..."}` most of
/// the text is known before the model has said a word.
///
/// Bytes are forced, not tokens, but for control tokens, which have one spelling. The model may
/// spell bytes in another way, and where those behind the forced ones differ (`order`, `orderId`)
/// it may have to. So they are a guess, checked as any other, and no spelling is ever forced on the
/// model. The guess takes the longest token each time, which is how most tokenizers spell.
#pragma once

#include <cstdint>
#include <span>

#include "engine/proposer.h"

namespace skald::engine {

class ForcedProposer : public Proposer {
 public:
  /// Takes memory, but only for sequences with a constraint.
  int64_t Propose(std::span<const DraftWish> wishes, int64_t) override;
  void Forget(const Sequence&) override {}
};

}  // namespace skald::engine
