/// TokenChooser: which token comes next in a sequence, and whether the text ends with it.
///
/// Of a request with a constraint it first draws without a mask, and looks whether the tokens that
/// decide may follow (SampleInput::decisive): that is one look at some tokens instead of one at the
/// vocabulary. Where they may, the mask would have changed nothing; where not, it is made.
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
  double mu = 0;  ///< Sequence::mu behind it
  std::optional<double> logprob;
  std::span<const TokenLogprob> top;  ///< valid until the next choice
  TokenDraw draw = {};
  sampling::Odds odds = {};  ///< as far as TellOdds asks for them
};

/// When a mask is made. No token depends on it.
enum class MaskRule : uint8_t {
  kWhereItTells,
  kAlways,  ///< for tests
};

/// Choices are pure in the sequence (the sampler keeps no state); what is virtual is so for the
/// simulation, which plants faults. Sequences with a constraint must have been followed.
class TokenChooser {
 public:
  /// `end_tokens` are the model's own, `context` the positions a sequence may have, `rule` how
  /// guesses are checked.
  TokenChooser(sampling::Sampler sampler, std::vector<TokenId> end_tokens, int64_t context,
               SpeculationRule rule = SpeculationRule::kExact,
               MaskRule masks = MaskRule::kWhereItTells);
  virtual ~TokenChooser() = default;

  /// The token after the last of `sequence`, from the logits of its row; under kRejection what
  /// becomes of the next token of its draft, if one is left. Errors: as Sampler::Sample; and
  /// kCancelled, here and below, where a mask takes more than SetMaskSteps left.
  virtual Result<ChosenToken> Choose(const Sequence& sequence, std::span<const float> logits);

  /// How probable `token` is by the logits of the row before it, and the `top` likeliest in its
  /// place. Valid until the next choice. Errors: as Sampler::Score.
  Result<sampling::Sampler::Scored> Score(std::span<const float> logits, TokenId token,
                                          int64_t top) {
    return sampler_.Score(logits, token, top);
  }

  /// A guess of the token after the last of `sequence`, and into `*chances`, unless null, what it
  /// was drawn from. Errors: as Sampler::Sample.
  Result<TokenId> Guess(const Sequence& sequence, std::span<const float> logits,
                        DraftChances* chances);

  /// The `count` likeliest tokens after the last of `sequence` for a beam search: penalties and
  /// biases applied to log probabilities. Valid until the next choice. Errors: as
  /// Sampler::Continuations.
  Result<std::span<const TokenLogprob>> Continuations(const Sequence& sequence,
                                                      std::span<const float> logits, int64_t count);

  /// Takes the text of a request with a constraint behind the output, but for a token that ends it;
  /// makes it, if it was given up. Errors: the text is too ambiguous (grammar_too_complex).
  Status Follow(Sequence* sequence) const;

  /// So many leading tokens of `draft` may follow, each behind those before; what stands behind a
  /// token that ends the text may not. All of them without a constraint.
  size_t CountAllowed(const Sequence& sequence, std::span<const TokenId> draft) const;

  /// Why the text ends with the token sampled last, if it does. Requires an output token.
  virtual std::optional<FinishReason> EndOf(const Sequence& sequence) const;

  /// All masks from now on together may take so many steps (MaskBudget); at first any number.
  void SetMaskSteps(int64_t steps) { mask_budget_.steps = steps; }

  /// From now on it is told how probable chosen tokens were. No token depends on it.
  void TellOdds(sampling::OddsRule rule) { odds_ = rule; }

  std::span<const TokenId> end_tokens() const { return end_tokens_; }
  SpeculationRule rule() const { return rule_; }
  /// Masks made so far.
  int64_t mask_count() const { return mask_count_; }

 protected:
  /// As Choose, with random numbers of the caller's choice.
  Result<ChosenToken> ChooseWith(const Sequence& sequence, std::span<const float> logits,
                                 const RandomKey& key);
  /// The random numbers that belong to the next token of `sequence`.
  static RandomKey KeyOf(const Sequence& sequence);

 private:
  /// The tokens that end the text of `sequence` `ahead` tokens further on.
  TextEnds EndsOf(const Sequence& sequence, size_t ahead = 0) const;
  bool Allow(const Sequence& sequence, std::span<const TokenLogprob> tokens) const;
  Result<sampling::Sampled> Sample(const Sequence& sequence, sampling::SampleInput input);
  /// Whether `input` could be sampled without a mask; then `*sampled` is what came.
  Result<bool> SampleUnmasked(const Sequence& sequence, sampling::SampleInput input,
                              sampling::Sampled* sampled);
  Result<sampling::TokenMask> MaskOf(const Sequence& sequence);

  sampling::Sampler sampler_;
  std::vector<TokenId> end_tokens_;
  int64_t context_;
  SpeculationRule rule_;
  MaskRule masks_;
  std::optional<sampling::OddsRule> odds_;
  grammar::MaskBudget mask_budget_;
  int64_t mask_count_ = 0;
  std::vector<uint64_t> mask_;     // of the sequence being sampled
  std::vector<TokenId> decisive_;  // of the token being sampled
};

}  // namespace skald::engine
