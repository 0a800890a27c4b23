/// CharSet: a set of Unicode characters.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace skald::grammar {

/// Characters `first` to `last`, both included.
struct CharRange {
  uint32_t first;
  uint32_t last;

  friend bool operator==(const CharRange&, const CharRange&) = default;
};

/// Ranges, ascending, disjoint and not adjacent. Surrogates (U+D800 to U+DFFF) are no characters:
/// no function here puts one into a set.
using CharSet = std::vector<CharRange>;

inline constexpr uint32_t kLastCharacter = 0x10FFFF;

/// True for what UTF-8 can spell: up to U+10FFFF, no surrogate.
constexpr bool IsCharacter(uint32_t code_point) {
  return code_point <= kLastCharacter && (code_point < 0xD800 || code_point > 0xDFFF);
}

/// The set of these ranges, in any order, which may overlap. O(n log n).
CharSet MakeCharSet(std::vector<CharRange> ranges);

/// All characters that are not in `set`. Linear.
CharSet Complement(const CharSet& set);

/// All characters.
CharSet AllCharacters();

}  // namespace skald::grammar
