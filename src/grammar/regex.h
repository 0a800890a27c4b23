/// Regular expressions: ECMA-262 without what is not regular or is read differently by dialects.
///
/// Taken: alternatives, groups (named ones, too), classes, \d \w \s and their complements, `.`,
/// * + ? {m} {m,} {m,n} with their lazy forms (which take the same texts), ^ and $ anywhere,
/// \xhh \uhhhh \u{...}. \d and \w are ASCII; \s is the ASCII blanks, so that every reader agrees
/// that it is one, and \S is what no reader takes for a blank.
/// Refused by name: look-around, references back, \b \B, \p, flags, possessive and atomic forms,
/// and {,n}, a lone brace, [], [^], [[: .
#pragma once

#include <string_view>

#include "grammar/expression.h"
#include "grammar/form.h"
#include "grammar/fuel.h"
#include "grammar/nfa.h"
#include "skald/status.h"

namespace skald::grammar {

/// The expression that `regex` spells. Linear. Errors: kInvalidArgument and kUnsupported with the
/// construct and its place; kInvalidArgument beyond kRegexBytesMax, kNestingMax, kNestedCopiesMax.
Result<Expression> ParseRegex(std::string_view regex);

/// What an expression is compared with.
enum class RegexMatch : uint8_t {
  kWhole,   ///< all of the text
  kSearch,  ///< any part of it: `pattern` of JSON Schema
};

/// The automaton of `regex` after FinishNfa, with characters spelled so. Errors: as ParseRegex and
/// AddExpression.
Result<Nfa> RegexNfa(std::string_view regex, RegexMatch match, Spelling spelling, Fuel* fuel);

/// A grammar of `regex`, which matches the whole text.
Result<Form> CompileRegex(std::string_view regex, Fuel* fuel);

}  // namespace skald::grammar
