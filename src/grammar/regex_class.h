/// Classes and escapes of regular expressions: what stands for one character.
#pragma once

#include <optional>

#include "grammar/char_set.h"
#include "grammar/source_text.h"
#include "skald/status.h"

namespace skald::grammar {

/// Whether an escape stands in a class, where \b is a backspace.
enum class EscapePlace : uint8_t { kOutside, kInClass };

/// What an escape stands for: a set, or a single character.
struct Escape {
  CharSet set;
  std::optional<char32_t> character;  ///< unless it is a class such as \d
};

/// Reads an escape behind its backslash. Errors: with the construct and its place.
Result<Escape> TakeEscape(SourceText* text, EscapePlace place);

/// Reads a class behind its opening bracket, with the closing one.
Result<CharSet> TakeClass(SourceText* text);

/// What `.` stands for: no end of a line.
CharSet DotSet();

}  // namespace skald::grammar
