/// SamplingParams: how the next token is chosen from the model's logits.
///
/// A response is a pure function of (model, prompt, these parameters). The defaults are those of
/// llama.cpp, so that its users find here the text they expect; the meaning and the order of the
/// filters are written down in src/sampling/filters.h.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "skald/ids.h"
#include "skald/status.h"
#include "skald/version.h"

namespace skald {

/// Makes tokens that were already said less likely. "The window" is the last `last_n` tokens of
/// prompt and output together. Repetition looks at the whole window (as transformers, llama.cpp and
/// vLLM do); presence and frequency look only at the part of it that is output (as vLLM and the
/// OpenAI API do), so that a long prompt is not punished for its own words.
struct Penalties {
  /// Logits of tokens in the window are divided by this if positive, multiplied if negative (CTRL,
  /// Keskar et al. 2019). 1 is off, more than 1 discourages. 0.01 to 100.
  double repetition = 1.0;
  /// Subtracted once from the logit of each token that was output. 0 is off. -100 to 100.
  double presence = 0.0;
  /// Subtracted once for each time the token was output. 0 is off. -100 to 100.
  double frequency = 0.0;
  /// Size of the window in tokens; -1 is everything, 0 switches the three penalties off.
  int32_t last_n = 64;
};

/// Removes unlikely tokens before the draw. Every filter leaves at least one token; equal logits
/// are ordered by token id, lowest first.
struct Truncation {
  /// Keeps the k tokens with the largest logits. 0 is off.
  int32_t top_k = 40;
  /// Keeps the fewest most likely tokens whose probabilities sum to at least this (nucleus
  /// sampling, Holtzman et al. 2019). 1 is off, 0 keeps one token.
  double top_p = 0.95;
  /// Keeps tokens at least this fraction as likely as the most likely one. 0 is off.
  double min_p = 0.05;
  /// Keeps the fewest tokens with probabilities summing to at least this, those first whose
  /// information is closest to the entropy (locally typical sampling, Meister et al. 2022). 1 off.
  double typical_p = 1.0;
  /// Keeps the tokens whose logit is at most so many standard deviations of all logits below the
  /// largest (top-n-sigma, Tang et al. 2024): no temperature moves that border. 0 is off, to 100.
  double top_n_sigma = 0;
  /// XTC ("exclude top choices", p-e-w 2024): with this probability all tokens that are at least
  /// `xtc_threshold` likely go, but for the least likely of them. 0 is off, 0 to 1.
  double xtc_probability = 0;
  double xtc_threshold = 0.1;  ///< 0 to 1; above 0.5 no two tokens are so likely
};

/// DRY ("don't repeat yourself", p-e-w 2024): a token that would go on with what was said before is
/// the less likely the longer the repetition already is. Where the last n tokens stood before
/// and t followed, multiplier * base^(n - allowed_length) is subtracted from the logit of t, if n
/// is at least `allowed_length`.
struct Dry {
  double multiplier = 0;       ///< 0 is off, to 100
  double base = 1.75;          ///< 1 to 100
  int32_t allowed_length = 2;  ///< 1 or more
  /// Size of the window (as of Penalties; prompt and output count alike). -1 is everything, 0 off.
  int32_t last_n = -1;
  /// Tokens over which no repetition reaches, ascending. Of texts: TokensContaining (tokenizer.h).
  std::vector<TokenId> breakers = {};
};

/// Dynamic temperature (kalomaze 2023): in place of `temperature` one from temperature - range to
/// temperature + range, the lower the surer the model is (by the entropy of its distribution).
struct DynamicTemperature {
  double range = 0;     ///< 0 is off, to 100
  double exponent = 1;  ///< of the entropy's share of the largest possible; 0 to 100
};

/// Mirostat 2 (Basu et al. 2021): keeps tokens that are less surprising than a border, which moves
/// after each token so that the text's surprise comes near `tau`. In place of all of Truncation.
struct Mirostat {
  int32_t version = 0;  ///< 0 is off, 2 on; 1 is not implemented
  double tau = 5;       ///< in bits, 0 to 100
  double eta = 0.1;     ///< how far the border moves, 0 to 10
};

/// The order in which the stages run. The filters see probabilities after temperature in the first
/// order, before it in the second, so the same numbers can keep different tokens.
enum class SamplingOrder : uint8_t {
  /// penalties, DRY, bias, temperature, top-n-sigma, top-k, typical, top-p, min-p, XTC:
  /// transformers, vLLM
  kStandard,
  /// bias, penalties, DRY, top-n-sigma, top-k, typical, top-p, min-p, XTC, temperature: llama.cpp
  kLlamaCpp,
};

/// Added to the logit of one token. Finite, or -infinity: the token is never chosen.
struct LogitBias {
  TokenId token = kNoToken;
  float bias = 0;
};

/// Everything that decides how a token is chosen.
struct SamplingParams {
  /// Logits are divided by this. 0 is greedy: the largest logit (after penalties and bias) wins,
  /// and neither filters nor seed matter. Otherwise 1e-6 to 1e6.
  double temperature = 0.8;
  Truncation truncation = {};
  Penalties penalties = {};
  Dry dry = {};
  DynamicTemperature dynamic_temperature = {};
  Mirostat mirostat = {};
  /// Same seed, same text. There is no "random seed" value: a caller who wants one draws it and
  /// tells the user which it was.
  uint64_t seed = 0;
  SamplingOrder order = SamplingOrder::kStandard;
  /// Several entries for one token add up, in the order given.
  std::vector<LogitBias> logit_bias = {};
  /// If set, the log probability of each chosen token is reported, with this many of the most
  /// likely alternatives (0 to kMaxTopLogprobs). Natural logarithms, of the model's own
  /// distribution: before penalties, bias, temperature and filters.
  std::optional<int32_t> top_logprobs = std::nullopt;
};

/// Bound of SamplingParams::top_logprobs: what the OpenAI API allows.
inline constexpr int32_t kMaxTopLogprobs = 20;

/// A token with the natural logarithm of its probability under the model's own distribution.
struct TokenLogprob {
  TokenId token = kNoToken;
  double logprob = 0;

  friend bool operator==(const TokenLogprob&, const TokenLogprob&) = default;
};

/// What a token was drawn with: the sampler's own numbers, exact on every machine.
struct TokenDraw {
  float logit = 0;     ///< of the token, behind penalties and biases
  uint64_t mass = 0;   ///< of the token among those that the filters left (docs/numerics.md, 3.9)
  uint64_t total = 0;  ///< of all of these; a greedy choice has all the mass, 2^42 of 2^42

  friend bool operator==(const TokenDraw&, const TokenDraw&) = default;
};

/// OK if every field of `params` is in the range written beside it and every biased token is in a
/// vocabulary of `vocab_size` tokens; else kInvalidArgument naming the field, what was found and
/// what was expected. Implemented in src/sampling.
Status Validate(const SamplingParams& params, int64_t vocab_size);

}  // namespace skald
