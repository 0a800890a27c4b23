/// What the Unicode Character Database says of characters, and normalization form C.
///
/// The tables are utf8proc's (Unicode 15). Only this file knows the library.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "skald/status.h"
#include "text/pace.h"

namespace skald::text {

/// The property White_Space.
bool IsWhiteSpace(uint32_t code_point);
/// A general category that begins with P.
bool IsPunctuation(uint32_t code_point);
/// The general categories Cc, Cf, Cs and Co: control, format, surrogate, private use. Not Cn: what
/// is unassigned in these tables may be a letter in those of a later version.
bool IsControl(uint32_t code_point);
/// The general category Mn.
bool IsNonspacingMark(uint32_t code_point);

/// Appends the lower-case mapping, which has two characters for U+0130 alone. No mapping that
/// depends on a language or on neighbours.
void AppendLowerCase(uint32_t code_point, std::vector<uint32_t>* out);
/// Appends the full canonical decomposition, at most four characters.
void AppendDecomposition(uint32_t code_point, std::vector<uint32_t>* out);

/// `text` in normalization form C. Bytes that are no UTF-8 stay as they are, and nothing is
/// composed across them. Time O(n log n) whatever the text. Errors: kCancelled if `pace` ended it.
/// Source: Unicode Standard Annex 15.
Result<std::string> NormalizedC(std::string_view text, Pace* pace);

}  // namespace skald::text
