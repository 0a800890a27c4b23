/// PlainStates: where in an automaton any plain text may follow.
#pragma once

#include <cstdint>
#include <vector>

#include "grammar/form.h"

namespace skald::grammar {

/// [state]: whether any characters may follow, however many, as long as they are plain
/// (token_table.h) and a count has room for them. Of an object, the states of its keys: whether
/// they may follow where any key that is not declared may come. Empty for rules of other kinds.
///
/// Takes some steps for each state. An automaton of a strange shape is given up, and then has no
/// such states.
std::vector<uint8_t> PlainStates(const Rule& rule);

}  // namespace skald::grammar
