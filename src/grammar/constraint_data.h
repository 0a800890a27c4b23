/// ConstraintData: what stands behind a Constraint, shared by all its states.
#pragma once

#include "grammar/recognizer.h"
#include "skald/constraint.h"
#include "skald/grammar.h"

namespace skald::grammar {

struct ConstraintData {
  Grammar grammar;
  Vocabulary vocabulary;
  RowPointer first;  ///< before the first byte
};

}  // namespace skald::grammar
