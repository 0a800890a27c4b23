/// Rejection: checks a guessed token so that what comes out has the distribution it would have had
/// without the guess (Leviathan et al. 2023, "Fast inference from transformers via speculative
/// decoding", section 2.3; Chen et al. 2023, "Accelerating large language model decoding with
/// speculative sampling", theorem 1).
///
///     p: of the target    q: what the guess x was drawn from
///
///     keep x with probability min(1, p(x) / q(x)); else draw from max(0, p - q), normalised
///
/// It keeps more guesses than comparing tokens drawn with the same random numbers does (Draw), and
/// the price is that the token depends on the guess.
///
/// Random numbers: the guess is drawn with those of its position, as every token is. Whether it is
/// kept and what comes in its place must not depend on those, so each has numbers of its own: the
/// same key with kKeepStream or kRedrawStream added to its sequence.
#pragma once

#include <cstdint>
#include <span>

#include "base/rng.h"
#include "sampling/filters.h"
#include "skald/ids.h"

namespace skald::sampling {

/// Added to RandomKey::sequence. Sequences of a request are far fewer.
inline constexpr uint32_t kKeepStream = uint32_t{1} << 31;
inline constexpr uint32_t kRedrawStream = uint32_t{1} << 30;

/// A guessed token.
struct Guess {
  TokenId token = kNoToken;
  /// What it was drawn from, with masses, by token. Empty: nothing else was possible, as with
  /// n-grams and greedy drafts.
  std::span<const Candidate> chances = {};
};

/// The token that follows: the guess if it is kept, never the guess if it is not. `candidates` are
/// what a plain draw would choose from; their masses are computed, their order changes. `key` is
/// that of the position.
/// Cost: O(candidates + chances), O(n log n) where a guess is not kept.
TokenId KeepOrRedraw(std::span<Candidate> candidates, const Weighing& weighing, const Guess& guess,
                     const RandomKey& key);

}  // namespace skald::sampling
