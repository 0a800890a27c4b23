#include "chat/text_operations.h"

#include <algorithm>
#include <string>

#include "base/utf8.h"
#include "chat/letter_case.h"
#include "chat/python_format.h"

namespace skald::chat {

namespace {

Markup MarkupOf(const Text& text) { return text.is_markup() ? Markup::kYes : Markup::kNo; }

std::vector<char32_t> CodePoints(std::string_view text) {
  std::vector<char32_t> points;
  for (Characters characters(text); characters.Next();) points.push_back(characters.code_point());
  return points;
}

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
  std::vector<char32_t> wanted;
  if (set != nullptr) wanted = CodePoints(set->bytes());
  std::sort(wanted.begin(), wanted.end());
  const auto strips = [&](char32_t c) {
    return set == nullptr ? IsSpace(c) : std::binary_search(wanted.begin(), wanted.end(), c);
  };
  size_t begin = text.size();
  size_t end = 0;
  for (Characters characters(text.bytes()); characters.Next();) {
    if (strips(characters.code_point())) continue;
    begin = std::min(begin, characters.begin());
    end = characters.end();
  }
  if (end == 0) begin = 0;  // nothing remains, from whichever end
  if (ends == Ends::kRight && end > 0) begin = 0;
  if (ends == Ends::kLeft && end > 0) end = text.size();
  return Slice(budget, text, begin, end);
}

Text ChangeCase(Budget& budget, const Text& text, CaseChange change) {
  TextBuilder builder(budget);
  bool first = true;
  bool word_start = true;
  bool after_letter = false;
  std::string changed;
  for (Characters characters(text.bytes()); characters.Next();) {
    const char32_t c = characters.code_point();
    const bool up = GoesUp(change, first, word_start, after_letter);
    const char32_t mapped = up ? ToUpper(c) : ToLower(c);
    const bool sharp_s = up && c == 0xDF;
    if (mapped == c && !sharp_s) {
      builder.AddSlice(text, characters.begin(), characters.end());
    } else {
      changed.clear();
      if (sharp_s) {
        changed = change == CaseChange::kUpper || change == CaseChange::kWords ? "SS" : "Ss";
      } else {
        AppendUtf8(mapped, &changed);
      }
      builder.Add(changed, text.OriginAt(characters.begin()));
    }
    first = false;
    after_letter = IsLetter(c);
    word_start = IsSpace(c) || (c < 0x80 && std::string_view("-({[<").find(static_cast<char>(c)) !=
                                                std::string_view::npos);
  }
  return builder.Take(MarkupOf(text));
}

Text Replace(Budget& budget, const Text& text, const Text& from, const Text& to, int64_t count) {
  TextBuilder builder(budget);
  const std::string_view bytes = text.bytes();
  size_t at = 0;
  for (int64_t done = 0; count < 0 || done < count; ++done) {
    if (budget.exhausted()) break;
    size_t found = Find(bytes, from.bytes(), at);
    if (from.empty() && done > 0) {
      // Between every two characters, and at both ends.
      if (at >= bytes.size()) break;
      Characters characters(bytes.substr(at));
      characters.Next();
      found = at + characters.end();
    }
    if (found == std::string_view::npos) break;
    builder.AddSlice(text, at, found);
    builder.Add(to);
    at = found + from.size();
  }
  builder.AddSlice(text, at, bytes.size());
  return builder.Take(MarkupOf(text));
}

std::vector<TextRange> SplitAt(std::string_view text, std::string_view separator, int64_t limit) {
  std::vector<TextRange> pieces;
  size_t at = 0;
  while (limit < 0 || static_cast<int64_t>(pieces.size()) < limit) {
    const size_t found = Find(text, separator, at);
    if (found == std::string_view::npos) break;
    pieces.push_back({at, found});
    at = found + separator.size();
  }
  pieces.push_back({at, text.size()});
  return pieces;
}

std::vector<TextRange> SplitAtSpace(std::string_view text, int64_t limit) {
  std::vector<TextRange> pieces;
  size_t begin = std::string_view::npos;  // of the word being read
  for (Characters characters(text); characters.Next();) {
    const bool space = IsSpace(characters.code_point());
    const bool in_word = begin != std::string_view::npos;
    if (!space && !in_word) begin = characters.begin();
    if (!space && !in_word && limit >= 0 && static_cast<int64_t>(pieces.size()) == limit) {
      // The rest is one piece, without the white space at its end.
      size_t end = begin;
      for (Characters rest(text.substr(begin)); rest.Next();)
        if (!IsSpace(rest.code_point())) end = begin + rest.end();
      pieces.push_back({begin, end});
      return pieces;
    }
    if (space && in_word) {
      pieces.push_back({begin, characters.begin()});
      begin = std::string_view::npos;
    }
  }
  if (begin != std::string_view::npos) pieces.push_back({begin, text.size()});
  return pieces;
}

std::vector<TextRange> SplitLines(std::string_view text) {
  std::vector<TextRange> lines;
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
    lines.push_back({begin, characters.begin()});
    begin = characters.end();
  }
  if (begin < text.size()) lines.push_back({begin, text.size()});
  return lines;
}

Value ToList(Runtime& runtime, const Text& text, const std::vector<TextRange>& pieces) {
  Sequence* list = runtime.heap.NewSequence();
  for (const TextRange piece : pieces) {
    if (runtime.budget().exhausted()) break;
    runtime.heap.Append(*list, Slice(runtime.budget(), text, piece.begin, piece.end));
  }
  return list;
}

Text JoinTexts(Runtime& runtime, const Text& separator, const std::vector<Value>& items) {
  TextBuilder builder(runtime.budget());
  for (size_t i = 0; i < items.size() && !runtime.budget().exhausted(); ++i) {
    if (i > 0) builder.Add(separator);
    builder.Add(ToText(runtime.budget(), items[i]));
  }
  return builder.Take();
}

}  // namespace skald::chat
