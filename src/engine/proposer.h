/// Proposer: guesses the next tokens of a sequence, which the model then checks all in one pass.
///
///     tokens    The cat sat on the   ...   The cat sat
///     draft                                             on  the  mat
///     rows                                        sat   on  the  mat      one step
///     sampled                                     on    the  rug          "rug" ends it
///     kept                                        on    the  rug          three tokens, one pass
///
/// Each row of a draft is sampled with the random numbers of its position, exactly as without a
/// draft, and the first token that differs from the draft ends it: what comes out does not depend
/// on what was proposed, only how soon it comes (docs/numerics.md). Under
/// SpeculationRule::kRejection each row keeps or replaces the guess instead (sampling/rejection.h).
///
/// A new kind of proposer is a subclass; the engine knows no other word of it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "engine/request_state.h"

namespace skald::engine {

/// What one sequence wants: its first `most` tokens behind the last, guessed.
struct DraftWish {
  const Sequence* sequence = nullptr;
  int64_t most = 0;                        ///< at least 1
  std::vector<TokenId>* tokens = nullptr;  ///< empty; takes the guess
  /// Empty; takes what the guess was drawn from, if it was. Null: nobody asks.
  DraftChances* chances = nullptr;
};

/// Called by the engine thread only.
class Proposer {
 public:
  virtual ~Proposer() = default;

  /// Appends up to `most` tokens of the vocabulary to each wish; none where it has no guess. Called
  /// once a step for all sequences together. Allocates nothing in steady state.
  ///
  /// One that computes follows each text as it grows, and beside that computes at most
  /// `catch_up_rows` rows of texts of which it lacks more: prompts, when a sequence begins. Returns
  /// how many these were.
  virtual int64_t Propose(std::span<const DraftWish> wishes, int64_t catch_up_rows) = 0;

  /// Drops what is kept for a sequence, which gives its pages up: it has ended, or may come back.
  virtual void Forget(const Sequence& sequence) = 0;
};

/// Asks one proposer after the other: the next one for those that have no guess yet.
class ChainProposer : public Proposer {
 public:
  /// None of them is null.
  explicit ChainProposer(std::vector<std::unique_ptr<Proposer>> links) : links_(std::move(links)) {}

  int64_t Propose(std::span<const DraftWish> wishes, int64_t catch_up_rows) override;
  void Forget(const Sequence& sequence) override;

 private:
  std::vector<std::unique_ptr<Proposer>> links_;
  std::vector<DraftWish> left_;  // of the step; a member, so that its memory is used again
};

}  // namespace skald::engine
