/// TokenId: the integer that names one entry of a model's vocabulary.
#pragma once

#include <cstdint>

namespace skald {

/// Index into the vocabulary, 0 <= id < vocabulary size. Signed, as in model files and in every
/// peer's API, so that a negative number given by a user can be refused rather than wrapped.
using TokenId = int32_t;

/// "No token", e.g. a model without an end-of-turn token. Never a row of the vocabulary.
inline constexpr TokenId kNoToken = -1;

}  // namespace skald
