/// Products of automata: what several say of the same text.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "grammar/form.h"
#include "grammar/fuel.h"
#include "skald/status.h"

namespace skald::grammar {

/// A state of a product: a state of each automaton, kGone where it takes the text no more.
inline constexpr uint32_t kGone = std::numeric_limits<uint32_t>::max();
using States = std::vector<uint32_t>;

/// A product, and of each of its states what `label` says; kNoLabel where no text ends.
inline constexpr uint32_t kNoLabel = std::numeric_limits<uint32_t>::max();
struct Product {
  Automaton automaton;  ///< deterministic, accepting where there is a label
  std::vector<uint32_t> labels;
};

/// Products are made whole, beforehand: no more states than this.
inline constexpr size_t kProductStatesMax = 50'000;

/// What a product needs to be told.
struct ProductRules {
  /// Whether a text that led here can still come to a label; where it says no, the product ends.
  std::function<bool(const States&)> alive;
  std::function<Result<uint32_t>(const States&)> label;
};

/// Reads texts with all `automata`, which are deterministic and over bytes alone, at once. Edges
/// to states from which no label is reached are cut off. Errors: kInvalidArgument beyond
/// kProductStatesMax states, or if `fuel` ran dry.
Result<Product> MakeProduct(std::span<const Automaton> automata, const ProductRules& rules,
                            Fuel* fuel);

/// What all of `automata` take.
Result<Automaton> Intersection(std::span<const Automaton> automata, Fuel* fuel);

}  // namespace skald::grammar
