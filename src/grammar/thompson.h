/// From expressions to automata.
#pragma once

#include <cstdint>
#include <functional>

#include "grammar/expression.h"
#include "grammar/fuel.h"
#include "grammar/nfa.h"
#include "skald/status.h"

namespace skald::grammar {

/// Makes a rule that repeats another `repeat.min` to `repeat.max` times, and returns its number.
using MakeRepeatRule = std::function<Result<uint32_t>(const Expression& repeat)>;

struct ThompsonOptions {
  Spelling spelling = Spelling::kUtf8;
  /// Takes the repetitions that would come to more than kCopiedStatesMax states. Without it all of
  /// them are copied, up to kStatesMax.
  MakeRepeatRule make_repeat = nullptr;
};

/// A repetition of up to so many states is written out: the automaton can then be made
/// deterministic as a whole.
inline constexpr uint64_t kCopiedStatesMax = 256;

/// Adds `expression` to `nfa`, between its states `from` and `to`. Time and states in proportion to
/// the expression with its repetitions written out. Errors: kInvalidArgument if that comes to more
/// than kStatesMax states or kNestedCopiesMax copies, or takes more than `fuel`.
Status AddExpression(const Expression& expression, uint32_t from, uint32_t to,
                     const ThompsonOptions& options, Fuel* fuel, Nfa* nfa);

/// Makes the edges kBegin and kEnd part of the automaton, sets `accepting` for texts that end in
/// `last`, and cuts off states from which no end can be reached. After it there are only edges of
/// the other kinds; `start` is a new state. False if `fuel` ran dry.
bool FinishNfa(uint32_t last, Fuel* fuel, Nfa* nfa);

}  // namespace skald::grammar
