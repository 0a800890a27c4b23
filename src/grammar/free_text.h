/// FreeText: any text, but for what would begin something else.
#pragma once

#include "grammar/expression.h"
#include "grammar/form.h"
#include "grammar/fuel.h"
#include "skald/status.h"

namespace skald::grammar {

/// What a free text must not hold. Expressions without rules and tokens.
struct Forbidden {
  Expression anywhere = Choice({});
  Expression at_begin = Choice({});
};

/// Texts of whole characters that have no text of `anywhere` in them, and do not begin with one of
/// `at_begin`. One deterministic automaton, so that a mask inside of it is made once for each of
/// its states. A text may end at each whole character. Errors: kInvalidArgument beyond
/// kDeterministicStatesMax; if `fuel` ran dry.
Result<Form> FreeText(const Forbidden& forbidden, Fuel* fuel);

/// The same as an automaton.
Result<Automaton> FreeTextAutomaton(const Forbidden& forbidden, Fuel* fuel);

}  // namespace skald::grammar
