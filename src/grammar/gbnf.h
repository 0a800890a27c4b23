/// GBNF: the grammars of llama.cpp.
///
/// Taken: rules NAME ::= ..., literals, classes, `.`, control tokens by number `<[7]>`, groups,
/// `|`, * + ? {m} {m,} {m,n}, comments, and newlines inside of groups and behind `|`. Any recursion
/// works, left recursion, too. The text begins with the rule `root`.
/// Source: grammars/README.md of llama.cpp.
#pragma once

#include <string_view>

#include "grammar/form.h"
#include "grammar/fuel.h"
#include "skald/status.h"

namespace skald::grammar {

/// A grammar of `gbnf`. Errors: kInvalidArgument with the problem and its place; for a rule that is
/// missing or there twice; beyond kGbnfBytesMax, kRulesMax, kNestingMax, kStatesMax; if no text can
/// satisfy it.
Result<Form> CompileGbnf(std::string_view gbnf, Fuel* fuel);

}  // namespace skald::grammar
