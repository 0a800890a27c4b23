#include "chat/search.h"

#include <string.h>

#include <algorithm>
#include <cstdint>

namespace skald::chat {

namespace {

// Up to here the C library's search is used: it compares the whole needle at each place at worst,
// and is some ten times as fast as ours at best. All markers of templates are shorter.
constexpr size_t kShortBytes = 16;

// A text read from its beginning, and from its end.
struct Forward {
  std::string_view text;
  size_t size() const { return text.size(); }
  uint8_t operator[](size_t i) const { return static_cast<uint8_t>(text[i]); }
};
struct Backward {
  std::string_view text;
  size_t size() const { return text.size(); }
  uint8_t operator[](size_t i) const { return static_cast<uint8_t>(text[text.size() - 1 - i]); }
};

// `Bytes` under the other order of its letters.
template <typename Bytes>
struct Inverse {
  Bytes bytes;
  size_t size() const { return bytes.size(); }
  uint8_t operator[](size_t i) const { return static_cast<uint8_t>(~bytes[i]); }
};

}  // namespace

// Where the largest suffix of `needle` begins, by the order of its bytes; its period.
template <typename Bytes>
size_t Needle::MaximalSuffix(Bytes needle, size_t* period) {
  size_t best = 0;   // begin of the largest suffix so far
  size_t other = 1;  // begin of the one it is compared with
  size_t offset = 0;
  *period = 1;
  while (other + offset < needle.size()) {
    const uint8_t a = needle[other + offset];
    const uint8_t b = needle[best + offset];
    if (a < b) {
      other += offset + 1;
      offset = 0;
      *period = other - best;
    } else if (a > b) {
      best = other++;
      offset = 0;
      *period = 1;
    } else if (offset + 1 == *period) {
      other += *period;
      offset = 0;
    } else {
      ++offset;
    }
  }
  return best;
}

template <typename Bytes>
Needle::Cut Needle::CutOf(Bytes needle) {
  size_t period = 1;
  size_t inverse_period = 1;
  size_t left = MaximalSuffix(needle, &period);
  const size_t inverse_left = MaximalSuffix(Inverse<Bytes>{needle}, &inverse_period);
  if (inverse_left > left) {
    left = inverse_left;
    period = inverse_period;
  }
  bool periodic = true;
  for (size_t i = 0; i < left && periodic; ++i) periodic = needle[i] == needle[i + period];
  if (!periodic) period = std::max(left, needle.size() - left) + 1;
  return {left, period, periodic};
}

template <typename Bytes>
size_t Needle::Search(Bytes text, Bytes needle, const Cut& cut) {
  size_t at = 0;
  size_t known = 0;  // bytes at the front of the needle that are known to match at `at`
  while (at + needle.size() <= text.size()) {
    size_t i = std::max(cut.left, known);
    while (i < needle.size() && needle[i] == text[at + i]) ++i;
    if (i < needle.size()) {
      at += i - cut.left + 1;
      known = 0;
      continue;
    }
    i = cut.left;
    while (i > known && needle[i - 1] == text[at + i - 1]) --i;
    if (i <= known) return at;
    at += cut.period;
    known = cut.periodic ? needle.size() - cut.period : 0;
  }
  return std::string_view::npos;
}

Needle::Needle(std::string_view needle)
    : needle_(needle), forward_(CutOf(Forward{needle})), backward_(CutOf(Backward{needle})) {}

size_t Needle::Find(std::string_view text, size_t from) const {
  if (from > text.size()) return std::string_view::npos;
  const std::string_view rest = text.substr(from);
  if (needle_.size() <= kShortBytes) {
    const void* found = memmem(rest.data(), rest.size(), needle_.data(), needle_.size());
    if (found == nullptr) return std::string_view::npos;
    return static_cast<size_t>(static_cast<const char*>(found) - text.data());
  }
  const size_t found = Search(Forward{rest}, Forward{needle_}, forward_);
  return found == std::string_view::npos ? found : from + found;
}

size_t Needle::FindLast(std::string_view text) const {
  const size_t found = Search(Backward{text}, Backward{needle_}, backward_);
  return found == std::string_view::npos ? found : text.size() - found - needle_.size();
}

}  // namespace skald::chat
