/// SchemaCompiler: from facts to rules.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/form.h"
#include "grammar/schema_document.h"
#include "grammar/schema_facts.h"
#include "grammar/schema_reader.h"
#include "skald/grammar.h"
#include "skald/status.h"

namespace skald::grammar {

/// A rule for each set of schemas that bind one value together. Rules that are named and not made
/// yet wait in a queue: nothing recurses along references.
class SchemaCompiler {
 public:
  SchemaCompiler(const SchemaDocument& document, const SchemaOptions& options, Fuel* fuel);

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

  SchemaReader& reader() { return reader_; }
  Fuel& fuel() { return reader_.fuel(); }
  Blanks blanks() const { return blanks_; }

 private:
  struct Pending {
    uint32_t rule;
    std::vector<JsonValue> schemas;
    uint8_t types = kAllTypes;  // that all of them are held to
  };
  using Rules = std::vector<uint32_t>;

  static Leaf MakeTable(const Automaton& automaton);
  Status Make(const Pending& pending);
  Status AddAlternatives(SchemaFacts facts, int choices, Rules* rules);
  Status AddChoices(const SchemaFacts& facts, JsonValue choice, int choices, Rules* rules);
  Status AddListed(std::span<const JsonValue> values, Rules* rules);
  Status AddTypes(const SchemaFacts& facts, Rules* rules);
  Status AddNumber(const SchemaFacts& facts, Rules* rules);
  Status AddString(const SchemaFacts& facts, Rules* rules);
  Status AddArray(const SchemaFacts& facts, Rules* rules);
  Result<uint32_t> Shared(std::string_view name, Result<Rule> (*make)(Fuel*));

  SchemaReader reader_;
  const Blanks blanks_;
  const bool only_objects_;
  Form form_;
  size_t states_ = 0;
  std::map<std::vector<uint32_t>, uint32_t> numbers_;    // of rules, by their schemas
  std::vector<Pending> pending_;                         // rules to be made
  std::map<std::string, uint32_t, std::less<>> shared_;  // rules that say the same everywhere
};

}  // namespace skald::grammar
