/// UTF-8 by the letter of the Unicode Standard: what is well-formed, and how to repair what is not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace skald {

/// What stands at the beginning of some bytes.
struct Utf8Sequence {
  enum class Kind : uint8_t {
    kWellFormed,  ///< one character
    kIllFormed,   ///< bytes that cannot be part of any character, whatever follows
    kIncomplete,  ///< all the bytes there are; a character if the right bytes follow
  };
  Kind kind;
  int length;           ///< bytes: 1 to 4; of kIllFormed the maximal subpart, 1 to 3
  uint32_t code_point;  ///< of kWellFormed
};

/// Reads the first sequence of `bytes`, which must not be empty. The maximal subpart of an
/// ill-formed sequence is the longest prefix of a well-formed one, or one byte.
/// Source: The Unicode Standard 15, section 3.9, table 3-7 and "U+FFFD substitution".
Utf8Sequence ReadUtf8(std::string_view bytes);

/// Length of the longest prefix of `bytes` that is well-formed. Linear.
size_t WellFormedPrefix(std::string_view bytes);

/// Appends a code point, at most U+10FFFF.
void AppendUtf8(uint32_t code_point, std::string* out);

/// U+FFFD REPLACEMENT CHARACTER.
inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";

/// Appends `bytes` to `out` with each maximal subpart of an ill-formed sequence replaced by U+FFFD,
/// up to an incomplete sequence at the end; returns the length of that sequence (0 to 3), whose
/// bytes are not appended. Source: WHATWG Encoding Standard, "UTF-8 decoder".
size_t AppendRepaired(std::string_view bytes, std::string* out);

}  // namespace skald
