/// UTF-8 for output: repairing, escaping and measuring text that is about to be shown.
///
/// What the command prints can come from a model file or from a model, so from anywhere: it may be
/// ill-formed, and it may hold the control characters with which a terminal is reprogrammed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace skald::cli {

/// `text` with each ill-formed sequence replaced by U+FFFD.
std::string ValidUtf8(std::string_view text);

/// `text` for a terminal: newline and tab stay, every other control character (C0, DEL, C1) and
/// every ill-formed byte becomes \xHH. No text can move the cursor or change colours.
std::string TerminalText(std::string_view text);

/// `text` for one cell of a table or one line of a message: as TerminalText, and newline, tab and
/// carriage return become \n, \t and \r.
std::string TerminalLine(std::string_view text);

/// Columns that a character takes on a terminal: 0 (combining, joining), 1, or 2 (East Asian wide,
/// emoji), as the system's locale data says (UseUtf8Locale); 1 if it does not know.
int CharacterWidth(uint32_t code_point);

/// Columns that valid UTF-8 takes on a terminal.
size_t DisplayWidth(std::string_view text);

}  // namespace skald::cli
