#include "cli/utf8.h"

#include <fmt/format.h>
#include <wchar.h>

#include <cstdint>

#include "base/utf8.h"

namespace skald::cli {

namespace {

uint8_t ByteAt(std::string_view text, size_t index) { return static_cast<uint8_t>(text[index]); }

// C1 controls are U+0080 to U+009F, C2 80 to C2 9F in UTF-8; some terminals obey them.
bool IsControl(std::string_view character) {
  const uint8_t first = ByteAt(character, 0);
  if (character.size() == 1) return first < 0x20 || first == 0x7F;
  return character.size() == 2 && first == 0xC2 && ByteAt(character, 1) < 0xA0;
}

void AppendHex(std::string& out, std::string_view bytes) {
  for (size_t i = 0; i < bytes.size(); ++i) out += fmt::format("\\x{:02X}", ByteAt(bytes, i));
}

}  // namespace

std::string ValidUtf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  if (AppendRepaired(text, &out) > 0) out += kReplacementCharacter;
  return out;
}

std::string TerminalText(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Utf8Sequence sequence = ReadUtf8(text);
    const std::string_view character = text.substr(0, static_cast<size_t>(sequence.length));
    const bool valid = sequence.kind == Utf8Sequence::Kind::kWellFormed;
    if (character == "\n" || character == "\t" || (valid && !IsControl(character)))
      out += character;
    else
      AppendHex(out, character);
    text.remove_prefix(character.size());
  }
  return out;
}

std::string TerminalLine(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (c == '\r')
      out += "\\r";
    else
      out += c;
  }
  return TerminalText(out);
}

int CharacterWidth(uint32_t code_point) {
  const int width = wcwidth(static_cast<wchar_t>(code_point));
  return width < 0 ? 1 : width;
}

size_t DisplayWidth(std::string_view text) {
  size_t width = 0;
  while (!text.empty()) {
    const Utf8Sequence sequence = ReadUtf8(text);
    width += static_cast<size_t>(CharacterWidth(sequence.code_point));
    text.remove_prefix(static_cast<size_t>(sequence.length));
  }
  return width;
}

}  // namespace skald::cli
