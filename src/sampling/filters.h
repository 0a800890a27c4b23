/// The stages of sampling, each a small function: adjust logits, collect candidates, filter, draw.
///
/// Order (SamplingOrder::kStandard): penalties, DRY (dry.h), logit bias, temperature
/// (dynamic_temperature.h), top-n-sigma, top-k, typical, top-p, min-p, XTC, draw; under Mirostat
/// its border (mirostat.h) in place of all filters. A filter takes a span of candidates and returns
/// the front part that survives.
///
/// Two definitions make every result independent of how it is computed.
///
/// The total order: a candidate precedes another if its logit is larger or, with equal logits, its
/// token id is smaller. Every "most likely first" and every tie means this order. Spans themselves
/// are sets: no function cares in which order candidates come in, or promises one going out.
///
/// The mass: a candidate's share of probability is the integer
///     round(2^42 * exp((logit - largest logit) / temperature)),
/// 0 to 2^42 (kernels/mass), and a probability is a mass over the sum of the masses of the span.
/// Integer sums are exact, so they are the same in every order. A token less than 2^-43 times as
/// likely as the best has mass 0 and is never drawn; all of them together have less than 1.5e-8 of
/// the probability in a vocabulary of 128,256.
///
/// Temperature scales the differences inside the mass (by the double nearest to 1 / temperature),
/// never the logits: it cannot reorder or merge them. A logit of +infinity takes all the mass
/// (shared, if there are several).
#pragma once

#include <cstdint>
#include <span>

#include "base/rng.h"
#include "kernels/kernels.h"
#include "kernels/mass/mass.h"
#include "sampling/logit_row.h"
#include "skald/ids.h"
#include "skald/sampling_params.h"

namespace skald::sampling {

/// A token that may be chosen. Its logit is not NaN and not -infinity.
struct Candidate {
  float logit = 0;
  TokenId token = kNoToken;
  uint64_t mass = 0;  ///< valid after Weigh for the span it was called with
};

using kernels::kFullMass;  // mass of the most likely candidate

/// How candidates are weighed and drawn. No variant of a kernel changes any bit.
struct Weighing {
  double temperature = 1;  ///< above 0
  kernels::MassFn masses = kernels::TableFor(kernels::ScalarIsa()).mass;
  kernels::UniformFn uniforms = kernels::TableFor(kernels::ScalarIsa()).uniform;
};

/// Most candidates whose masses sum to less than 2^63.
inline constexpr int64_t kMaxCandidates = int64_t{1} << 20;

/// True if `a` comes before `b` in the total order.
inline bool Precedes(const Candidate& a, const Candidate& b) {
  return a.logit > b.logit || (a.logit == b.logit && a.token < b.token);
}

/// Tokens seen so far and the scratch to count them in.
struct PenaltyHistory {
  std::span<const TokenId> prompt;  ///< oldest first
  std::span<const TokenId> output;  ///< oldest first, after the prompt
  std::span<int32_t> counts;        ///< [vocab_size], all 0; all 0 again afterwards
};

/// Applies the penalties to `logits` [vocab_size] in place: repetition, then frequency, then
/// presence, computed in double and rounded to float once. The window and which part of it each
/// penalty sees: skald/sampling_params.h. Requires every token < vocab_size.
void ApplyPenalties(const Penalties& penalties, const PenaltyHistory& history,
                    std::span<float> logits);

/// True if `penalties` change no logit whatever the history.
bool AreOff(const Penalties& penalties);

/// Adds each bias to its logit in place. A bias of -infinity makes the logit -infinity, also if it
/// was +infinity. Requires tokens < vocab_size.
void ApplyLogitBias(std::span<const LogitBias> biases, std::span<float> logits);

/// Fills the front of `scratch` [vocab_size] with the first `k` tokens of the row in the total
/// order and returns it; k <= 0 means all. Leaves out tokens with a logit of -infinity, and those
/// that the mask forbids. `block_max` is from ScanLogits of the same row: at least k logits reach
/// its k-th largest entry, so blocks below that are skipped.
/// Cost: O(blocks + k * kLogitBlock) unless logits are tied or k is large, then O(vocab_size).
std::span<Candidate> CollectTopK(const LogitRow& row, int64_t k, std::span<const float> block_max,
                                 std::span<Candidate> scratch);

/// KeepTopP(CollectTopK(scanned.row, 0), p), faster: most of the tokens that cannot belong to it
/// are not collected. `p` < 1.
/// Cost: the mass of every token, then O(tokens kept) and little more unless logits are tied.
std::span<Candidate> CollectTopP(const ScannedRow& scanned, double p, const Weighing& weighing,
                                 std::span<Candidate> scratch);

/// Computes the mass of every candidate and returns their sum, at least kFullMass. Requires 1 to
/// kMaxCandidates candidates.
uint64_t Weigh(std::span<Candidate> candidates, const Weighing& weighing);

/// The largest logit among candidates; -infinity of none.
float MaxLogit(std::span<const Candidate> candidates);

/// The least mass that is at least the fraction `p` of `total`: 1 to total.
uint64_t MassOfFraction(double p, uint64_t total);

/// The mean of (logit - largest) / temperature over a distribution: of candidates that were weighed
/// so, with `total` mass. A sum of integers, the same in any order.
double MeanExponent(std::span<const Candidate> candidates, uint64_t total, double temperature);

/// The softmax normalizer of a row: probabilities are exp(logit - max) * kFullMass / mass.
struct RowMass {
  float max = 0;      ///< the largest logit, above -infinity
  uint64_t mass = 0;  ///< sum of the masses of all tokens at temperature 1
};

/// The normalizer of a row with largest logit `max`. Cost: one exponential per token.
RowMass MassOfRow(std::span<const float> logits, float max, kernels::MassFn masses);

/// The natural logarithm of the probability of a token with `logit` in that row; -infinity if the
/// probability is 0.
double Logprob(float logit, const RowMass& row);

/// Top-k (k >= 1): the first k candidates in the total order. CollectTopK does it faster for a row.
std::span<Candidate> KeepTopK(std::span<Candidate> candidates, int64_t k);

/// Typical (Meister et al. 2022): orders candidates by how far their information -log p is from the
/// entropy of the distribution, ties by the total order, and keeps the fewest whose probabilities
/// sum to at least `p`. Both quantities contain the logarithm of the normalizer, so the distance
/// is |x - mean of x| with x = (logit - largest) / temperature: no logarithm is taken. `p` >= 1
/// keeps all. Masses are recomputed.
std::span<Candidate> KeepTypical(std::span<Candidate> candidates, double p,
                                 const Weighing& weighing);

/// Top-p (Holtzman et al. 2019): the fewest candidates, in the total order, whose probabilities sum
/// to at least `p`; at least one. `p` >= 1 keeps all. Masses are recomputed.
std::span<Candidate> KeepTopP(std::span<Candidate> candidates, double p, const Weighing& weighing);

/// Min-p: the candidates at least `p` times as likely as the most likely one, decided on logits:
/// (logit - largest) / temperature >= log p. `p` <= 0 keeps all.
std::span<Candidate> KeepMinP(std::span<Candidate> candidates, double p, double temperature);

/// Top-n-sigma: the candidates whose logit is at least largest - n * sigma, with sigma the standard
/// deviation of all finite logits of the row that may be chosen (numerics 3.9). `n` <= 0 keeps all.
/// Cost: two passes over the row.
std::span<Candidate> KeepTopNSigma(std::span<Candidate> candidates, double n,
                                   const ScannedRow& scanned);

/// Added to RandomKey::sequence for the number that decides whether XTC takes place.
inline constexpr uint32_t kXtcStream = uint32_t{1} << 29;

/// XTC: if the number of `key` is below truncation.xtc_probability, the candidates at least
/// truncation.xtc_threshold likely go, but for the last of them in the total order.
std::span<Candidate> KeepXtc(std::span<Candidate> candidates, const Truncation& truncation,
                             const Weighing& weighing, RandomKey key);

/// Draws one candidate with probability proportional to its mass.
///
/// Each token has its own random number (draw = token id) and the smallest of -log(1 - u) / mass
/// wins: an exponential race, the same as the Gumbel-max trick. So the result does not depend on
/// the order of the candidates, and two similar distributions with the same key mostly give the
/// same token, which is what makes a draft model's guesses right. A tie goes to the total order.
/// Cost: one Philox for two tokens, by a kernel where most tokens are candidates; a logarithm only
/// for a token that can still win.
TokenId Draw(std::span<Candidate> candidates, const Weighing& weighing, const RandomKey& key);

/// The same for candidates that have their masses, below 2^63, at least one of them above 0.
TokenId Race(std::span<const Candidate> candidates, const Weighing& weighing, const RandomKey& key);
/// Race, with all of the one that wins.
const Candidate& WinnerOf(std::span<const Candidate> candidates, const Weighing& weighing,
                          const RandomKey& key);

}  // namespace skald::sampling
