#include "grammar/regex.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "grammar/determinize.h"
#include "grammar/limits.h"
#include "grammar/regex_class.h"
#include "grammar/repetition.h"
#include "grammar/source_text.h"
#include "grammar/thompson.h"
#include "grammar/trim.h"

namespace skald::grammar {

namespace {

class RegexParser {
 public:
  explicit RegexParser(SourceText text) : text_(text) {}

  Result<Expression> Parse() {
    ASSIGN_OR_RETURN(Expression expression, Alternatives(0));
    if (!text_.AtEnd()) return text_.Error("a closing parenthesis without an opening one");
    return expression;
  }

 private:
  Result<Expression> Alternatives(int depth) {
    if (depth > kNestingMax)
      return text_.Error("groups nested more than " + std::to_string(kNestingMax) + " deep,");
    std::vector<Expression> alternatives;
    do {
      ASSIGN_OR_RETURN(Expression alternative, Terms(depth));
      alternatives.push_back(std::move(alternative));
    } while (text_.TakeIf("|"));
    return alternatives.size() == 1 ? std::move(alternatives.front())
                                    : Choice(std::move(alternatives));
  }

  Result<Expression> Terms(int depth) {
    std::vector<Expression> terms;
    while (!text_.AtEnd() && text_.Peek() != '|' && text_.Peek() != ')') {
      ASSIGN_OR_RETURN(Expression term, Term(depth));
      terms.push_back(std::move(term));
    }
    return terms.size() == 1 ? std::move(terms.front()) : Sequence(std::move(terms));
  }

  Result<Expression> Term(int depth) {
    if (text_.TakeIf("^")) return Assertion(ExpressionKind::kBegin);
    if (text_.TakeIf("$")) return Assertion(ExpressionKind::kEnd);
    ASSIGN_OR_RETURN(Expression atom, Atom(depth));
    return Quantified(std::move(atom));
  }

  // What repeats ^ or $ is an error in ECMA-262: the quantifier is found where an atom should be.
  Result<Expression> Assertion(ExpressionKind kind) { return Expression{.kind = kind}; }

  Result<Expression> Atom(int depth) {
    const char32_t next = text_.Peek();
    if (next == '(') return Group(depth);
    if (next == '*' || next == '+' || next == '?') return text_.Error("nothing to repeat");
    if (next == '{' || next == '}')
      return text_.Error("a brace that is no repetition (write \\{ or \\})");
    text_.Take();
    if (next == '.') return SetExpression(DotSet());
    if (next == '[') {
      ASSIGN_OR_RETURN(CharSet set, TakeClass(&text_));
      return SetExpression(std::move(set));
    }
    if (next == '\\') {
      ASSIGN_OR_RETURN(Escape escape, TakeEscape(&text_, EscapePlace::kOutside));
      return SetExpression(std::move(escape.set));
    }
    return TextExpression(std::u32string(1, next));
  }

  Result<Expression> Group(int depth) {
    const size_t begin = text_.at();
    text_.Take();
    if (text_.TakeIf("?")) RETURN_IF_ERROR(GroupKind(begin));
    ASSIGN_OR_RETURN(Expression inside, Alternatives(depth + 1));
    if (!text_.TakeIf(")")) return SourceText::ErrorAt(begin, "a group without )");
    return inside;
  }

  // What stands behind "(?".
  Status GroupKind(size_t begin) {
    if (text_.TakeIf(":")) return Ok();
    const char next = text_.PeekByte(0);
    const char second = text_.PeekByte(1);
    const std::string at = " is not supported, at byte " + std::to_string(begin);
    if (next == '=' || next == '!')
      return Status(ErrorCode::kUnsupported, std::string("look-ahead (?") + next + at);
    if (next == '<' && (second == '=' || second == '!'))
      return Status(ErrorCode::kUnsupported, std::string("look-behind (?<") + second + at);
    if (next == '>') return Status(ErrorCode::kUnsupported, "an atomic group (?>" + at);
    if (!text_.TakeIf("<"))
      return Status(ErrorCode::kUnsupported, "a group with flags or of another dialect (?" + at);
    return GroupName();
  }

  Status GroupName() {
    const auto is_letter = [](char32_t c) {
      return c == '_' || c == '$' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    };
    if (!is_letter(text_.Peek())) return text_.Error("a group without a name");
    while (is_letter(text_.Peek()) || (text_.Peek() >= '0' && text_.Peek() <= '9')) text_.Take();
    return text_.TakeIf(">") ? Ok() : text_.Error("the name of a group without >");
  }

  Result<Expression> Quantified(Expression atom) {
    ASSIGN_OR_RETURN(const std::optional<Repetition> repetition, TakeRepetition(&text_));
    if (!repetition) return atom;
    text_.TakeIf("?");  // the lazy form prefers shorter matches, but of the same texts
    if (text_.Peek() == '+')
      return Status(ErrorCode::kUnsupported, "a possessive repetition is not supported, at byte " +
                                                 std::to_string(text_.at()));
    return Repeat(std::move(atom), repetition->min, repetition->max);
  }

  SourceText text_;
};

// Any characters, before and behind what is searched for.
Expression Search(Expression expression) {
  std::vector<Expression> parts;
  parts.push_back(Repeat(SetExpression(AllCharacters()), 0, kUnbounded));
  parts.push_back(std::move(expression));
  parts.push_back(Repeat(SetExpression(AllCharacters()), 0, kUnbounded));
  return Sequence(std::move(parts));
}

}  // namespace

Result<Expression> ParseRegex(std::string_view regex) {
  ASSIGN_OR_RETURN(const SourceText text, SourceText::Create(regex, kRegexBytesMax));
  ASSIGN_OR_RETURN(Expression expression, RegexParser(text).Parse());
  RETURN_IF_ERROR(CheckNestedCopies(expression));
  return expression;
}

Result<Nfa> RegexNfa(std::string_view regex, RegexMatch match, Spelling spelling, Fuel* fuel) {
  ASSIGN_OR_RETURN(Expression expression, ParseRegex(regex));
  if (match == RegexMatch::kSearch) expression = Search(std::move(expression));
  Nfa nfa;
  nfa.start = nfa.AddState();
  const uint32_t last = nfa.AddState();
  RETURN_IF_ERROR(AddExpression(expression, nfa.start, last, {.spelling = spelling}, fuel, &nfa));
  if (!FinishNfa(last, fuel, &nfa)) return fuel->Error();
  return nfa;
}

Result<Form> CompileRegex(std::string_view regex, Fuel* fuel) {
  ASSIGN_OR_RETURN(const Nfa nfa, RegexNfa(regex, RegexMatch::kWhole, Spelling::kUtf8, fuel));
  ASSIGN_OR_RETURN(Rule rule, MakeRule(nfa, fuel));
  Form form;
  form.rules.push_back(std::move(rule));
  RETURN_IF_ERROR(Trim(fuel, &form));
  return form;
}

}  // namespace skald::grammar
