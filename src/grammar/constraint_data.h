/// ConstraintData: what stands behind a Constraint, shared by all its states.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "grammar/leaf_mask.h"
#include "grammar/plain_states.h"
#include "grammar/recognizer.h"
#include "skald/constraint.h"
#include "skald/grammar.h"

namespace skald::grammar {

/// PlainRooms of the states of a rule.
struct RulePlain {
  std::vector<StateRoom> many;
  std::vector<StateRoom> any;  ///< of an object only
};

struct ConstraintData {
  Grammar grammar;
  Vocabulary vocabulary;
  RowPointer first;              ///< before the first byte
  std::vector<RulePlain> plain;  ///< [rule]
  std::unique_ptr<LeafMasks> leaf_masks;
};

}  // namespace skald::grammar
