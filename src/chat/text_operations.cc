#include "chat/text_operations.h"

#include <algorithm>
#include <string>

#include "base/utf8.h"
#include "chat/letter_case.h"
#include "chat/python_format.h"
#include "chat/search.h"

namespace skald::chat {

namespace {

Markup MarkupOf(const Text& text) { return text.is_markup() ? Markup::kYes : Markup::kNo; }

bool IsLetter(char32_t c) { return ToUpper(c) != c || ToLower(c) != c || c == 0xDF; }

// Whether a character is upper case by `change`, given whether it begins a word and a letter stood
// before it.
bool GoesUp(CaseChange change, bool first, bool word_start, bool after_letter) {
  switch (change) {
    case CaseChange::kUpper: return true;
    case CaseChange::kLower: return false;
    case CaseChange::kCapitalize: return first;
    case CaseChange::kTitle: return !after_letter;
    case CaseChange::kWords: return word_start;
  }
  return false;
}

}  // namespace

Text Strip(Budget& budget, const Text& text, Ends ends, const Text* set) {
  Counted<char32_t> wanted(budget);
  if (set != nullptr) {
    for (Characters characters(set->bytes()); characters.Next();)
      if (!wanted.Add(characters.code_point())) break;
  }
  std::sort(wanted.begin(), wanted.end());
  const auto strips = [&](char32_t c) {
    return set == nullptr ? IsSpace(c) : std::binary_search(wanted.begin(), wanted.end(), c);
  };
  // From each end up to what stays: a long text without blanks costs nothing.
  std::string_view kept = text.bytes();
  if (ends != Ends::kRight) {
    Characters characters(kept);
    while (characters.Next() && strips(characters.code_point())) {
    }
    kept.remove_prefix(characters.begin());
  }
  const size_t begin = text.size() - kept.size();
  while (ends != Ends::kLeft && !kept.empty()) {
    const size_t last = LastCharacter(kept);
    Characters character(kept.substr(last));
    character.Next();
    if (!strips(character.code_point())) break;
    kept = kept.substr(0, last);
  }
  budget.Read(text.size() - kept.size());
  return Slice(budget, text, begin, begin + kept.size());
}

Text ChangeCase(Budget& budget, const Text& text, CaseChange change) {
  // Letters outside of ASCII are looked up in a table of ranges, three times each.
  constexpr size_t kLookups = 4;
  budget.Read(text.size() * (text.is_ascii() ? 1 : kLookups));
  TextBuilder builder(budget);
  bool first = true;
  bool word_start = true;
  bool after_letter = false;
  size_t same = 0;      // where the characters begin that are the same and not yet added
  std::string changed;  // and those behind them that are not, all of one origin
  Origin origin = Origin::kData;
  for (Characters characters(text.bytes()); characters.Next() && !budget.exhausted();) {
    const char32_t c = characters.code_point();
    const bool up = GoesUp(change, first, word_start, after_letter);
    const char32_t mapped = up ? ToUpper(c) : ToLower(c);
    const bool sharp_s = up && c == 0xDF;
    if (mapped == c && !sharp_s) {
      builder.Add(changed, origin);
      changed.clear();
    } else {
      const Origin mine = text.OriginAt(characters.begin());
      constexpr size_t kMaxPending = 256;
      if (same < characters.begin() || mine != origin || changed.size() >= kMaxPending) {
        builder.Add(changed, origin);
        changed.clear();
        builder.AddSlice(text, same, characters.begin());
        origin = mine;
      }
      if (sharp_s) {
        changed += change == CaseChange::kUpper || change == CaseChange::kWords ? "SS" : "Ss";
      } else {
        AppendUtf8(mapped, &changed);
      }
      same = characters.end();
    }
    first = false;
    after_letter = IsLetter(c);
    word_start = IsSpace(c) || (c < 0x80 && std::string_view("-({[<").find(static_cast<char>(c)) !=
                                                std::string_view::npos);
  }
  if (same == 0) return text;
  builder.Add(changed, origin);
  builder.AddSlice(text, same, text.size());
  return builder.Take(MarkupOf(text));
}

namespace {

// `to` between every two characters of `text` and at both ends, `count` times at most.
Text InsertBetween(Budget& budget, const Text& text, const Text& to, int64_t count) {
  TextBuilder builder(budget);
  size_t at = 0;
  Characters characters(text.bytes());
  for (int64_t done = 0; (count < 0 || done < count) && !budget.exhausted(); ++done) {
    builder.AddSlice(text, at, characters.end());
    at = characters.end();
    builder.Add(to);
    if (!budget.Spend(1) || !characters.Next()) break;
  }
  builder.AddSlice(text, at, text.size());
  return builder.Take(MarkupOf(text));
}

}  // namespace

Text Replace(Budget& budget, const Text& text, const Text& from, const Text& to, int64_t count) {
  if (from.empty()) return InsertBetween(budget, text, to, count);
  budget.Scan(text.size());
  if (from.size() > text.size()) return text;
  const Needle needle(from.bytes());
  TextBuilder builder(budget);
  size_t at = 0;
  for (int64_t done = 0; (count < 0 || done < count) && budget.Spend(1); ++done) {
    const size_t found = needle.Find(text.bytes(), at);
    if (found == std::string_view::npos) break;
    builder.AddSlice(text, at, found);
    builder.Add(to);
    at = found + from.size();
  }
  builder.AddSlice(text, at, text.size());
  return builder.Take(MarkupOf(text));
}

Pieces SplitAt(Budget& budget, std::string_view text, std::string_view separator, int64_t limit) {
  Pieces pieces(budget);
  size_t at = 0;
  if (separator.size() <= text.size()) {
    budget.Scan(text.size());
    const Needle needle(separator);
    while (limit < 0 || static_cast<int64_t>(pieces.size()) < limit) {
      const size_t found = needle.Find(text, at);
      if (found == std::string_view::npos || !pieces.Add({at, found})) break;
      at = found + separator.size();
    }
  }
  pieces.Add({at, text.size()});
  return pieces;
}

int64_t CountOf(Budget& budget, std::string_view text, std::string_view part) {
  if (part.size() > text.size()) return 0;
  budget.Scan(text.size());
  const Needle needle(part);
  int64_t count = 0;
  for (size_t at = needle.Find(text, 0); at != std::string_view::npos && budget.Spend(1);
       at = needle.Find(text, at + part.size()))
    ++count;
  return count;
}

Pieces SplitAtSpace(Budget& budget, std::string_view text, int64_t limit) {
  Pieces pieces(budget);
  budget.Read(text.size());
  size_t begin = std::string_view::npos;  // of the word being read
  for (Characters characters(text); characters.Next();) {
    const bool space = IsSpace(characters.code_point());
    const bool in_word = begin != std::string_view::npos;
    if (!space && !in_word) begin = characters.begin();
    if (!space && !in_word && limit >= 0 && static_cast<int64_t>(pieces.size()) == limit) break;
    if (space && in_word) {
      if (!pieces.Add({begin, characters.begin()})) break;
      begin = std::string_view::npos;
    }
  }
  // The last word, or after `limit` of them all the rest.
  if (begin != std::string_view::npos) pieces.Add({begin, text.size()});
  return pieces;
}

Pieces SplitLines(Budget& budget, std::string_view text) {
  Pieces lines(budget);
  budget.Read(text.size());
  size_t begin = 0;
  bool after_return = false;
  for (Characters characters(text); characters.Next();) {
    const char32_t c = characters.code_point();
    if (after_return && c == '\n') {
      begin = characters.end();  // the second half of \r\n
      after_return = false;
      continue;
    }
    after_return = c == '\r';
    const bool breaks = (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 ||
                        c == 0x2028 || c == 0x2029;
    if (!breaks) continue;
    if (!lines.Add({begin, characters.begin()})) break;
    begin = characters.end();
  }
  if (begin < text.size()) lines.Add({begin, text.size()});
  return lines;
}

Value ToList(Runtime& runtime, const Text& text, const Pieces& pieces) {
  Sequence* list = runtime.heap.NewSequence();
  for (const TextRange piece : pieces) {
    if (runtime.budget().exhausted()) break;
    runtime.heap.Append(*list, Slice(runtime.budget(), text, piece.begin, piece.end));
  }
  return list;
}

Text JoinTexts(Runtime& runtime, const Text& separator, std::span<const Value> items) {
  TextBuilder builder(runtime.budget());
  for (size_t i = 0; i < items.size() && !runtime.budget().exhausted(); ++i) {
    if (i > 0) builder.Add(separator);
    builder.Add(ToText(runtime.budget(), items[i]));
  }
  return builder.Take();
}

}  // namespace skald::chat
