/// ConstraintData: what stands behind a Constraint, shared by all its states.
#pragma once

#include <cstddef>
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

/// A mask that was made, and the row it was made of, which keeps the addresses that are compared
/// its own.
struct KeptMask {
  RowPointer row;
  std::vector<uint64_t> words;
};

struct ConstraintData {
  Grammar grammar;
  Vocabulary vocabulary;
  RowPointer first;              ///< before the first byte
  std::vector<RulePlain> plain;  ///< [rule]
  std::unique_ptr<LeafMasks> leaf_masks;
  /// Of the first row: every text needs it, and who makes it here keeps no step of an engine
  /// waiting. Null where it is too complex.
  std::shared_ptr<const KeptMask> first_mask = nullptr;
  size_t fixed_bytes = 0;  ///< what all this takes but for masks of leaves
};

}  // namespace skald::grammar
