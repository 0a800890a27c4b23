#include "grammar/alphabet.h"

#include <algorithm>

#include "base/utf8.h"

namespace skald::grammar {

namespace {

std::optional<Alphabet> AlphabetOf(uint32_t c) {
  if (c >= 'a' && c <= 'z') return Alphabet::kLower;
  if ((c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')) return Alphabet::kAlnum;
  if (c < 0x20 || c == '"' || c == '\\') return std::nullopt;
  return Alphabet::kPlain;
}

}  // namespace

std::optional<PlainText> PlainTextOf(std::string_view bytes) {
  if (bytes.empty()) return std::nullopt;
  PlainText text = {.alphabet = Alphabet::kLower, .characters = 0};
  for (; !bytes.empty(); ++text.characters) {
    const Utf8Sequence sequence = ReadUtf8(bytes);
    if (sequence.kind != Utf8Sequence::Kind::kWellFormed) return std::nullopt;
    const std::optional<Alphabet> alphabet = AlphabetOf(sequence.code_point);
    if (!alphabet.has_value()) return std::nullopt;
    text.alphabet = std::max(text.alphabet, *alphabet);
    bytes.remove_prefix(static_cast<size_t>(sequence.length));
  }
  return text;
}

}  // namespace skald::grammar
