/// From an automaton under construction to a rule: deterministic where that costs little.
#pragma once

#include "grammar/form.h"
#include "grammar/fuel.h"
#include "grammar/nfa.h"
#include "skald/status.h"

namespace skald::grammar {

/// The rule that takes what `nfa` takes, after FinishNfa. Edges of rules and tokens count as
/// symbols. A Leaf if there are none of these and few states (kDeterministicStatesMax,
/// kDeterministicGrowthMax); an Automaton of as many states, deterministic, else one with the
/// states of `nfa`. Errors: kInvalidArgument if `fuel` ran dry.
Result<Rule> MakeRule(const Nfa& nfa, Fuel* fuel);

/// The same as an automaton, for `nfa` over bytes alone. Errors: kInvalidArgument if it has
/// more than kDeterministicStatesMax states; if `fuel` ran dry.
Result<Automaton> Deterministic(const Nfa& nfa, Fuel* fuel);

/// A table of `automaton`, which is deterministic, without edges of rules and empty ones.
Leaf MakeLeaf(const Automaton& automaton);

}  // namespace skald::grammar
