#include "grammar/nfa.h"

#include <array>
#include <map>
#include <string>
#include <utility>

#include "base/utf8.h"
#include "grammar/utf8_ranges.h"

namespace skald::grammar {

namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";

// How JSON spells a character that may not stand in a string as it is.
std::string JsonEscape(uint32_t character) {
  constexpr std::string_view kShort = "\"\\\b\f\n\r\t";
  constexpr std::string_view kLetters = "\"\\bfnrt";
  const size_t found = kShort.find(static_cast<char>(character));
  if (found != std::string_view::npos) return {'\\', kLetters[found]};
  return std::string("\\u00") + kHexDigits[character >> 4] + kHexDigits[character & 15];
}

bool IsEscapedInJson(uint32_t character) {
  return character < 0x20 || character == '"' || character == '\\';
}

// Parts of `set` that stand in a JSON string as they are; the rest goes to `escaped`.
CharSet PlainInJson(const CharSet& set, std::vector<uint32_t>* escaped) {
  CharSet plain;
  for (const CharRange& range : set) {
    uint32_t first = range.first;
    // Nothing behind the backslash is escaped: the loop is short whatever the range.
    for (uint32_t c = range.first; c <= range.last && c <= '\\'; ++c) {
      if (!IsEscapedInJson(c)) continue;
      escaped->push_back(c);
      if (first < c) plain.push_back({first, c - 1});
      first = c + 1;
    }
    if (first <= range.last) plain.push_back({first, range.last});
  }
  return plain;
}

}  // namespace

uint32_t Nfa::AddState() {
  edges_.emplace_back();
  return static_cast<uint32_t>(edges_.size() - 1);
}

void Nfa::AddText(uint32_t from, uint32_t to, std::string_view bytes) {
  for (size_t i = 0; i < bytes.size(); ++i) {
    const auto byte = static_cast<uint8_t>(bytes[i]);
    const uint32_t next = i + 1 == bytes.size() ? to : AddState();
    AddEdge(from, {NfaEdgeKind::kBytes, byte, byte, next});
    from = next;
  }
}

void Nfa::AddCharacters(uint32_t from, uint32_t to, const CharSet& set, Spelling spelling) {
  std::vector<uint32_t> escaped;
  const CharSet plain = spelling == Spelling::kJsonString ? PlainInJson(set, &escaped) : set;
  for (const uint32_t character : escaped) AddText(from, to, JsonEscape(character));
  // Sequences that end alike share their last states: "any character" takes 7, not 20.
  std::map<std::vector<ByteRange>, uint32_t> tails;
  const auto tail_state = [&](const std::vector<ByteRange>& tail) {
    if (tail.empty()) return std::pair(to, false);
    const auto [entry, is_new] = tails.try_emplace(tail, 0);
    if (is_new) entry->second = AddState();
    return std::pair(entry->second, is_new);
  };
  for (const CharRange& range : plain) {
    for (const std::vector<ByteRange>& sequence : Utf8Sequences(range)) {
      uint32_t state = from;
      bool is_new = true;
      for (size_t i = 0; i < sequence.size() && is_new; ++i) {
        const std::vector<ByteRange> tail(sequence.begin() + static_cast<ptrdiff_t>(i) + 1,
                                          sequence.end());
        const auto [next, made] = tail_state(tail);
        AddEdge(state, {NfaEdgeKind::kBytes, sequence[i].low, sequence[i].high, next});
        state = next;
        is_new = made;
      }
    }
  }
}

}  // namespace skald::grammar
