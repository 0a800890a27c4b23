/// RuleSet: rules written as expressions, and whole grammars among them, to one form.
#pragma once

#include <cstdint>
#include <vector>

#include "grammar/expression.h"
#include "grammar/form.h"
#include "grammar/fuel.h"
#include "skald/status.h"

namespace skald::grammar {

struct RuleSet {
  std::vector<Expression> rules = {};
  /// Grammars that `rules` may call: part i by the number rules.size() + i.
  std::vector<const Form*> parts = {};
  uint32_t root = 0;
};

/// The form of `set`, trimmed. Linear in the parts; as AddExpression and MakeRule in the rules.
/// Errors: kInvalidArgument beyond kStatesMax, if `fuel` ran dry, if no text can satisfy it.
Result<Form> CompileRules(const RuleSet& set, Fuel* fuel);

/// What a rule counts for below kStatesMax: its states, or 1.
size_t StatesOf(const Rule& rule);

}  // namespace skald::grammar
