#include "grammar/char_set.h"

#include <algorithm>

namespace skald::grammar {

namespace {

constexpr uint32_t kFirstSurrogate = 0xD800;
constexpr uint32_t kLastSurrogate = 0xDFFF;

// Appends a range without the surrogates in it.
void AppendCharacters(CharRange range, CharSet* out) {
  const CharRange low{range.first, std::min(range.last, kFirstSurrogate - 1)};
  const CharRange high{std::max(range.first, kLastSurrogate + 1), range.last};
  if (low.first <= low.last) out->push_back(low);
  if (high.first <= high.last) out->push_back(high);
}

}  // namespace

CharSet MakeCharSet(std::vector<CharRange> ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const CharRange& a, const CharRange& b) { return a.first < b.first; });
  std::vector<CharRange> merged;
  for (const CharRange& range : ranges) {
    if (!merged.empty() && range.first <= merged.back().last + 1)
      merged.back().last = std::max(merged.back().last, range.last);
    else
      merged.push_back(range);
  }
  CharSet set;
  for (const CharRange& range : merged) AppendCharacters(range, &set);
  return set;
}

CharSet Complement(const CharSet& set) {
  CharSet rest;
  uint32_t next = 0;
  for (const CharRange& range : set) {
    if (next < range.first) AppendCharacters({next, range.first - 1}, &rest);
    next = range.last + 1;
  }
  if (next <= kLastCharacter) AppendCharacters({next, kLastCharacter}, &rest);
  return rest;
}

CharSet AllCharacters() { return Complement({}); }

}  // namespace skald::grammar
