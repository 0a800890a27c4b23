/// Repetitions *, +, ?, {m}, {m,} and {m,n}, as regular expressions and GBNF write them.
#pragma once

#include <cstdint>
#include <optional>

#include "grammar/expression.h"
#include "grammar/source_text.h"
#include "skald/status.h"

namespace skald::grammar {

struct Repetition {
  uint32_t min = 0;
  uint32_t max = kUnbounded;
};

/// Reads one if it stands next. Errors: kInvalidArgument with the place if a brace begins another
/// thing, is upside down, or a number is above kRepeatMax.
Result<std::optional<Repetition>> TakeRepetition(SourceText* text);

/// An error if repetitions inside of one another come to more than kNestedCopiesMax copies of
/// something.
Status CheckNestedCopies(const Expression& expression);

}  // namespace skald::grammar
