/// Sampler: one row of logits in, one token out.
///
/// The token is a pure function of (logits, mask, prompt, output, parameters, random key): no state
/// survives a call, nothing depends on what was sampled before or beside it. Decisions use integer
/// masses and a total order on (logit, token id), so no result depends on the order of a sum.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "base/rng.h"
#include "sampling/filters.h"
#include "sampling/logit_row.h"
#include "sampling/rejection.h"
#include "skald/ids.h"
#include "skald/sampling_params.h"
#include "skald/status.h"

namespace skald::sampling {

/// What is told of how probable a token was.
enum class OddsRule : uint8_t {
  kOfDraw,   ///< among the candidates that the filters left
  kOfModel,  ///< under the model's own distribution too: an exponential per token
};

/// How probable a sampled token was. NaN: not known.
struct Odds {
  double model = std::numeric_limits<double>::quiet_NaN();  ///< before bias, penalties and filters
  double drawn = std::numeric_limits<double>::quiet_NaN();  ///< among those that it was drawn from
  double draw = std::numeric_limits<double>::quiet_NaN();   ///< its random number
  int64_t candidates = 0;                                   ///< that it was drawn from
  // That each filter left, in their order; 0 where it is off.
  int64_t left_top_n_sigma = 0;
  int64_t left_top_k = 0;
  int64_t left_typical = 0;
  int64_t left_top_p = 0;
  int64_t left_min_p = 0;
};

/// What one token is sampled from. Spans are read during the call only.
struct SampleInput {
  std::span<const float> logits;  ///< [vocab_size], of the row that predicts the next token
  /// What it forbids has a logit of -infinity before penalties, biases and filters. Log
  /// probabilities are of the model's own distribution all the same.
  TokenMask mask = {};
  std::span<const TokenId> prompt;  ///< the request's prompt tokens, each < vocab_size
  std::span<const TokenId> output;  ///< tokens generated since, oldest first, each < vocab_size
  RandomKey key;                    ///< seed (of the parameters), sequence, position of the token
  /// Mirostat's: FirstMu, then what the token before left (Sampled::mu). So it is a function of the
  /// parameters, the rows and the tokens before, whoever computes them again.
  double mu = 0;
  /// If set, the token is what becomes of this guess by the rule of rejection.h.
  const Guess* guess = nullptr;
  /// If set, takes at its end what the token was drawn from: candidates with masses, by token.
  /// Nothing if the choice was greedy.
  std::vector<Candidate>* chances = nullptr;
  /// If set, takes tokens for the question whether a mask would have changed anything: with one
  /// that allows all of these the same call gives the same result. Nothing where only the call with
  /// the mask can tell. (Each token has a random number of its own, so what loses the race is not
  /// missed, as long as the largest logit stays, which masses and min-p hang on.)
  std::vector<TokenId>* decisive = nullptr;
  /// If set, takes how probable the token was, as far as `odds_rule` wants to know, or log
  /// probabilities are reported. No result depends on it.
  Odds* odds = nullptr;
  OddsRule odds_rule = OddsRule::kOfDraw;
};

/// True if no tokens are decisive: what looks at all tokens, as a sum of all masses does.
bool NeedsMask(const SampleInput& input, const SamplingParams& params);

/// What was sampled.
struct Sampled {
  TokenId token = kNoToken;
  TokenDraw draw = {};  ///< nothing of what became of a guess
  double mu = 0;        ///< for the next token; that of the input unless Mirostat moved it
  /// Set if and only if params.top_logprobs is: of the unmodified logits; -infinity is possible.
  std::optional<double> logprob = std::nullopt;
  /// The params.top_logprobs most likely tokens, likeliest first, ties by token id. Lies in the
  /// sampler: valid until its next call.
  std::span<const TokenLogprob> top = {};
};

/// Samples tokens of one vocabulary. Owns scratch memory of about 40 bytes per token, so that a
/// call allocates nothing. One thread at a time; use one per worker. Which one samples a row does
/// not matter.
class Sampler {
 public:
  /// The largest vocabulary: bounds the integer masses (filters.h). Known models stay below 2^19.
  static constexpr int64_t kMaxVocabSize = kMaxCandidates;

  /// Errors: kUnsupported unless 1 <= vocab_size <= kMaxVocabSize.
  /// `isa` chooses the kernels, and changes no result. Requires isa.supported().
  static Result<Sampler> Create(int64_t vocab_size, kernels::Isa isa);

  int64_t vocab_size() const { return static_cast<int64_t>(counts_.size()); }

  /// Chooses a token. `params` must have passed Validate() for this vocabulary size.
  ///
  /// Errors: kNumeric if a logit is NaN, allowed or not, or all are -infinity (broken weights or
  /// activations); kInvalidArgument if the model rules out every token that the mask allows, or
  /// logit_bias bans every token that both allow. Logits of +infinity share all the probability
  /// equally.
  /// Cost: one pass over the logits and O(history in the window) with top_k or greedy; without
  /// top_k one exponential per token. sampler_bench.cc has figures.
  Result<Sampled> Sample(const SampleInput& input, const SamplingParams& params);

  /// How probable a token was.
  struct Scored {
    double logprob = 0;  ///< of the unmodified logits; -infinity is possible
    int64_t rank = 0;    ///< 1 for the likeliest; of equal ones the lowest id goes first
    std::span<const TokenLogprob> top;  ///< as Sampled::top
  };
  /// What Sample reports of `token` and of the n >= 0 likeliest, with the same bits.
  /// Errors: kNumeric as Sample. Cost: one exponential per token.
  Result<Scored> Score(std::span<const float> logits, TokenId token, int64_t n);

  /// The n most likely tokens of the unmodified distribution, likeliest first, ties by token id;
  /// fewer if fewer have a logit above -infinity; n >= 0. Lies in the sampler: valid until its next
  /// call.
  /// Errors: kNumeric as Sample. Cost: one exponential per token.
  Result<std::span<const TokenLogprob>> TopLogprobs(std::span<const float> logits, int64_t n);

  /// For beam search: the n >= 1 tokens of the highest log probability, likeliest first, ties by
  /// token id; fewer if fewer are possible. Penalties and biases are applied to the log
  /// probabilities of the model's own distribution, as transformers does it; nothing is normalised
  /// again. Lies in the sampler: valid until its next call. The key does not matter.
  /// What the mask forbids is not among them. Errors: kNumeric as Sample. Cost: one exponential per
  /// token.
  Result<std::span<const TokenLogprob>> Continuations(const SampleInput& input,
                                                      const SamplingParams& params, int64_t n);

 private:
  Sampler(int64_t vocab_size, const kernels::KernelTable& kernels);

  /// Scans `logits` into block_max_. Errors: kNumeric for NaN or nothing above -infinity.
  Result<LogitScan> ScanModelLogits(std::span<const float> logits);
  /// The row that is sampled from, scanned: masked, with bias and penalties. Errors: as Sample.
  Result<ScannedRow> Prepare(const SampleInput& input, const SamplingParams& params);
  /// Why a row has nothing above -infinity.
  Status NothingLeft(const SampleInput& input);
  /// Applies bias and penalties to adjusted_ in the order of `params`.
  void Adjust(const SampleInput& input, const SamplingParams& params);
  /// The likeliest token of a row.
  static Sampled Greedy(const ScannedRow& row, double mu);
  /// What may be drawn, and how it is weighed.
  struct Choices {
    std::span<Candidate> survivors;
    Weighing weighing;
  };
  /// Filters and draws from a row whose scan is in block_max_; temperature is not 0. The token and
  /// its mu.
  Sampled Choose(const ScannedRow& row, const SamplingParams& params, const SampleInput& input);
  Sampled Take(const Choices& choices, const SampleInput& input);
  Choices Filter(const ScannedRow& row, const SamplingParams& params, const SampleInput& input);
  /// All tokens of a row above -infinity.
  std::span<Candidate> CollectAll(const ScannedRow& row);
  /// The candidates that top-n-sigma, top-k, typical and top-p leave; how many each, unless `odds`
  /// is null.
  std::span<Candidate> Truncate(const ScannedRow& row, const Truncation& truncation,
                                const Weighing& weighing, Odds* odds);
  /// Fills SampleInput::odds after a draw: of what `survivors` and `token` became.
  static void AddOdds(std::span<const Candidate> survivors, const SampleInput& input,
                      TokenId token);
  /// The mass of the model's own distribution. `row` is what was sampled from.
  RowMass ModelMass(const SampleInput& input, const ScannedRow& row);
  /// Fills in what `top_logprobs` asks for.
  void AddLogprobs(const SampleInput& input, const ScannedRow& row, int64_t n, Sampled* sampled);
  /// Fills top_ with the n most likely tokens of a row whose mass is known.
  void FillTop(std::span<const float> logits, int64_t n, const RowMass& mass);
  /// Fills SampleInput::decisive. `row` is what `token` was sampled from.
  void AddDecisive(const ScannedRow& row, const SamplingParams& params, const SampleInput& input,
                   TokenId token);

  kernels::MassFn mass_;
  kernels::UniformFn uniform_;
  std::vector<int32_t> counts_;        // [vocab]; scratch of ApplyPenalties, all 0 between calls
  std::vector<float> adjusted_;        // [vocab]; logits after penalties and bias
  std::vector<Candidate> candidates_;  // [vocab]
  std::span<Candidate> collected_;     // of these, what top-k left of the row chosen from last
  std::vector<float> block_max_;       // [ceil(vocab / kLogitBlock)]; of the row scanned last
  std::vector<TokenLogprob> top_;      // capacity vocab
};

}  // namespace skald::sampling
