/// Form: a compiled grammar, whatever it was written in. Immutable once made.
///
/// A grammar is a list of rules. A text is taken by a rule of one of these kinds:
///   Automaton  states with edges of byte ranges and of rules, deterministic or not;
///   Leaf       a deterministic automaton over bytes alone, as a table: a byte is one look-up;
///   Counted    another rule so and so many times. Its states are the counts, so a repetition costs
///              nothing but two numbers, however often.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <variant>
#include <vector>

namespace skald::grammar {

struct ByteEdge {
  uint8_t low;
  uint8_t high;
  uint32_t target;
};

struct RuleEdge {
  uint32_t rule;
  uint32_t target;
};

struct AutomatonState {
  std::vector<ByteEdge> bytes = {};
  std::vector<RuleEdge> rules = {};
  std::vector<uint32_t> empty = {};  ///< states that are this one, too
  bool accepting = false;

  /// True if nothing can follow in this rule.
  bool IsFinal() const { return accepting && bytes.empty() && rules.empty() && empty.empty(); }
};

/// Begins in state 0.
struct Automaton {
  std::vector<AutomatonState> states;
};

/// Begins in state 0. Of each state an end can be reached.
struct Leaf {
  static constexpr uint32_t kDead = std::numeric_limits<uint32_t>::max();

  std::array<uint8_t, 256> class_of = {};  ///< bytes that no state tells apart
  uint32_t class_count = 0;
  std::vector<uint32_t> next = {};  ///< [state][class]; kDead
  std::vector<uint8_t> accepting = {};
  std::vector<uint8_t> goes_on = {};  ///< whether any byte may follow

  uint32_t Next(uint32_t state, uint8_t byte) const {
    return next[state * class_count + class_of[byte]];
  }
  size_t size() const { return accepting.size(); }
};

struct Counted {
  static constexpr uint32_t kUnbounded = std::numeric_limits<uint32_t>::max();

  uint32_t rule = 0;
  uint32_t min = 0;
  uint32_t max = kUnbounded;
};

using Rule = std::variant<Automaton, Leaf, Counted>;

struct Form {
  std::vector<Rule> rules;
  uint32_t root = 0;
};

}  // namespace skald::grammar
