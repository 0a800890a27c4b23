/// ConstraintData: what stands behind a Constraint, shared by all its states.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "grammar/leaf_mask.h"
#include "grammar/recognizer.h"
#include "skald/constraint.h"
#include "skald/grammar.h"

namespace skald::grammar {

struct ConstraintData {
  Grammar grammar;
  Vocabulary vocabulary;
  RowPointer first;                         ///< before the first byte
  std::vector<std::vector<uint8_t>> plain;  ///< [rule]: PlainStates
  std::unique_ptr<LeafMasks> leaf_masks;
};

}  // namespace skald::grammar
