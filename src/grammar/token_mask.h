/// AllowTokens: which tokens may follow a row.
#pragma once

#include <cstdint>
#include <span>

#include "grammar/recognizer.h"
#include "grammar/token_trie.h"

namespace skald::grammar {

/// Sets the bit of each token that may follow `row`, in words that are 0. The cost is bounded by
/// kMaskSteps; false if that is not enough.
bool AllowTokens(const Form& form, const TokenTrie& trie, const RowPointer& row,
                 std::span<uint64_t> words);

}  // namespace skald::grammar
