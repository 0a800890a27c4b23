/// What filters and methods of texts have in common. All keep the origin of every byte.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "chat/builtins.h"
#include "chat/text.h"
#include "chat/value.h"

namespace skald::chat {

/// Which ends Strip works on.
enum class Ends : uint8_t { kBoth, kLeft, kRight };

/// Python's strip: white space, or the characters of `set`, off the ends.
Text Strip(Budget& budget, const Text& text, Ends ends, const Text* set);

/// How case is changed.
enum class CaseChange : uint8_t {
  kUpper,
  kLower,
  kCapitalize,  ///< the first character up, the others down
  kTitle,       ///< str.title: the first letter of every run of letters up
  kWords,       ///< the filter title: up after a space, "-" or an opening bracket
};
Text ChangeCase(Budget& budget, const Text& text, CaseChange change);

/// Python's replace; `count` below 0 is all.
Text Replace(Budget& budget, const Text& text, const Text& from, const Text& to, int64_t count);

/// Pieces of a text.
using Pieces = Counted<TextRange>;

/// Python's split at `separator`, which is not empty, at most `limit` times (below 0: always).
Pieces SplitAt(Budget& budget, std::string_view text, std::string_view separator, int64_t limit);
/// Python's split at white space.
Pieces SplitAtSpace(Budget& budget, std::string_view text, int64_t limit);
/// Python's splitlines.
Pieces SplitLines(Budget& budget, std::string_view text);
/// How often `part`, which is not empty, stands in `text`, without overlap.
int64_t CountOf(Budget& budget, std::string_view text, std::string_view part);

/// The pieces as a list of texts.
Value ToList(Runtime& runtime, const Text& text, const Pieces& pieces);

/// `separator`.join(items), each item as str() gives it.
Text JoinTexts(Runtime& runtime, const Text& separator, std::span<const Value> items);

}  // namespace skald::chat
