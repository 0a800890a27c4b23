/// Arrays and objects of a JSON text: where in one a text is, and what may follow there.
///
/// Both are machines rather than automata: an automaton of which declared keys came would have a
/// state for each set of them, or copies of the rest of the keys for each one. Here a place is a
/// phase and a few numbers, and whether a byte may follow is computed. What is allowed can always
/// be finished: an optional key only where the required ones still fit below `max`, the end of a
/// key only where it did not come before, and so on.
///
/// Between tokens stands nothing, one space, or a newline and at most 32 spaces or 8 tabs; nothing
/// before a comma or colon.
#pragma once

#include <bitset>
#include <cstdint>
#include <optional>

#include "grammar/form.h"
#include "grammar/limits.h"
#include "grammar/row.h"

namespace skald::grammar {

/// What stands next in a container.
enum class Phase : uint8_t {
  kOpen,     ///< its opening bracket
  kFirst,    ///< behind it: the first element or key, or the end
  kNext,     ///< behind a comma: an element or key
  kKey,      ///< inside of a key
  kColon,    ///< behind a key
  kValue,    ///< behind a colon
  kMember,   ///< behind a value: a comma, or the end
  kClosing,  ///< behind white space that only the end may follow
  kDone,     ///< nothing
};

/// A state of a container: its phase, its white space so far, and a state of the keys or a member.
struct Place {
  Phase phase = Phase::kOpen;
  uint32_t blanks = 0;
  uint32_t index = 0;

  static Place Of(uint32_t state) {
    return {static_cast<Phase>(state & 15), (state >> 4) & 63, state >> 10};
  }
  uint32_t state() const { return static_cast<uint32_t>(phase) | blanks << 4 | index << 10; }
};

// What remains for an index: states of keys, or members.
static_assert(kStatesMax < size_t{1} << 22);

/// What `item`, at a place in a container, becomes behind `byte`; nothing if it may not follow.
std::optional<Item> ReadContainerByte(const Form& form, const Item& item, uint8_t byte);

/// Whether `byte` is white space of a JSON text between tokens.
constexpr bool IsBlank(uint8_t byte) { return byte == ' ' || byte == '\n' || byte == '\t'; }
/// Whether white space may follow at the place of an item, if there is room for more, and leaves it
/// in its phase. Nothing else that may follow there begins with any (Blanks::kShort).
bool MayStandInBlanks(const Form& form, const Item& item);

/// Whether the container of an item may end where it is. For all but bare objects that is behind a
/// closing bracket.
bool MayEndContainer(const Form& form, const Item& item);
/// Whether any byte may follow at the place of an item, rather than a rule.
bool TakesContainerByte(const Form& form, const Item& item);

/// An element or value that may begin at the place of an item; of a bare object also what stands in
/// front of a key.
struct Element {
  uint32_t rule;
  Item after;  ///< where the item is when it has ended
};
std::optional<Element> NextElement(const Form& form, const Item& item);

/// How many keys `member` of `object`, which is not declared, has: Object::kEndless if no number
/// bounds them. Linear in the states of the keys.
uint64_t CountKeys(const Object& object, uint32_t member);

/// Fills in what `object` knows of its keys. `form` is trimmed; a member whose rule never ends
/// takes no key. Linear in the states of the keys and in what they reach.
void IndexKeys(const Form& form, Object* object);

}  // namespace skald::grammar
