#include "grammar/regex_class.h"

#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "grammar/limits.h"

namespace skald::grammar {

namespace {

CharSet Digits() { return {{'0', '9'}}; }

CharSet WordCharacters() { return {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}; }

// Blanks for every reader.
CharSet Blanks() { return {{'\t', '\r'}, {' ', ' '}}; }

// What ECMA-262, Python or PCRE takes for a blank.
CharSet AnyBlanks() {
  return {{'\t', '\r'},     {0x1C, 0x20},     {0x85, 0x85},     {0xA0, 0xA0},
          {0x1680, 0x1680}, {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F},
          {0x205F, 0x205F}, {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};
}

Status Unsupported(const SourceText& text, std::string_view construct) {
  return Status(ErrorCode::kUnsupported,
                std::string(construct) + " is not supported, at byte " + std::to_string(text.at()));
}

bool IsAsciiWord(char32_t c) {
  return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

std::optional<CharSet> ClassEscape(char32_t letter) {
  switch (letter) {
    case 'd': return Digits();
    case 'D': return Complement(Digits());
    case 'w': return WordCharacters();
    case 'W': return Complement(WordCharacters());
    case 's': return Blanks();
    case 'S': return Complement(AnyBlanks());
    default: return std::nullopt;
  }
}

std::optional<char32_t> ControlEscape(char32_t letter) {
  constexpr std::u32string_view kLetters = U"tnvfr";
  constexpr std::u32string_view kCharacters = U"\t\n\v\f\r";
  const size_t found = kLetters.find(letter);
  if (found == std::u32string_view::npos) return std::nullopt;
  return kCharacters[found];
}

Result<Escape> OneCharacter(const SourceText& text, uint32_t code_point) {
  if (!IsCharacter(code_point)) return text.Error("an escape for what is no character");
  return Escape{{{code_point, code_point}}, static_cast<char32_t>(code_point)};
}

// \u{...} behind the brace.
Result<Escape> TakeBraced(SourceText* text) {
  uint32_t value = 0;
  int digits = 0;
  for (std::optional<uint32_t> digit = text->TakeHex(1); digit; digit = text->TakeHex(1)) {
    if (++digits > 6) return text->Error("an escape for what is no character");
    value = value * 16 + *digit;
  }
  if (digits == 0 || !text->TakeIf("}")) return text->Error("\\u{ without a number and }");
  return OneCharacter(*text, value);
}

Result<Escape> TakeUnicode(SourceText* text) {
  if (text->TakeIf("{")) return TakeBraced(text);
  const std::optional<uint32_t> high = text->TakeHex(4);
  if (!high.has_value()) return text->Error("\\u without four hexadecimal digits");
  if (*high < 0xD800 || *high > 0xDBFF) return OneCharacter(*text, *high);
  // Two halves of a character, as JSON writes them.
  if (!text->TakeIf("\\u")) return text->Error("half of a surrogate pair");
  const std::optional<uint32_t> low = text->TakeHex(4);
  if (!low.has_value() || *low < 0xDC00 || *low > 0xDFFF)
    return text->Error("half of a surrogate pair");
  return OneCharacter(*text, 0x10000 + ((*high - 0xD800) << 10) + (*low - 0xDC00));
}

Result<Escape> TakeControlLetter(SourceText* text) {
  const char32_t letter = text->Take();
  const bool is_letter = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z');
  if (!is_letter) return text->Error("\\c without a letter");
  return OneCharacter(*text, letter % 32);
}

// Escapes that this engine knows and does not take.
std::optional<Status> Refusal(const SourceText& text, char32_t letter) {
  if (letter == 'b' || letter == 'B') return Unsupported(text, "a word boundary \\b or \\B");
  if (letter == 'k' || (letter >= '1' && letter <= '9'))
    return Unsupported(text, "a reference back to a group");
  if (letter == 'p' || letter == 'P') return Unsupported(text, "\\p");
  return std::nullopt;
}

// One item of a class: a character or a set.
Result<Escape> TakeClassItem(SourceText* text) {
  if (text->AtEnd()) return text->Error("a class without ]");
  const char next = text->PeekByte(1);
  if (text->Peek() == '[' && (next == ':' || next == '.' || next == '='))
    return Unsupported(*text, "a POSIX class such as [[:alpha:]]");
  const char32_t character = text->Take();
  if (character == '\\') return TakeEscape(text, EscapePlace::kInClass);
  return OneCharacter(*text, character);
}

}  // namespace

CharSet DotSet() { return Complement({{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}}); }

Result<Escape> TakeEscape(SourceText* text, EscapePlace place) {
  if (text->AtEnd()) return text->Error("a backslash at the end");
  const char32_t letter = text->Take();
  if (std::optional<CharSet> set = ClassEscape(letter); set.has_value())
    return Escape{*std::move(set), std::nullopt};
  if (const std::optional<char32_t> control = ControlEscape(letter); control.has_value())
    return OneCharacter(*text, *control);
  if (letter == 'b' && place == EscapePlace::kInClass) return OneCharacter(*text, '\b');
  if (std::optional<Status> refusal = Refusal(*text, letter); refusal.has_value())
    return *std::move(refusal);
  if (letter == 'u') return TakeUnicode(text);
  if (letter == 'c') return TakeControlLetter(text);
  if (letter == 'x') {
    const std::optional<uint32_t> value = text->TakeHex(2);
    if (!value.has_value()) return text->Error("\\x without two hexadecimal digits");
    return OneCharacter(*text, *value);
  }
  const char next = text->PeekByte(0);
  if (letter == '0' && !(next >= '0' && next <= '9')) return OneCharacter(*text, 0);
  if (IsAsciiWord(letter) || letter >= 0x80) return text->Error("an unknown escape");
  return OneCharacter(*text, letter);
}

Result<CharSet> TakeClass(SourceText* text) {
  const bool negated = text->TakeIf("^");
  if (text->Peek() == ']')
    return Unsupported(*text, "[] or [^], which readers take for different things,");
  std::vector<CharRange> ranges;
  while (!text->TakeIf("]")) {
    ASSIGN_OR_RETURN(const Escape first, TakeClassItem(text));
    const bool is_range = text->Peek() == '-' && text->PeekByte(1) != ']';
    if (!is_range) {
      ranges.insert(ranges.end(), first.set.begin(), first.set.end());
      continue;
    }
    text->Take();
    ASSIGN_OR_RETURN(const Escape last, TakeClassItem(text));
    if (!first.character.has_value() || !last.character.has_value())
      return text->Error("a range that begins or ends with a class");
    if (*first.character > *last.character) return text->Error("a range upside down");
    ranges.push_back({*first.character, *last.character});
  }
  CharSet set = MakeCharSet(std::move(ranges));
  return negated ? Complement(set) : std::move(set);
}

}  // namespace skald::grammar
