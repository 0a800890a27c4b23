/// Python's escapes in string literals.
#pragma once

#include <string>
#include <string_view>

#include "skald/status.h"

namespace skald::chat {

/// Appends what `literal`, the inside of a string, means: \n, \t, \xhh, \uhhhh, \Uhhhhhhhh, octal,
/// a backslash before a newline; an unknown escape stays as it is. A pair of surrogates is one
/// character. Errors, kBadModel: a truncated escape, a character beyond U+10FFFF or half a pair, a
/// name (\N{...}).
Status Unescape(std::string_view literal, std::string* out);

}  // namespace skald::chat
