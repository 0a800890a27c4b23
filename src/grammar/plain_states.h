/// PlainRoom: how much plain text may follow in a state of an automaton.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "grammar/alphabet.h"
#include "grammar/form.h"

namespace skald::grammar {

/// In characters of one alphabet.
struct PlainRoom {
  /// However many.
  static constexpr uint16_t kEndless = std::numeric_limits<uint16_t>::max();

  uint16_t characters = 0;  ///< any so many may follow, or fewer, if a count has room for them
  bool exact = false;       ///< and no more: a longer text of that alphabet is dead
};

/// Of each alphabet. A narrow one often has room where a wide one has none.
using StateRoom = std::array<PlainRoom, kAlphabetCount>;

/// Which states of the keys of an object plain text may lead to.
enum class KeysLeft : uint8_t {
  kMany,  ///< where many keys may follow: whichever came, there is another one
  kAny,   ///< where one may follow: that none of those behind the state came must be known
};

/// [state], of a leaf, or of the keys of an object where any key that is not declared may come.
/// Empty for rules of other kinds.
///
/// Takes some steps for each state. An automaton of a strange shape is given up, and then has no
/// room anywhere.
std::vector<StateRoom> PlainRooms(const Rule& rule, KeysLeft keys);

}  // namespace skald::grammar
