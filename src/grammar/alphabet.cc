#include "grammar/alphabet.h"

#include "base/utf8.h"

namespace skald::grammar {

namespace {

// What a text has beside a-z.
struct Kinds {
  bool upper = false;
  bool digit = false;
  bool space = false;
  bool other = false;

  // False for what no alphabet has.
  bool Add(uint32_t c) {
    if (c < 0x20 || c == '"' || c == '\\') return false;
    if (c >= 'a' && c <= 'z') return true;
    if (c >= 'A' && c <= 'Z')
      upper = true;
    else if (c >= '0' && c <= '9')
      digit = true;
    else if (c == ' ')
      space = true;
    else
      other = true;
    return true;
  }

  Alphabet Narrowest() const {
    if (other) return Alphabet::kPlain;
    if (digit) return space ? Alphabet::kAlnumWords : Alphabet::kAlnum;
    if (upper) return space ? Alphabet::kLetterWords : Alphabet::kLetters;
    return space ? Alphabet::kLowerWords : Alphabet::kLower;
  }
};

}  // namespace

std::optional<PlainText> PlainTextOf(std::string_view bytes) {
  if (bytes.empty()) return std::nullopt;
  Kinds kinds;
  uint32_t characters = 0;
  for (; !bytes.empty(); ++characters) {
    const Utf8Sequence sequence = ReadUtf8(bytes);
    if (sequence.kind != Utf8Sequence::Kind::kWellFormed) return std::nullopt;
    if (!kinds.Add(sequence.code_point)) return std::nullopt;
    bytes.remove_prefix(static_cast<size_t>(sequence.length));
  }
  return PlainText{.alphabet = kinds.Narrowest(), .characters = characters};
}

}  // namespace skald::grammar
