/// TokenId, the integer that names one entry of a model's vocabulary, and Pooling: plain values
/// that every room may know.
#pragma once

#include <cstdint>

namespace skald {

/// Index into the vocabulary, 0 <= id < vocabulary size. Signed, as in model files and in every
/// peer's API, so that a negative number given by a user can be refused rather than wrapped.
using TokenId = int32_t;

/// "No token", e.g. a model without an end-of-turn token. Never a row of the vocabulary.
inline constexpr TokenId kNoToken = -1;

/// What to make of the hidden states of a prompt's tokens, behind the final norm.
enum class Pooling : uint8_t {
  kNone,   ///< nothing: the prompt is to be continued
  kLast,   ///< that of the last token, which has seen all others
  kMean,   ///< the mean of all
  kFirst,  ///< that of the first token: what BERT calls CLS
};

}  // namespace skald
