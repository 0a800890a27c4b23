/// Form: a compiled grammar, whatever it was written in. Immutable once made.
///
/// A grammar is a list of rules. A text is taken by a rule of one of these kinds:
///   Automaton  states with edges of byte ranges, of control tokens and of rules, deterministic or
///              not;
///   Leaf       a deterministic automaton over bytes alone, as a table: a byte is one look-up;
///   Counted    another rule so and so many times. Its states are the counts, so a repetition costs
///              nothing but two numbers, however often;
///   Array, Object  of JSON: which rule the next element takes, which keys may follow
///              (containers.h).
#pragma once

#include <algorithm>
#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <variant>
#include <vector>

#include "skald/ids.h"

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

/// Of a token that has no text: a symbol of its own, whatever its name spells.
struct TokenEdge {
  TokenId token;
  uint32_t target;
};

struct AutomatonState {
  std::vector<ByteEdge> bytes = {};
  std::vector<TokenEdge> tokens = {};
  std::vector<RuleEdge> rules = {};
  std::vector<uint32_t> empty = {};  ///< states that are this one, too
  bool accepting = false;

  /// True if nothing can follow in this rule.
  bool IsFinal() const { return accepting && !HasSymbols() && rules.empty() && empty.empty(); }
  /// True if a byte or a token may follow.
  bool HasSymbols() const { return !bytes.empty() || !tokens.empty(); }
};

/// Begins in state 0.
struct Automaton {
  std::vector<AutomatonState> states;
};

inline constexpr uint32_t kUnbounded = std::numeric_limits<uint32_t>::max();

/// What a state of a counted leaf is to its count.
enum class Boundary : uint8_t {
  kInside,    ///< of a unit
  kBetween,   ///< no unit was begun
  kFinished,  ///< between units, and one was just finished
};

/// Begins in state 0. Of each state an end can be reached.
///
/// A counted leaf takes `min` to `max` units: the characters of a JSON string. From a state between
/// units a byte either leads to an accepting state or begins a unit. One that `ends_between` units
/// has no byte of its own for its end: it may end where the count says so.
struct Leaf {
  static constexpr uint32_t kDead = std::numeric_limits<uint32_t>::max();

  std::array<uint8_t, 256> class_of = {};  ///< ranges of bytes that no state tells apart
  uint32_t class_count = 0;
  std::vector<uint32_t> next = {};  ///< [state][class]; kDead
  std::vector<uint8_t> accepting = {};
  std::vector<uint8_t> goes_on = {};    ///< whether any byte may follow
  std::vector<Boundary> boundary = {};  ///< of a counted leaf; else empty
  uint32_t min = 0;
  uint32_t max = kUnbounded;
  bool ends_between = false;

  /// Whether a text may end in `state` behind `count` units.
  bool Accepts(uint32_t state, uint32_t count) const {
    return accepting[state] != 0 && (!ends_between || count >= min);
  }
  uint32_t Next(uint32_t state, uint8_t byte) const {
    return next[state * class_count + class_of[byte]];
  }
  /// Next where the count allows it, and moves the count, which stays at the last number that
  /// tells anything.
  uint32_t NextCounted(uint32_t state, uint8_t byte, uint32_t* count) const {
    const uint32_t target = Next(state, byte);
    if (boundary.empty() || target == kDead) return target;
    const bool ends = accepting[target] && !ends_between;
    if (boundary[state] != Boundary::kInside && (ends ? *count < min : *count >= max)) return kDead;
    const uint32_t last = max == kUnbounded ? min : max;
    if (boundary[target] == Boundary::kFinished && *count < last) ++*count;
    return target;
  }
  size_t size() const { return accepting.size(); }
};

struct Counted {
  uint32_t rule = 0;
  uint32_t min = 0;
  uint32_t max = kUnbounded;
};

/// What no rule has as its number.
inline constexpr uint32_t kNoRule = std::numeric_limits<uint32_t>::max();

/// White space between the tokens of a JSON text. Where there is any (kShort) the values are JSON,
/// too, and begin with none.
enum class Blanks : uint8_t { kNone, kShort };

/// An array of JSON.
struct Array {
  std::vector<uint32_t> prefix = {};  ///< rules of its first elements
  uint32_t rest = kNoRule;            ///< of all others
  uint32_t min = 0;
  uint32_t max = kUnbounded;
  Blanks blanks = Blanks::kShort;
};

/// A key, or a kind of keys, of an object.
struct Member {
  uint32_t rule;  ///< of the value
  bool required;
};

/// An object of JSON. Its members are of three kinds, in this order: declared keys, which come in
/// the order of the members; other keys that are required; and kinds of keys that are neither
/// (with one member each), of which no key comes twice.
///
/// A bare object has no punctuation of its own: what stands in front of a key is a rule, `keys`
/// takes keys without quotes, what stands between a key and its value is a part of the member's
/// rule, and the object may end behind each value. Members as markers tell them apart are written
/// so.
struct Object {
  static constexpr uint32_t kNoMember = std::numeric_limits<uint32_t>::max();
  static constexpr uint64_t kEndless = std::numeric_limits<uint64_t>::max();
  /// Fewer keys than one character more makes. Where more than so many may follow, another one is
  /// left whichever came, unless as many did, which no text for a model has.
  static constexpr uint64_t kManyKeys = uint64_t{1} << 20;

  bool is_bare = false;
  uint32_t before_first = kNoRule;  ///< of a bare object: in front of its first key
  uint32_t before_next = kNoRule;   ///< and of the others

  Leaf keys = {};                   ///< takes keys with their quotes
  std::vector<uint32_t> ends = {};  ///< [state of keys]: the member whose key ends here
  std::vector<Member> members = {};
  uint32_t declared = 0;  ///< members of the first kind
  uint32_t named = 0;     ///< of the first two kinds
  uint32_t min = 0;
  uint32_t max = kUnbounded;
  Blanks blanks = Blanks::kShort;

  // What IndexKeys adds (containers.h), after Trim.
  std::vector<std::vector<uint32_t>> reach = {};  ///< [state]: named members whose keys may follow
  std::vector<uint64_t> free_keys = {};      ///< [state]: how many keys not declared may follow
  std::vector<uint32_t> next_required = {};  ///< [declared]: the first required one from here
  std::vector<uint32_t> required_from = {};  ///< [declared]: how many of them
  /// Of a bare object: the bytes that what stands behind a key may begin with, and maybe others.
  std::bitset<256> behind_keys = {};

  bool HasManyKeys(uint32_t state) const { return free_keys[state] > kManyKeys; }
  /// Whether somewhere some may follow, but not many.
  bool HasFewKeys() const {
    return std::any_of(free_keys.begin(), free_keys.end(),
                       [](uint64_t count) { return count > 0 && count <= kManyKeys; });
  }
};

using Rule = std::variant<Automaton, Leaf, Counted, Array, Object>;

struct Form {
  /// For what never ends.
  static constexpr uint32_t kNever = std::numeric_limits<uint32_t>::max();

  std::vector<Rule> rules = {};
  uint32_t root = 0;
  /// [rule]: how many containers inside of one another it needs to end, at least. Set by Trim.
  std::vector<uint32_t> depths = {};
};

}  // namespace skald::grammar
