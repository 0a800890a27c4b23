/// The alphabet of byte-level BPE: how model files spell arbitrary bytes as text.
#pragma once

#include <string>
#include <string_view>

namespace skald::text {

/// Turns the text of a byte-level token, as it stands in the file, into the bytes it means, and
/// appends them to `out`. Each of the 256 bytes is spelled by one character: the printable ones of
/// Latin-1 by themselves, the other 68 by U+0100 onward, in ascending order (so a space is U+0120).
/// Returns false, with `out` unchanged, if a character of `text` spells no byte.
/// Source: bytes_to_unicode in openai/gpt-2 encoder.py.
bool AppendByteLevelDecoded(std::string_view text, std::string* out);

/// The character that spells `byte`, as UTF-8: the inverse, for tests and for looking up tokens.
std::string ByteLevelCharacter(unsigned char byte);

}  // namespace skald::text
