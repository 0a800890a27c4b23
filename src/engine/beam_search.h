/// BeamSearch: the choices of a beam search (BeamParams): which continuations go on, which texts
/// are finished, and whether a better one can still come. It knows neither pages nor time.
///
///     beams            offered                       best first          go on     finished
///     "the"  -1.0      "the cat" -1.5, "the ." -3    "the cat" -1.5      1         "a ." -2.5
///     "a"    -2.0      "a dog" -2.2, "a ." -2.5      "a dog"   -2.2      2
///                                                    "a ."     -2.5
///
/// It is the search of transformers (GenerationMixin._beam_search since 4.50): the score of a text
/// is the sum of its log probabilities over length ^ length_penalty; a text that ends counts as
/// finished only if it is among the first `beams` of all that were offered. Of equal sums the one
/// of the better beam goes first, then the lower token; of equal scores the one that was finished
/// earlier: the answer depends on nothing else.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "skald/request.h"

namespace skald::engine {

/// A beam and a token behind it.
struct Extension {
  int32_t beam = 0;  ///< which, best first
  TokenId token = kNoToken;
  double sum = 0;  ///< of the log probabilities of all output tokens
};

/// A finished text.
struct FinishedText {
  std::vector<TokenId> tokens;  ///< of the output
  double score = 0;
  FinishReason reason = FinishReason::kStop;
};

class BeamSearch {
 public:
  /// No text has more than `max_tokens` output tokens.
  BeamSearch(const BeamParams& params, int64_t max_tokens)
      : params_(params), max_tokens_(max_tokens) {}

  /// Offers the likeliest continuations of a beam whose log probabilities sum to `sum`.
  void Offer(int32_t beam, double sum, std::span<const TokenLogprob> continuations);

  /// What was offered since the last Rank is not.
  void TakeOffersBack() { offered_.clear(); }

  /// All that was offered since the last call, best first. Valid until the next Offer.
  std::span<const Extension> Rank();

  /// Keeps a finished text of this sum if it is among the best so far.
  void Finish(std::span<const TokenId> tokens, double sum, FinishReason reason);

  /// True if the search ends where the best beam has `length` output tokens and this sum.
  bool IsOver(double best_sum, int64_t length) const;

  /// The best first, at most as many as there are beams.
  const std::vector<FinishedText>& finished() const { return finished_; }

 private:
  double Score(double sum, int64_t length) const;

  BeamParams params_;
  int64_t max_tokens_;
  std::vector<Extension> offered_;
  bool ranked_ = false;
  std::vector<FinishedText> finished_;
};

}  // namespace skald::engine
