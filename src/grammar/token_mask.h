/// AllowTokens: which tokens may follow a row.
#pragma once

#include <cstdint>
#include <span>

#include "grammar/constraint_data.h"
#include "grammar/fuel.h"
#include "grammar/recognizer.h"

namespace skald::grammar {

/// Sets the bit of each token that may follow `row`, those without text too, in words that are 0.
/// False if kMaskSteps are not enough, whatever of them was done before for other masks; or if
/// `work` ran dry, of which only those are spent that are done now.
bool AllowTokens(const ConstraintData& data, const RowPointer& row, std::span<uint64_t> words,
                 Fuel* work);

/// Whether AllowTokens says the same of both rows: they are in the same state of the same leaf,
/// with the same around it, as rows inside of one string are, or inside of one key of an object. It
/// may say no where they do.
bool AllowTheSame(const ConstraintData& data, const Row& a, const Row& b);

}  // namespace skald::grammar
