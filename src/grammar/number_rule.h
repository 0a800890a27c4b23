/// Rules of numbers: ranges and multiples, digit by digit.
#pragma once

#include <cstdint>
#include <optional>

#include "grammar/decimal.h"
#include "grammar/form.h"
#include "grammar/fuel.h"
#include "skald/status.h"

namespace skald::grammar {

/// An end of a range.
struct NumberBound {
  Decimal value;
  bool exclusive = false;
};

struct NumberRange {
  std::optional<NumberBound> lower = {};
  std::optional<NumberBound> upper = {};
  int64_t multiple_of = 1;  ///< only for whole numbers
  bool whole = false;

  /// True if any number of its kind is one of it.
  bool IsOpen() const { return !lower.has_value() && !upper.has_value() && multiple_of == 1; }
};

/// Takes the numbers of `range` as they are generated: at most 20 digits before and behind the
/// point; no exponent and no -0 unless the range is open, then at most 2 digits of an exponent. So
/// each is finite as a double, and no loop of digits is endless. State 0 has no edges if there are
/// none. Errors: if `fuel` ran dry.
Result<Automaton> NumberAutomaton(const NumberRange& range, Fuel* fuel);

/// Whether `number` is in `range`.
bool IsInRange(const NumberRange& range, const Decimal& number);

}  // namespace skald::grammar
