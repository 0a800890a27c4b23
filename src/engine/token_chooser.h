/// TokenChooser: which token comes next in a sequence, and whether the text ends with it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "engine/request_state.h"
#include "sampling/sampler.h"
#include "skald/engine.h"

namespace skald::engine {

struct ChosenToken {
  TokenId token = kNoToken;
  std::optional<double> logprob;
  std::span<const TokenLogprob> top;  ///< valid until the next choice
};

/// Both functions are pure in the sequence (the sampler keeps no state) and virtual for the
/// simulation, which plants faults.
class TokenChooser {
 public:
  /// `end_tokens` are the model's own, `context` the positions a sequence may have, `rule` how
  /// guesses are checked.
  TokenChooser(sampling::Sampler sampler, std::vector<TokenId> end_tokens, int64_t context,
               SpeculationRule rule = SpeculationRule::kExact);
  virtual ~TokenChooser() = default;

  /// The token after the last of `sequence`, from the logits of its row; under kRejection what
  /// becomes of the next token of its draft, if one is left. Errors: as Sampler::Sample.
  virtual Result<ChosenToken> Choose(const Sequence& sequence, std::span<const float> logits);

  /// A guess of the token after the last of `sequence`, and into `*chances`, unless null, what it
  /// was drawn from. Errors: as Sampler::Sample.
  Result<TokenId> Guess(const Sequence& sequence, std::span<const float> logits,
                        DraftChances* chances);

  /// The `count` likeliest tokens after the last of `sequence` for a beam search: penalties and
  /// biases applied to log probabilities. Valid until the next choice. Errors: as
  /// Sampler::Continuations.
  Result<std::span<const TokenLogprob>> Continuations(const Sequence& sequence,
                                                      std::span<const float> logits, int64_t count);

  /// Why the text ends with the token sampled last, if it does. Requires an output token.
  virtual std::optional<FinishReason> EndOf(const Sequence& sequence) const;

  std::span<const TokenId> end_tokens() const { return end_tokens_; }
  SpeculationRule rule() const { return rule_; }

 protected:
  /// As Choose, with random numbers of the caller's choice.
  Result<ChosenToken> ChooseWith(const Sequence& sequence, std::span<const float> logits,
                                 const RandomKey& key);
  /// The random numbers that belong to the next token of `sequence`.
  static RandomKey KeyOf(const Sequence& sequence);

 private:
  sampling::Sampler sampler_;
  std::vector<TokenId> end_tokens_;
  int64_t context_;
  SpeculationRule rule_;
};

}  // namespace skald::engine
