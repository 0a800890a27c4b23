/// Repetitions {m}, {m,} and {m,n}, as regular expressions and GBNF write them.
#pragma once

#include <cstdint>

#include "grammar/expression.h"
#include "grammar/source_text.h"
#include "skald/status.h"

namespace skald::grammar {

struct Repetition {
  uint32_t min = 0;
  uint32_t max = kUnbounded;
};

/// Reads one with its braces. Errors: kInvalidArgument with the place if it is another thing,
/// upside down, or a number is above kRepeatMax.
Result<Repetition> TakeBraces(SourceText* text);

/// An error if repetitions inside of one another come to more than kNestedCopiesMax copies of
/// something.
Status CheckNestedCopies(const Expression& expression);

}  // namespace skald::grammar
