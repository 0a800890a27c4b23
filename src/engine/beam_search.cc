#include "engine/beam_search.h"

#include <algorithm>
#include <tuple>

#include "base/exact_math.h"

namespace skald::engine {

void BeamSearch::Offer(int32_t beam, double sum, std::span<const TokenLogprob> continuations) {
  if (ranked_) offered_.clear();
  ranked_ = false;
  for (const TokenLogprob& each : continuations) {
    offered_.push_back({.beam = beam, .token = each.token, .sum = sum + each.logprob});
  }
}

std::span<const Extension> BeamSearch::Rank() {
  const auto key = [](const Extension& each) {
    return std::tuple(-each.sum, each.beam, each.token);
  };
  std::sort(offered_.begin(), offered_.end(),
            [&](const Extension& a, const Extension& b) { return key(a) < key(b); });
  ranked_ = true;
  return offered_;
}

// length ^ penalty by functions that are the same everywhere.
double BeamSearch::Score(double sum, int64_t length) const {
  if (params_.length_penalty == 0) return sum;
  return sum / ExactPow(static_cast<double>(length), params_.length_penalty);
}

void BeamSearch::Finish(std::span<const TokenId> tokens, double sum, FinishReason reason) {
  const double score = Score(sum, static_cast<int64_t>(tokens.size()));
  const auto place = std::find_if(finished_.begin(), finished_.end(),
                                  [score](const FinishedText& each) { return each.score < score; });
  finished_.insert(place,
                   {.tokens = {tokens.begin(), tokens.end()}, .score = score, .reason = reason});
  if (finished_.size() > static_cast<size_t>(params_.beams)) finished_.pop_back();
}

bool BeamSearch::IsOver(double best_sum, int64_t length) const {
  if (finished_.size() < static_cast<size_t>(params_.beams)) return false;
  if (params_.stop == BeamStop::kFirst) return true;
  // Log probabilities only sum up, so the best that a beam can become is what it is now, or with a
  // penalty above 0, which divides by more, that sum at the greatest length.
  const bool patient = params_.stop == BeamStop::kNever && params_.length_penalty > 0;
  return Score(best_sum, patient ? max_tokens_ : length) <= finished_.back().score;
}

}  // namespace skald::engine
