/// Alphabet: of which characters a piece of text is made, as far as masks ask.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace skald::grammar {

/// Names and words of host names, patterns and the like are of the narrow ones; what a JSON string
/// takes unescaped is plain. Of two of them the characters that both have are one, too, so that
/// each text has a narrowest one.
enum class Alphabet : uint8_t {
  kLower,        ///< a-z
  kLetters,      ///< letters of ASCII
  kAlnum,        ///< and digits
  kLowerWords,   ///< a-z and the space; a word of most vocabularies begins with one
  kLetterWords,  ///< letters and the space
  kAlnumWords,   ///< letters, digits and the space
  kPlain,        ///< all but controls, quotation mark and backslash
};
inline constexpr size_t kAlphabetCount = 7;

/// A text of one alphabet, the narrowest there is.
struct PlainText {
  Alphabet alphabet;
  uint32_t characters;
};

/// None for an empty text, for one with other characters, and for what is not well-formed UTF-8.
std::optional<PlainText> PlainTextOf(std::string_view bytes);

}  // namespace skald::grammar
