// SchemaCompiler: what a syntax of arguments adds to JSON.
#include <array>
#include <utility>

#include "base/status_macros.h"
#include "grammar/determinize.h"
#include "grammar/free_text.h"
#include "grammar/product.h"
#include "grammar/regex.h"
#include "grammar/schema_compiler.h"
#include "grammar/thompson.h"

namespace skald::grammar {

namespace {

// Names that any reader takes for one, and that no marker begins in. Few states, so that masks
// repeat: how long one may be is no part of them (kBareKeyBytesMax).
constexpr std::string_view kUndeclaredKey = "[A-Za-z_][A-Za-z0-9_.-]*";

Result<Rule> RuleOfExpression(const Expression& expression, Fuel* fuel) {
  Nfa nfa;
  nfa.start = nfa.AddState();
  const uint32_t last = nfa.AddState();
  RETURN_IF_ERROR(AddExpression(expression, nfa.start, last, {}, fuel, &nfa));
  if (!FinishNfa(last, fuel, &nfa)) return fuel->Error();
  return MakeRule(nfa, fuel);
}

}  // namespace

bool SchemaCompiler::writes_bare_keys() const {
  return syntax_ != nullptr && (syntax_->is_nested() || place_ == ValuePlace::kArguments);
}

TextSpelling SchemaCompiler::key_spelling() const {
  if (writes_bare_keys()) return TextSpelling::kBare;
  if (syntax_ == nullptr) return TextSpelling::kJson;
  switch (syntax_->values) {
    case ValueForm::kJsonInside: return TextSpelling::kJsonInside;
    case ValueForm::kPython: return TextSpelling::kPython;
    case ValueForm::kJson:
    case ValueForm::kMarked: break;
  }
  return TextSpelling::kJson;
}

bool SchemaCompiler::CanBeKey(std::string_view name) const {
  if (writes_bare_keys()) return syntax_->can_be_key(name);
  return key_spelling() != TextSpelling::kJsonInside || name.find("</") == std::string_view::npos;
}

Result<const Automaton*> SchemaCompiler::FreeKeys() {
  const TextSpelling spelling = key_spelling();
  auto found = free_keys_.find(spelling);
  if (found == free_keys_.end()) {
    ASSIGN_OR_RETURN(Automaton keys, LengthText({}, spelling, &fuel()));
    found = free_keys_.emplace(spelling, std::move(keys)).first;
  }
  return &found->second;
}

Result<const Automaton*> SchemaCompiler::UndeclaredKeys() {
  switch (key_spelling()) {
    case TextSpelling::kJson:
    case TextSpelling::kPython: return nullptr;
    case TextSpelling::kJsonInside: return NoClosers();
    case TextSpelling::kBare: break;
  }
  if (!undeclared_keys_) {
    ASSIGN_OR_RETURN(const Nfa nfa,
                     RegexNfa(kUndeclaredKey, RegexMatch::kWhole, Spelling::kUtf8, &fuel()));
    ASSIGN_OR_RETURN(undeclared_keys_, Deterministic(nfa, &fuel()));
  }
  return &*undeclared_keys_;
}

const Automaton* SchemaCompiler::NoClosers() {
  if (!without_closers_) without_closers_ = WithoutClosers();
  return &*without_closers_;
}

Result<uint32_t> SchemaCompiler::SyntaxRule(std::string_view name, const Expression& expression) {
  return Shared(name, [&] { return RuleOfExpression(expression, &fuel()); });
}

// One behind the other.
Result<uint32_t> SchemaCompiler::InRow(std::span<const uint32_t> rules) {
  Automaton automaton;
  for (const uint32_t rule : rules) {
    const auto next = static_cast<uint32_t>(automaton.states.size() + 1);
    automaton.states.push_back({.rules = {{rule, next}}});
  }
  automaton.states.push_back({.accepting = true});
  return AddRule(std::move(automaton));
}

Result<uint32_t> SchemaCompiler::Quoted(uint32_t texts) {
  ASSIGN_OR_RETURN(const uint32_t quote, SyntaxRule("quote", syntax_->quote));
  return InRow(std::array{quote, texts, quote});
}

// The rule of a value of these types only, at a place of its own.
Result<uint32_t> SchemaCompiler::ValueRule(std::vector<JsonValue> schemas, uint8_t types,
                                           ValuePlace place) {
  ASSIGN_OR_RETURN(const uint32_t rule, AddRule(Automaton{}));
  pending_.push_back({rule, std::move(schemas), types, place});
  return rule;
}

Result<uint32_t> SchemaCompiler::Argument(const Expression& key_end, uint32_t value) {
  const bool is_text = &key_end == &syntax_->text_key_end;
  ASSIGN_OR_RETURN(const uint32_t front, SyntaxRule(is_text ? "text key end" : "key end", key_end));
  ASSIGN_OR_RETURN(const uint32_t behind, SyntaxRule("value end", syntax_->value_end));
  return InRow(std::array{front, value, behind});
}

Result<uint32_t> SchemaCompiler::MemberRule(const std::string* name,
                                            std::vector<JsonValue> schemas) {
  if (!writes_bare_keys()) return RuleOf(std::move(schemas));
  if (syntax_->is_nested()) return Argument(syntax_->key_end, RuleOf(std::move(schemas)));
  const BareText text = name == nullptr ? syntax_->other_texts : syntax_->TextOf(*name);
  if (text != BareText::kByKey) {
    const uint8_t types = text == BareText::kAlways ? kStringType : kAllTypes;
    const ValuePlace place = text == BareText::kAlways       ? ValuePlace::kText
                             : text == BareText::kUnlessNull ? ValuePlace::kTextOrNull
                                                             : ValuePlace::kArgument;
    ASSIGN_OR_RETURN(const uint32_t value, ValueRule(std::move(schemas), types, place));
    return Argument(syntax_->key_end, value);
  }
  ASSIGN_OR_RETURN(const uint32_t bare, ValueRule(schemas, kStringType, ValuePlace::kText));
  ASSIGN_OR_RETURN(const uint32_t other,
                   ValueRule(std::move(schemas), kAllTypes & ~kStringType, ValuePlace::kArgument));
  ASSIGN_OR_RETURN(const uint32_t with_text, Argument(syntax_->text_key_end, bare));
  ASSIGN_OR_RETURN(const uint32_t with_other, Argument(syntax_->key_end, other));
  Automaton either;
  either.states = {{.rules = {{with_text, 1}, {with_other, 1}}}, {.accepting = true}};
  return AddRule(std::move(either));
}

Result<uint32_t> SchemaCompiler::ListedMember(JsonValue value) {
  ASSIGN_OR_RETURN(const uint32_t rule, ListedRule(value));
  if (!writes_bare_keys()) return rule;
  return Argument(syntax_->key_end, rule);
}

Result<uint32_t> SchemaCompiler::AddObjectRule(Object object) {
  object.blanks = blanks_;
  if (!writes_bare_keys()) return AddRule(std::move(object));
  object.is_bare = true;
  ASSIGN_OR_RETURN(object.before_first, SyntaxRule("before first", syntax_->before_first));
  ASSIGN_OR_RETURN(object.before_next, SyntaxRule("before next", syntax_->before_next));
  ASSIGN_OR_RETURN(const uint32_t members, AddRule(std::move(object)));
  if (!syntax_->is_nested()) return members;
  ASSIGN_OR_RETURN(const uint32_t open, SyntaxRule("open", TextExpression(U"{")));
  ASSIGN_OR_RETURN(const uint32_t close, SyntaxRule("close", TextExpression(U"}")));
  return InRow(std::array{open, members, close});
}

bool SchemaCompiler::QuotesByMarks() const {
  return syntax_ != nullptr && syntax_->is_nested() && !is_text_place();
}

Result<TextStyle> SchemaCompiler::StyleOfTexts() {
  if (syntax_ == nullptr) return TextStyle{};
  if (!is_text_place() && !syntax_->is_nested()) {
    switch (syntax_->values) {
      case ValueForm::kPython: return TextStyle{.spelling = TextSpelling::kPython};
      case ValueForm::kJsonInside:
        return TextStyle{.spelling = TextSpelling::kJsonInside, .within = NoClosers()};
      case ValueForm::kJson:
      case ValueForm::kMarked: break;
    }
    return TextStyle{};
  }
  if (!texts_) {
    ASSIGN_OR_RETURN(texts_, FreeTextAutomaton({.anywhere = syntax_->text_stop}, &fuel()));
  }
  if (place_ != ValuePlace::kTextOrNull || may_be_null_)
    return TextStyle{.spelling = TextSpelling::kBare, .within = &*texts_};
  if (!texts_but_null_) {
    ASSIGN_OR_RETURN(Automaton without_null, WithoutNull(&fuel()));
    const std::array<Automaton, 2> both = {*texts_, std::move(without_null)};
    ASSIGN_OR_RETURN(texts_but_null_, Intersection(both, &fuel()));
  }
  return TextStyle{
      .spelling = TextSpelling::kBare, .within = &*texts_but_null_, .lacks_texts = true};
}

// How a word of JSON, or a number, may be written.
std::vector<std::string> SchemaCompiler::Words(std::string_view word) const {
  const std::string_view python = word == "true"    ? "True"
                                  : word == "false" ? "False"
                                  : word == "null"  ? "None"
                                                    : "";
  const bool is_python = syntax_ != nullptr && syntax_->values == ValueForm::kPython;
  // Readers of one argument take both; inside of a value that is JSON there is only the one.
  const bool has_both = place_ == ValuePlace::kArgument && !is_python;
  std::vector<std::string> words;
  if (!is_python || python.empty()) words.emplace_back(word);
  if (!python.empty() && (is_python || has_both)) words.emplace_back(python);
  return words;
}

}  // namespace skald::grammar
