/// PlainRoom: how much plain text may follow in a state of an automaton.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "grammar/form.h"

namespace skald::grammar {

/// In characters that are plain (token_table.h).
struct PlainRoom {
  /// However many.
  static constexpr uint16_t kEndless = std::numeric_limits<uint16_t>::max();

  uint16_t characters = 0;  ///< any so many may follow, or fewer, if a count has room for them
  bool exact = false;       ///< and no more: a longer plain text is dead
};

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
std::vector<PlainRoom> PlainRooms(const Rule& rule, KeysLeft keys);

}  // namespace skald::grammar
