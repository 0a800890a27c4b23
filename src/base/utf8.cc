#include "base/utf8.h"

namespace skald {

namespace {

uint8_t At(std::string_view bytes, size_t i) { return static_cast<uint8_t>(bytes[i]); }

}  // namespace

Utf8Sequence ReadUtf8(std::string_view bytes) {
  using Kind = Utf8Sequence::Kind;
  const uint8_t lead = At(bytes, 0);
  if (lead < 0x80) return {Kind::kWellFormed, 1, lead};
  if (lead < 0xC2 || lead > 0xF4) return {Kind::kIllFormed, 1, 0};
  const int length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  // Table 3-7: only the second byte has a narrower range than 80..BF, which keeps out overlong
  // forms, surrogates and code points above U+10FFFF.
  uint8_t low = 0x80, high = 0xBF;
  if (lead == 0xE0) low = 0xA0;
  if (lead == 0xED) high = 0x9F;
  if (lead == 0xF0) low = 0x90;
  if (lead == 0xF4) high = 0x8F;
  uint32_t code_point = lead & (0xFFu >> (length + 1));
  for (int i = 1; i < length; ++i) {
    if (static_cast<size_t>(i) == bytes.size()) return {Kind::kIncomplete, i, 0};
    const uint8_t byte = At(bytes, static_cast<size_t>(i));
    if (byte < low || byte > high) return {Kind::kIllFormed, i, 0};
    code_point = code_point << 6 | (byte & 0x3Fu);
    low = 0x80;
    high = 0xBF;
  }
  return {Kind::kWellFormed, length, code_point};
}

size_t WellFormedPrefix(std::string_view bytes) {
  size_t at = 0;
  while (at < bytes.size()) {
    const Utf8Sequence sequence = ReadUtf8(bytes.substr(at));
    if (sequence.kind != Utf8Sequence::Kind::kWellFormed) break;
    at += static_cast<size_t>(sequence.length);
  }
  return at;
}

void AppendUtf8(uint32_t code_point, std::string* out) {
  const auto append = [out](uint32_t byte) { out->push_back(static_cast<char>(byte)); };
  if (code_point < 0x80) {
    append(code_point);
  } else if (code_point < 0x800) {
    append(0xC0 | code_point >> 6);
    append(0x80 | (code_point & 0x3F));
  } else if (code_point < 0x10000) {
    append(0xE0 | code_point >> 12);
    append(0x80 | (code_point >> 6 & 0x3F));
    append(0x80 | (code_point & 0x3F));
  } else {
    append(0xF0 | code_point >> 18);
    append(0x80 | (code_point >> 12 & 0x3F));
    append(0x80 | (code_point >> 6 & 0x3F));
    append(0x80 | (code_point & 0x3F));
  }
}

size_t AppendRepaired(std::string_view bytes, std::string* out) {
  while (!bytes.empty()) {
    const size_t prefix = WellFormedPrefix(bytes);
    out->append(bytes.substr(0, prefix));
    bytes.remove_prefix(prefix);
    if (bytes.empty()) break;
    const Utf8Sequence sequence = ReadUtf8(bytes);
    if (sequence.kind == Utf8Sequence::Kind::kIncomplete) return bytes.size();
    out->append(kReplacementCharacter);
    bytes.remove_prefix(static_cast<size_t>(sequence.length));
  }
  return 0;
}

}  // namespace skald
