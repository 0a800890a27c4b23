#include "text/unicode.h"

#include <utf8proc.h>

#include <algorithm>

#include "base/check.h"
#include "base/utf8.h"

namespace skald::text {

namespace {

utf8proc_category_t Category(uint32_t code_point) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(code_point));
}

bool InCategories(uint32_t code_point, utf8proc_category_t first, utf8proc_category_t last) {
  const utf8proc_category_t category = Category(code_point);
  return category >= first && category <= last;
}

utf8proc_propval_t CombiningClass(uint32_t code_point) {
  return utf8proc_get_property(static_cast<utf8proc_int32_t>(code_point))->combining_class;
}

// True if nothing that stands before can change this character, or be changed by it: it begins a
// part that can be normalized alone. Marks and the later letters of Hangul can compose; all other
// characters begin with a starter that is never the second of a pair.
bool BeginsPart(uint32_t code_point) {
  if (code_point < 0x80) return true;
  const bool hangul_tail = code_point >= 0x1160 && code_point <= 0x11FF;
  return !hangul_tail && CombiningClass(code_point) == 0 &&
         !InCategories(code_point, UTF8PROC_CATEGORY_MN, UTF8PROC_CATEGORY_ME);
}

// Appends what one part becomes, and empties it.
void AppendComposed(std::vector<uint32_t>* part, std::string* out) {
  std::vector<uint32_t> letters;
  for (const uint32_t code_point : *part) AppendDecomposition(code_point, &letters);
  // The library would order marks by exchanging neighbours, in quadratic time.
  for (auto begin = letters.begin(); begin != letters.end();) {
    if (CombiningClass(*begin) == 0) {
      ++begin;
      continue;
    }
    const auto end = std::find_if(begin, letters.end(),
                                  [](uint32_t letter) { return CombiningClass(letter) == 0; });
    std::stable_sort(begin, end,
                     [](uint32_t a, uint32_t b) { return CombiningClass(a) < CombiningClass(b); });
    begin = end;
  }
  static_assert(sizeof(utf8proc_int32_t) == sizeof(uint32_t));
  const utf8proc_ssize_t count =
      utf8proc_normalize_utf32(reinterpret_cast<utf8proc_int32_t*>(letters.data()),
                               static_cast<utf8proc_ssize_t>(letters.size()),
                               static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  CHECK(count >= 0 && static_cast<size_t>(count) <= letters.size());
  letters.resize(static_cast<size_t>(count));
  for (const uint32_t letter : letters) AppendUtf8(letter, out);
  part->clear();
}

}  // namespace

bool IsWhiteSpace(uint32_t code_point) {
  return (code_point >= 0x09 && code_point <= 0x0D) || code_point == 0x85 ||
         InCategories(code_point, UTF8PROC_CATEGORY_ZS, UTF8PROC_CATEGORY_ZP);
}

bool IsPunctuation(uint32_t code_point) {
  return InCategories(code_point, UTF8PROC_CATEGORY_PC, UTF8PROC_CATEGORY_PO);
}

bool IsControl(uint32_t code_point) {
  return InCategories(code_point, UTF8PROC_CATEGORY_CC, UTF8PROC_CATEGORY_CO);
}

bool IsNonspacingMark(uint32_t code_point) { return Category(code_point) == UTF8PROC_CATEGORY_MN; }

void AppendLowerCase(uint32_t code_point, std::vector<uint32_t>* out) {
  constexpr uint32_t kCapitalIWithDot = 0x130;
  out->push_back(
      static_cast<uint32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(code_point))));
  if (code_point == kCapitalIWithDot) out->push_back(0x307);  // SpecialCasing.txt
}

void AppendDecomposition(uint32_t code_point, std::vector<uint32_t>* out) {
  constexpr utf8proc_ssize_t kMost = 4;
  utf8proc_int32_t letters[kMost];
  int boundary = 0;  // of grapheme clusters, which are not asked for
  const utf8proc_ssize_t count = utf8proc_decompose_char(
      static_cast<utf8proc_int32_t>(code_point), letters, kMost, UTF8PROC_DECOMPOSE, &boundary);
  CHECK(count >= 1 && count <= kMost);
  for (utf8proc_ssize_t i = 0; i < count; ++i) out->push_back(static_cast<uint32_t>(letters[i]));
}

Result<std::string> NormalizedC(std::string_view text, Pace* pace) {
  std::string normalized;
  normalized.reserve(text.size());
  std::vector<uint32_t> part;
  while (!text.empty()) {
    const Utf8Sequence first = ReadUtf8(text);
    const auto length = static_cast<size_t>(first.length);
    const bool character = first.kind == Utf8Sequence::Kind::kWellFormed;
    if (!character || BeginsPart(first.code_point)) AppendComposed(&part, &normalized);
    if (character) {
      part.push_back(first.code_point);
    } else {
      normalized.append(text.substr(0, length));
    }
    if (!pace->Go(length)) return Pace::Stopped();
    text.remove_prefix(length);
  }
  AppendComposed(&part, &normalized);
  return normalized;
}

}  // namespace skald::text
