/// Rules of JSON strings.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/form.h"
#include "grammar/fuel.h"
#include "grammar/nfa.h"
#include "skald/status.h"

namespace skald::grammar {

/// How many characters a string has.
struct StringLength {
  uint64_t min = 0;
  uint64_t max = std::numeric_limits<uint64_t>::max();

  bool IsOpen() const { return min == 0 && max == std::numeric_limits<uint64_t>::max(); }
};

/// How a text is spelled.
enum class TextSpelling : uint8_t {
  kJson,        ///< with quotes; a free one in any spelling that RFC 8259 has
  kJsonInside,  ///< the same without "</": a slash there is escaped
  kPython,      ///< with quotes, in the one spelling that JSON and Python share
  kBare,        ///< as it is
};

/// Strings of `length`, with their quotes (not for kBare). In any spelling that RFC 8259 has means
/// escapes, and pairs of surrogates as `\u`, lone ones never. Counted, if `length` says anything.
/// Errors: if `fuel` ran dry; kInvalidArgument if `min` is above 2^31.
Result<Leaf> FreeString(const StringLength& length, TextSpelling spelling, Fuel* fuel);

/// Texts of `length` that `texts` takes, which is deterministic, takes whole characters only, and
/// ends at each of them. Counted as FreeString. Errors: as FreeString.
Result<Leaf> BareLeaf(const Automaton& texts, const StringLength& length);

/// Texts in which `pattern` matches, in one spelling (kJsonInside: as kJson). Errors: those of
/// RegexNfa.
Result<Nfa> PatternText(std::string_view pattern, TextSpelling spelling, Fuel* fuel);

/// Texts of `length` in one spelling (kJsonInside: as kJson): a state for each character and more.
/// Errors: kInvalidArgument if that is more than kStatesMax; if `fuel` ran dry.
Result<Automaton> LengthText(const StringLength& length, TextSpelling spelling, Fuel* fuel);

/// Texts, each as it stands. Deterministic. Errors as FreeString.
Result<Automaton> OneOf(std::span<const std::string> texts, Fuel* fuel);

/// `text` as a JSON string, with its quotes, in the one spelling.
std::string Quoted(std::string_view text);

/// The regular expression of a format; empty if it is none that strings are held to.
std::string_view FormatPattern(std::string_view format);

}  // namespace skald::grammar
