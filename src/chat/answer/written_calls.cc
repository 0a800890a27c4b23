#include "chat/answer/written_calls.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/utf8.h"
#include "chat/answer/format_state.h"
#include "grammar/form.h"

namespace skald::chat {

namespace {

using grammar::Expression;

// Of `bytes`, which are well-formed: names of tools and what stands in the table.
Expression TextOf(std::string_view bytes) {
  std::u32string characters;
  while (!bytes.empty()) {
    const Utf8Sequence sequence = ReadUtf8(bytes);
    characters += static_cast<char32_t>(sequence.code_point);
    bytes.remove_prefix(static_cast<size_t>(sequence.length));
  }
  return grammar::TextExpression(std::move(characters));
}

// Ids that a model makes up: of Mistral, nine letters or digits.
Expression Letters() {
  return grammar::Repeat(grammar::SetExpression({{'0', '9'}, {'A', 'Z'}, {'a', 'z'}}), 9, 9);
}

Expression Digits() { return grammar::Repeat(grammar::SetExpression({{'0', '9'}}), 1, 3); }

}  // namespace

Expression Spelled(const ChatAnswerFormat::State& format, std::string_view text) {
  std::vector<Expression> parts;
  std::string bytes;
  const auto end_text = [&] {
    if (!bytes.empty()) parts.push_back(TextOf(std::exchange(bytes, {})));
  };
  for (const Symbol symbol : format.form.Spell(text)) {
    if (!IsMark(symbol)) {
      bytes += static_cast<char>(symbol);
      continue;
    }
    end_text();
    parts.push_back(grammar::TokenExpression(format.marks[symbol - kMarkBase].token));
  }
  end_text();
  return grammar::Sequence(std::move(parts));
}

bool HasMark(const ChatAnswerFormat::State& format, std::string_view text) {
  const Symbols symbols = format.form.Spell(text);
  return std::any_of(symbols.begin(), symbols.end(), IsMark);
}

Expression CallOf(const ChatAnswerFormat::State& format, std::string_view pattern,
                  const WrittenTool& tool, uint32_t blanks) {
  std::vector<Expression> parts;
  while (!pattern.empty()) {
    const size_t end = pattern.find_first_of("$~");
    parts.push_back(Spelled(format, pattern.substr(0, end)));
    if (end == std::string_view::npos) break;
    const bool is_blank = pattern[end] == '~';
    const char letter = is_blank ? '~' : pattern[end + 1];
    switch (letter) {
      case 'n': parts.push_back(TextOf(tool.name)); break;
      case 'a': parts.push_back(grammar::RuleExpression(tool.arguments)); break;
      case 'i': parts.push_back(Letters()); break;
      case 'l': parts.push_back(grammar::Repeat(grammar::TextExpression(U"\n"), 0, 1)); break;
      case 'd': parts.push_back(Digits()); break;
      default: parts.push_back(grammar::RuleExpression(blanks)); break;
    }
    pattern.remove_prefix(end + (is_blank ? 1 : 2));
  }
  return grammar::Sequence(std::move(parts));
}

Expression Blanks() {
  using grammar::TextExpression;
  return grammar::Choice(
      {TextExpression(U""), TextExpression(U" "),
       grammar::Sequence({TextExpression(U"\n"),
                          grammar::Choice({grammar::Repeat(TextExpression(U" "), 0, 32),
                                           grammar::Repeat(TextExpression(U"\t"), 1, 8)})})});
}

}  // namespace skald::chat
