/// SchemaCompiler: from facts to rules.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/argument_syntax.h"
#include "grammar/form.h"
#include "grammar/schema_document.h"
#include "grammar/schema_facts.h"
#include "grammar/schema_reader.h"
#include "grammar/text_rule.h"
#include "skald/grammar.h"
#include "skald/status.h"

namespace skald::grammar {

/// A rule for each set of schemas that bind one value together. Rules that are named and not made
/// yet wait in a queue: nothing recurses along references.
class SchemaCompiler {
 public:
  /// `syntax`: of the arguments that the document describes; null: they are JSON. It outlives the
  /// compiler.
  SchemaCompiler(const SchemaDocument& document, const SchemaOptions& options,
                 const ArgumentSyntax* syntax, Fuel* fuel);

  /// The whole document.
  Result<Form> Compile();
  std::vector<std::string> TakeLeftOut() { return reader_.TakeLeftOut(); }

  /// The rule of values that all of `schemas` take.
  uint32_t RuleOf(std::vector<JsonValue> schemas);
  /// A rule that is made now. Errors: kInvalidArgument beyond kRulesMax and kStatesMax.
  Result<uint32_t> AddRule(Rule rule);
  Result<uint32_t> AddAutomaton(const Automaton& automaton) {
    return AddRule(MakeTable(automaton));
  }
  /// The rule of a value as it is listed, in its own order.
  Result<uint32_t> ListedRule(JsonValue value);

  /// What an object is made with, at the place that is being made.
  bool writes_bare_keys() const;
  TextSpelling key_spelling() const;
  /// Whether `name`, as it is spelled, can be written as a key.
  bool CanBeKey(std::string_view name) const;
  /// Keys of any text, as they are spelled.
  Result<const Automaton*> FreeKeys();
  /// Keys that are not declared, as they are spelled: all that may stand there; null: any.
  Result<const Automaton*> UndeclaredKeys();
  /// The rule of a member: the value that all of `schemas` take, and what belongs to it. `name` is
  /// null for a key that is not declared.
  Result<uint32_t> MemberRule(const std::string* name, std::vector<JsonValue> schemas);
  /// The rule of a listed value as a member of a nested object.
  Result<uint32_t> ListedMember(JsonValue value);
  /// The rule of `object`, whose members are there.
  Result<uint32_t> AddObjectRule(Object object);

  SchemaReader& reader() { return reader_; }
  Fuel& fuel() { return reader_.fuel(); }

 private:
  // Where a value stands.
  enum class ValuePlace : uint8_t {
    kNested,      // in another value
    kArguments,   // the object of all arguments
    kArgument,    // the value of one of these
    kText,        // the same, as a text without quotes
    kTextOrNull,  // the same, or null
  };
  struct Pending {
    uint32_t rule;
    std::vector<JsonValue> schemas;
    uint8_t types = kAllTypes;  // that all of them are held to
    ValuePlace place = ValuePlace::kNested;
  };
  using Rules = std::vector<uint32_t>;

  static Leaf MakeTable(const Automaton& automaton);
  Status Make(const Pending& pending);
  Status MakeAlternatives(const Pending& pending, uint8_t types, Rules* rules);
  Status AddAlternatives(SchemaFacts facts, int choices, Rules* rules);
  Status AddChoices(const SchemaFacts& facts, JsonValue choice, int choices, Rules* rules);
  Status AddListed(std::span<const JsonValue> values, Rules* rules);
  Status AddTexts(const std::vector<std::string>& texts, Rules* rules);
  Status AddTypes(const SchemaFacts& facts, Rules* rules);
  Status AddNumber(const SchemaFacts& facts, Rules* rules);
  Status AddString(const SchemaFacts& facts, Rules* rules);
  Status AddArray(const SchemaFacts& facts, Rules* rules);
  Result<uint32_t> Shared(std::string_view name, const std::function<Result<Rule>()>& make);

  // What `syntax_` writes.
  Result<uint32_t> SyntaxRule(std::string_view name, const Expression& expression);
  Result<uint32_t> InRow(std::span<const uint32_t> rules);
  Result<uint32_t> ValueRule(std::vector<JsonValue> schemas, uint8_t types, ValuePlace place);
  Result<uint32_t> Argument(const Expression& key_end, uint32_t value);
  Result<uint32_t> Quoted(uint32_t texts);
  bool is_text_place() const {
    return place_ == ValuePlace::kText || place_ == ValuePlace::kTextOrNull;
  }
  bool QuotesByMarks() const;
  Result<TextStyle> StyleOfTexts();
  const Automaton* NoClosers();
  std::vector<std::string> Words(std::string_view word) const;

  SchemaReader reader_;
  const Blanks blanks_;
  const bool only_objects_;
  const ArgumentSyntax* const syntax_;
  Form form_;
  size_t states_ = 0;
  std::map<std::vector<uint32_t>, uint32_t> numbers_;    // of rules, by their schemas
  std::vector<Pending> pending_;                         // rules to be made
  std::map<std::string, uint32_t, std::less<>> shared_;  // rules that say the same everywhere
  // Of what is being made.
  ValuePlace place_ = ValuePlace::kNested;
  bool may_be_null_ = false;  // kTextOrNull: whether null is one of the values
  // Made when they are needed.
  std::optional<Automaton> texts_;
  std::optional<Automaton> texts_but_null_;
  std::optional<Automaton> without_closers_;
  std::map<TextSpelling, Automaton> free_keys_;
  std::optional<Automaton> undeclared_keys_;
};

}  // namespace skald::grammar
