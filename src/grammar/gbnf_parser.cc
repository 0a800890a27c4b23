#include "grammar/gbnf_parser.h"

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "grammar/limits.h"
#include "grammar/repetition.h"
#include "grammar/source_text.h"

namespace skald::grammar {

namespace {

bool IsNameCharacter(char32_t c) {
  return c == '-' || c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
         (c >= 'A' && c <= 'Z');
}

class GbnfParser {
 public:
  explicit GbnfParser(SourceText text) : text_(text) {}

  Result<GbnfRules> Parse() {
    SkipBlanks(Newlines::kSkip);
    while (!text_.AtEnd()) {
      RETURN_IF_ERROR(ParseRule());
      SkipBlanks(Newlines::kSkip);
    }
    for (const auto& [name, index] : numbers_)
      if (!defined_[index])
        return Status(ErrorCode::kInvalidArgument, "rule '" + name + "' is not defined");
    const auto root = numbers_.find("root");
    if (root == numbers_.end())
      return Status(ErrorCode::kInvalidArgument, "there is no rule 'root'");
    rules_.root = root->second;
    return std::move(rules_);
  }

 private:
  enum class Newlines : uint8_t { kSkip, kKeep };

  void SkipBlanks(Newlines newlines) {
    while (!text_.AtEnd()) {
      const char32_t next = text_.Peek();
      const bool newline = next == '\n' || next == '\r';
      if (next == '#') {
        while (!text_.AtEnd() && text_.Peek() != '\n' && text_.Peek() != '\r') text_.Take();
      } else if (next == ' ' || next == '\t' || (newline && newlines == Newlines::kSkip)) {
        text_.Take();
      } else {
        return;
      }
    }
  }

  Status ParseRule() {
    const size_t begin = text_.at();
    ASSIGN_OR_RETURN(const uint32_t rule, TakeName());
    SkipBlanks(Newlines::kKeep);
    if (!text_.TakeIf("::=")) return text_.Error("no ::= behind the name of a rule");
    if (defined_[rule]) return SourceText::ErrorAt(begin, "a second rule of the same name");
    defined_[rule] = true;
    SkipBlanks(Newlines::kSkip);
    ASSIGN_OR_RETURN(Expression expression, Alternatives(0));
    const bool ends = text_.AtEnd() || text_.Peek() == '\n' || text_.Peek() == '\r';
    if (!ends) return text_.Error("no end of the rule");
    RETURN_IF_ERROR(CheckNestedCopies(expression));
    rules_.rules[rule] = std::move(expression);
    return Ok();
  }

  // The number of the rule of that name, a new one if need be.
  Result<uint32_t> TakeName() {
    std::string name;
    while (IsNameCharacter(text_.Peek())) name += static_cast<char>(text_.Take());
    if (name.empty()) return text_.Error("no name of a rule");
    const auto [entry, is_new] = numbers_.try_emplace(name, static_cast<uint32_t>(defined_.size()));
    if (is_new) {
      if (defined_.size() == kRulesMax)
        return text_.Error("more than " + std::to_string(kRulesMax) + " rules");
      defined_.push_back(false);
      rules_.rules.emplace_back();
    }
    return entry->second;
  }

  Result<Expression> Alternatives(int depth) {
    if (depth > kNestingMax)
      return text_.Error("groups nested more than " + std::to_string(kNestingMax) + " deep,");
    // Inside of parentheses a newline is a blank, outside it ends the rule.
    const Newlines newlines = depth > 0 ? Newlines::kSkip : Newlines::kKeep;
    std::vector<Expression> alternatives;
    for (;;) {
      ASSIGN_OR_RETURN(Expression alternative, Items(depth, newlines));
      alternatives.push_back(std::move(alternative));
      if (!text_.TakeIf("|")) break;
      SkipBlanks(Newlines::kSkip);
    }
    return alternatives.size() == 1 ? std::move(alternatives.front())
                                    : Choice(std::move(alternatives));
  }

  Result<Expression> Items(int depth, Newlines newlines) {
    std::vector<Expression> items;
    for (SkipBlanks(newlines); HasItem(); SkipBlanks(newlines)) {
      ASSIGN_OR_RETURN(Expression item, Item(depth));
      items.push_back(std::move(item));
    }
    return items.size() == 1 ? std::move(items.front()) : Sequence(std::move(items));
  }

  bool HasItem() const {
    const char32_t next = text_.Peek();
    return !text_.AtEnd() && next != '|' && next != ')' && next != '\n' && next != '\r';
  }

  Result<Expression> Item(int depth) {
    ASSIGN_OR_RETURN(Expression item, Atom(depth));
    for (int repeats = 0; repeats < 2; ++repeats) {
      ASSIGN_OR_RETURN(const std::optional<Repetition> repetition, TakeRepetition(&text_));
      if (!repetition) return item;
      item = Repeat(std::move(item), repetition->min, repetition->max);
    }
    return text_.Error("a third repetition of the same thing");
  }

  Result<Expression> Atom(int depth) {
    if (text_.TakeIf("\"")) return Literal();
    if (text_.TakeIf("[")) return Class();
    if (text_.TakeIf(".")) return SetExpression(AllCharacters());
    if (text_.Peek() == '(') return Group(depth);
    if (text_.TakeIf("<[")) return Token();
    if (text_.Peek() == '<' || text_.Peek() == '!')
      return Status(ErrorCode::kUnsupported,
                    "a token <...> by its name is not supported; write <[ID]>, at byte " +
                        std::to_string(text_.at()));
    if (!IsNameCharacter(text_.Peek()))
      return text_.Error("nothing that a rule can hold (literal, class, group or name)");
    ASSIGN_OR_RETURN(const uint32_t rule, TakeName());
    return RuleExpression(rule);
  }

  Result<Expression> Token() {
    const std::optional<uint32_t> id = text_.TakeNumber(kTokenIdMax);
    if (!id.has_value() || *id > kTokenIdMax || !text_.TakeIf("]>"))
      return text_.Error("no number of a token and ]> behind <[");
    return TokenExpression(static_cast<TokenId>(*id));
  }

  Result<Expression> Group(int depth) {
    const size_t begin = text_.at();
    text_.Take();
    ASSIGN_OR_RETURN(Expression inside, Alternatives(depth + 1));
    if (!text_.TakeIf(")")) return SourceText::ErrorAt(begin, "a group without )");
    return inside;
  }

  Result<Expression> Literal() {
    std::u32string literal;
    while (!text_.TakeIf("\"")) {
      ASSIGN_OR_RETURN(const char32_t character, Character("a literal without its end"));
      literal += character;
    }
    return TextExpression(std::move(literal));
  }

  Result<Expression> Class() {
    const bool negated = text_.TakeIf("^");
    std::vector<CharRange> ranges;
    while (!text_.TakeIf("]")) {
      ASSIGN_OR_RETURN(const char32_t first, Character("a class without ]"));
      char32_t last = first;
      if (text_.Peek() == '-' && text_.PeekByte(1) != ']') {
        text_.Take();
        ASSIGN_OR_RETURN(last, Character("a class without ]"));
      }
      if (first > last) return text_.Error("a range upside down");
      ranges.push_back({first, last});
    }
    CharSet set = MakeCharSet(std::move(ranges));
    return SetExpression(negated ? Complement(set) : std::move(set));
  }

  // A character of a literal or class, perhaps escaped. `at_end` is what is wrong if there is none.
  Result<char32_t> Character(std::string_view at_end) {
    if (text_.AtEnd()) return text_.Error(at_end);
    const char32_t character = text_.Take();
    if (character != '\\') return character;
    const char32_t letter = text_.Take();
    switch (letter) {
      case 'x': return Number(2);
      case 'u': return Number(4);
      case 'U': return Number(8);
      case 't': return U'\t';
      case 'r': return U'\r';
      case 'n': return U'\n';
      case '\\':
      case '"':
      case '[':
      case ']':
      case '-':
      case '^': return letter;
      default: return text_.Error("an unknown escape");
    }
  }

  Result<char32_t> Number(int digits) {
    const std::optional<uint32_t> value = text_.TakeHex(digits);
    if (!value.has_value())
      return text_.Error("an escape without its " + std::to_string(digits) + " digits");
    if (!IsCharacter(*value)) return text_.Error("an escape for what is no character");
    return static_cast<char32_t>(*value);
  }

  SourceText text_;
  std::map<std::string, uint32_t, std::less<>> numbers_;
  std::vector<bool> defined_;
  GbnfRules rules_;
};

}  // namespace

Result<GbnfRules> ParseGbnf(std::string_view gbnf) {
  ASSIGN_OR_RETURN(const SourceText text, SourceText::Create(gbnf, kGbnfBytesMax));
  return GbnfParser(text).Parse();
}

}  // namespace skald::grammar
