/// Symbols: the text of a model as the readers of answers see it, byte by byte.
///
/// A symbol is a byte of text, or a marker that was a control token (kMarkBase and above): the two
/// are different things, whatever the names of control tokens spell. In the text of a decoder a
/// mark is two bytes, 0xFF and 0x80 + its number. No UTF-8 has the first one, so no text has it,
/// and no stop string can begin or end inside.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace skald::chat {

using Symbol = char16_t;
using Symbols = std::u16string;

inline constexpr Symbol kMarkBase = 0x100;
inline constexpr size_t kMaxMarks = 64;
inline constexpr unsigned char kMarkByte = 0xFF;
inline constexpr unsigned char kMarkNumber = 0x80;

inline bool IsMark(Symbol symbol) { return symbol >= kMarkBase; }

/// The white space that stands around markers.
inline bool IsBlank(Symbol symbol) {
  return symbol == ' ' || symbol == '\n' || symbol == '\r' || symbol == '\t';
}

/// The bytes; marks have none.
inline void AppendBytes(const Symbols& symbols, std::string* out) {
  for (const Symbol symbol : symbols)
    if (!IsMark(symbol)) *out += static_cast<char>(symbol);
}

inline std::string BytesOf(const Symbols& symbols) {
  std::string bytes;
  AppendBytes(symbols, &bytes);
  return bytes;
}

/// The bytes of `text`, which has no marks.
inline Symbols SymbolsOf(std::string_view text) {
  Symbols symbols;
  for (const char c : text) symbols += static_cast<unsigned char>(c);
  return symbols;
}

}  // namespace skald::chat
