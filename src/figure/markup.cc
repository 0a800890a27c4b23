#include "figure/markup.h"

#include <fmt/format.h>

#include "base/utf8.h"

namespace skald::figure {
namespace {

bool IsIn(uint32_t code, uint32_t first, uint32_t last) { return first <= code && code <= last; }

// What would be obeyed or not be seen: C0, DEL and C1; soft hyphen; Arabic letter mark; zero width,
// marks and overrides of direction, separators of lines; word joiner to isolates; byte order mark;
// tags.
bool IsHidden(uint32_t code) {
  return code < 0x20 || IsIn(code, 0x7F, 0x9F) || code == 0xAD || code == 0x61C ||
         IsIn(code, 0x200B, 0x200F) || IsIn(code, 0x2028, 0x202E) || IsIn(code, 0x2060, 0x206F) ||
         code == 0xFEFF || IsIn(code, 0xE0000, 0xE007F);
}

std::string_view EntityOf(uint32_t code) {
  switch (code) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '"': return "&quot;";
    case '\'': return "&#39;";
    default: return {};
  }
}

// What a token shows for white space.
std::string_view PictureOf(uint32_t code) {
  switch (code) {
    case ' ': return "\xE2\x90\xA3";
    case '\n': return "\xE2\x90\x8A";
    case '\t': return "\xE2\x90\x89";
    default: return {};
  }
}

enum class Blanks : uint8_t { kKept, kPictures };

void AppendCharacter(uint32_t code, std::string_view bytes, Blanks blanks, std::string* out) {
  if (blanks == Blanks::kPictures && !PictureOf(code).empty()) {
    *out += PictureOf(code);
  } else if (!EntityOf(code).empty()) {
    *out += EntityOf(code);
  } else if (IsHidden(code)) {
    *out += fmt::format("U+{:04X}", code);
  } else {
    *out += bytes;
  }
}

std::string Escaped(std::string_view text, Blanks blanks) {
  std::string out;
  while (!text.empty()) {
    const Utf8Sequence sequence = ReadUtf8(text);
    const auto length = static_cast<size_t>(sequence.length);
    const std::string_view bytes = text.substr(0, length);
    if (sequence.kind == Utf8Sequence::Kind::kWellFormed) {
      AppendCharacter(sequence.code_point, bytes, blanks, &out);
    } else {
      for (const char byte : bytes) out += fmt::format("\\x{:02X}", static_cast<uint8_t>(byte));
    }
    text.remove_prefix(length);
  }
  return out;
}

}  // namespace

std::string HtmlText(std::string_view text) { return Escaped(text, Blanks::kKept); }
std::string HtmlToken(std::string_view token) { return Escaped(token, Blanks::kPictures); }

}  // namespace skald::figure
