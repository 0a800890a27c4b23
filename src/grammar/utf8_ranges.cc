#include "grammar/utf8_ranges.h"

#include <string>

#include "base/utf8.h"

namespace skald::grammar {

namespace {

// The last character of each length, and where a sequence of that length is cut so that all but
// its last bytes are single or complete.
constexpr uint32_t kLengthLasts[] = {0x7F, 0x7FF, 0xFFFF, kLastCharacter};

std::string Spell(uint32_t character) {
  std::string bytes;
  AppendUtf8(character, &bytes);
  return bytes;
}

// The first place where a range must be cut to become a product of byte ranges, or its last
// character if it need not be.
uint32_t FirstCut(CharRange range) {
  for (const uint32_t last : kLengthLasts)
    if (range.first <= last && last < range.last) return last;
  for (int bits = 6; bits <= 18; bits += 6) {
    const uint32_t mask = (uint32_t{1} << bits) - 1;
    if ((range.first & ~mask) == (range.last & ~mask)) continue;
    if ((range.first & mask) != 0) return range.first | mask;
    if ((range.last & mask) != mask) return (range.last & ~mask) - 1;
  }
  return range.last;
}

}  // namespace

std::vector<std::vector<ByteRange>> Utf8Sequences(CharRange range) {
  std::vector<std::vector<ByteRange>> sequences;
  while (range.first <= range.last) {
    CharRange part = range;
    // A cut may leave a part that must be cut again.
    for (uint32_t cut = FirstCut(part); cut != part.last; cut = FirstCut(part)) part.last = cut;
    const std::string low = Spell(part.first);
    const std::string high = Spell(part.last);
    std::vector<ByteRange> sequence;
    for (size_t i = 0; i < low.size(); ++i)
      sequence.push_back({static_cast<uint8_t>(low[i]), static_cast<uint8_t>(high[i])});
    sequences.push_back(std::move(sequence));
    range.first = part.last + 1;
  }
  return sequences;
}

}  // namespace skald::grammar
