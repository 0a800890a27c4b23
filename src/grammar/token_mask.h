/// AllowTokens: which tokens may follow a row.
#pragma once

#include <cstdint>
#include <span>

#include "grammar/constraint_data.h"
#include "grammar/recognizer.h"

namespace skald::grammar {

/// Sets the bit of each token that may follow `row`, those without text too, in words that are 0.
/// The cost is bounded by kMaskSteps; false if that is not enough.
bool AllowTokens(const ConstraintData& data, const RowPointer& row, std::span<uint64_t> words);

/// Whether AllowTokens says the same of both rows: they are in the same state of the same leaf,
/// with the same around it, as rows inside of one string are, or inside of one key of an object. It
/// may say no where they do.
bool AllowTheSame(const ConstraintData& data, const Row& a, const Row& b);

}  // namespace skald::grammar
