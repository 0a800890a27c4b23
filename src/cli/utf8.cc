#include "cli/utf8.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace skald::cli {

namespace {

uint8_t ByteAt(std::string_view text, size_t index) { return static_cast<uint8_t>(text[index]); }

// The second byte's range excludes overlong forms, surrogates and code points above U+10FFFF
// (Unicode 15, table 3-7); all later bytes are 80..BF.
struct Lead {
  size_t length = 0;  // 0: not a lead byte
  uint8_t second_min = 0x80;
  uint8_t second_max = 0xBF;
};

Lead LeadOf(uint8_t byte) {
  if (byte < 0x80) return {1};
  if (byte < 0xC2) return {0};
  if (byte < 0xE0) return {2};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};
  if (byte == 0xED) return {3, 0x80, 0x9F};
  if (byte < 0xF0) return {3};
  if (byte == 0xF0) return {4, 0x90, 0xBF};
  if (byte < 0xF4) return {4};
  if (byte == 0xF4) return {4, 0x80, 0x8F};
  return {0};
}

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

Utf8Step NextUtf8(std::string_view text) {
  const Lead lead = LeadOf(ByteAt(text, 0));
  if (lead.length == 0) return {1, false};
  for (size_t i = 1; i < lead.length; ++i) {
    const uint8_t low = i == 1 ? lead.second_min : 0x80;
    const uint8_t high = i == 1 ? lead.second_max : 0xBF;
    if (i >= text.size() || ByteAt(text, i) < low || ByteAt(text, i) > high) return {i, false};
  }
  return {lead.length, true};
}

std::string ValidUtf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Utf8Step step = NextUtf8(text);
    out += step.valid ? text.substr(0, step.length) : kReplacement;
    text.remove_prefix(step.length);
  }
  return out;
}

bool IsValidUtf8(std::string_view text) {
  while (!text.empty()) {
    const Utf8Step step = NextUtf8(text);
    if (!step.valid) return false;
    text.remove_prefix(step.length);
  }
  return true;
}

std::string TerminalText(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Utf8Step step = NextUtf8(text);
    const std::string_view character = text.substr(0, step.length);
    if (character == "\n" || character == "\t" || (step.valid && !IsControl(character)))
      out += character;
    else
      AppendHex(out, character);
    text.remove_prefix(step.length);
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

size_t DisplayWidth(std::string_view text) {
  const auto starts_character = [](char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; };
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), starts_character));
}

}  // namespace skald::cli
