/// DRY: makes tokens less likely that would go on with a repetition (skald::Dry).
#pragma once

#include <cstdint>
#include <span>

#include "sampling/filters.h"
#include "skald/sampling_params.h"

namespace skald::sampling {

/// A repetition of more tokens counts as one of so many: it bounds the memory of the search, and
/// with the usual settings nothing so long is ever said again.
inline constexpr int64_t kMaxDryRepeat = 512;

/// True if `dry` changes no logit whatever the history.
bool IsOff(const Dry& dry);

/// Subtracts what `dry` says (numerics 3.9) from `logits` [vocab_size] in place, computed in double
/// and rounded to float once. Requires every token < vocab_size.
/// Cost: O(tokens in the window), by the Z algorithm; no allocation.
void ApplyDry(const Dry& dry, const PenaltyHistory& history, std::span<float> logits);

}  // namespace skald::sampling
